// SPDX-License-Identifier: Apache-2.0
// Joins over real connections, and callers that do not keep the rules of the service.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "join.grpc.pb.h"
#include "lib/transport/client.h"
#include "lib/transport/frame.h"
#include "lib/transport/server.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

OpenView Serving(MemorySource::Rows rows) {
  return [rows](const ViewRequest&, const ViewTerms&) -> absl::StatusOr<View> {
    return View{std::make_unique<MemorySource>(rows), "test"};
  };
}

ServerOptions InsecureOptions() {
  ServerOptions options;
  options.security.insecure = true;
  options.service.limits.exchange.silence = milliseconds(2000);
  options.service.limits.exchange.farewell = milliseconds(500);
  options.service.first_frame_time = milliseconds(500);
  return options;
}

std::unique_ptr<GrpcJoinServer> Started(MemorySource::Rows rows, const ServerOptions& options) {
  auto server = GrpcJoinServer::Start(Serving(std::move(rows)), options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

struct Joined {
  absl::Status status;
  RemoteJoinReport report;
};

Remote Local(int port, const std::string& token = "") {
  return {"127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), "", token};
}

Joined Join(const Remote& remote, MapSink* sink, RemoteJoinOptions options = {}) {
  MemorySource mine(Numbers(0, 20000));
  options.first_pause = milliseconds(50);
  options.client.keys_per_range = 1000;
  const Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(30));
  Joined joined;
  joined.status = JoinRemotely(remote, &mine, sink, options, &cancellation, &joined.report);
  EXPECT_EQ(sink->twice, 0);
  return joined;
}

TEST(Grpc, JoinsAndCounts) {
  const auto server = Started(Numbers(10000, 30000), InsecureOptions());
  MapSink sink;
  const Joined joined = Join(Local(server->port()), &sink);
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  const MemorySource::Rows common = Numbers(10000, 20000);
  EXPECT_EQ(sink.rows, (std::map<std::string, std::string>(common.begin(), common.end())));
  EXPECT_EQ(joined.report.matched_keys, 10000u);
  EXPECT_EQ(joined.report.attempts, 1u);
  EXPECT_GE(joined.report.wire_bytes_received, joined.report.received.total());
}

TEST(Grpc, ARestartedServerMeansANewStart) {
  auto server = Started(Numbers(10000, 30000), InsecureOptions());
  ServerOptions again = InsecureOptions();
  again.address = "127.0.0.1:" + std::to_string(server->port());
  MapSink sink;
  int commits = 0;
  sink.on_commit = [&] {
    if (++commits != 12) return;
    server.reset();
    server = Started(Numbers(15000, 30000), again);  // other data
  };
  const Joined joined = Join(Local(server->port()), &sink);
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_EQ(joined.report.restarted, 1u);
  const MemorySource::Rows common = Numbers(15000, 20000);
  EXPECT_EQ(sink.rows, (std::map<std::string, std::string>(common.begin(), common.end())));
  EXPECT_EQ(joined.report.matched_keys, 5000u);
}

TEST(Grpc, NobodyThere) {
  MapSink sink;
  int port = 0;
  {
    const auto server = Started({}, InsecureOptions());
    port = server->port();
  }
  RemoteJoinOptions options;
  options.most_attempts = 2;
  const Joined joined = Join(Local(port), &sink, options);
  EXPECT_TRUE(absl::IsUnavailable(joined.status)) << joined.status;
  EXPECT_THAT(joined.status.message(), HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(joined.report.attempts, 2u);
}

// Neither the greeting nor the pause before another attempt holds up who cancels.
TEST(Grpc, CancelledWhileItWaits) {
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(silent, generic, bytes), 0);
  ASSERT_EQ(getsockname(silent, generic, &bytes), 0);
  for (const bool listens : {false, true}) {
    if (listens) {
      ASSERT_EQ(listen(silent, 10), 0);
    }
    MemorySource mine(Numbers(0, 10));
    MapSink sink;
    Cancellation cancellation;
    std::promise<void> pauses;
    RemoteJoinOptions options;
    options.first_pause = std::chrono::seconds(10);
    options.note = [&pauses](const std::string&) { pauses.set_value(); };
    RemoteJoinReport report;
    absl::Status status;
    std::thread join([&] {
      status = JoinRemotely(Local(ntohs(address.sin_port)), &mine, &sink, options, &cancellation,
                            &report);
    });
    int connection = -1;
    if (listens) {
      connection = accept(silent, nullptr, nullptr);
    } else {
      pauses.get_future().wait();
    }
    const auto begin = std::chrono::steady_clock::now();
    cancellation.Cancel(absl::CancelledError("Ctrl-C"));
    join.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    if (listens) close(connection);
  }
  close(silent);
}

TEST(Grpc, WantsItsToken) {
  ServerOptions options = InsecureOptions();
  options.service.tokens = {"0123456789abcdef", "fedcba9876543210"};
  const auto server = Started(Numbers(0, 100), options);
  MapSink sink;
  for (const char* bad : {"", "0123456789abcdeF"}) {
    const Joined joined = Join(Local(server->port(), bad), &sink);
    EXPECT_TRUE(absl::IsUnauthenticated(joined.status)) << joined.status;
    EXPECT_EQ(joined.report.attempts, 1u);
  }
  EXPECT_TRUE(Join(Local(server->port(), "fedcba9876543210"), &sink).status.ok());
}

TEST(Grpc, PassesErrorsOn) {
  const auto server = GrpcJoinServer::Start(
      [](const ViewRequest& request, const ViewTerms&) -> absl::StatusOr<View> {
        return absl::InvalidArgumentError("no join key expression " + request.on);
      },
      InsecureOptions());
  ASSERT_TRUE(server.ok());
  MapSink sink;
  RemoteJoinOptions options;
  options.request.on = "nonsense";
  const Joined joined = Join(Local((*server)->port()), &sink, options);
  EXPECT_TRUE(absl::IsInvalidArgument(joined.status)) << joined.status;
  EXPECT_THAT(joined.status.message(), HasSubstr("no join key expression nonsense"));
}

TEST(Grpc, InsecureOnlyOnThisMachine) {
  ServerOptions options = InsecureOptions();
  options.address = "0.0.0.0:0";
  const auto refused = GrpcJoinServer::Start(Serving({}), options);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(refused.status().message(), HasSubstr("--insecure-network"));
  options.security.insecure_network = true;
  EXPECT_TRUE(GrpcJoinServer::Start(Serving({}), options).ok());
  options.security = {};
  EXPECT_FALSE(GrpcJoinServer::Start(Serving({}), options).ok());  // no certificates
}

// A caller that sends what it likes.
class RawCall {
 public:
  explicit RawCall(int port)
      : stub_(v1::Join::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                    grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Session(&context_);
  }
  ~RawCall() {
    if (finished_) return;
    context_.TryCancel();
    stream_->Finish();
  }
  bool Send(const v1::Frame& frame) { return stream_->Write(frame); }
  bool Greet() {
    v1::Frame frame;
    return SendGreeting() && stream_->Read(&frame) && frame.has_started();
  }
  bool SendGreeting() {
    v1::Frame frame;
    frame.mutable_start()->set_version(kTransportVersion);
    return Send(frame);
  }
  // Reads on until the server ends the call.
  grpc::Status End() {
    finished_ = true;
    v1::Frame frame;
    while (stream_->Read(&frame)) {
    }
    return stream_->Finish();
  }

 private:
  const std::unique_ptr<v1::Join::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream_;
  bool finished_ = false;
};

TEST(Grpc, RefusesOtherVersionsAndPiecesBeforeTheStart) {
  const auto server = Started({}, InsecureOptions());
  v1::Frame other, piece;
  other.mutable_start()->set_version(99);
  piece.set_piece("x");
  for (const v1::Frame& frame : {other, piece, v1::Frame()}) {
    RawCall call(server->port());
    call.Send(frame);
    const grpc::Status status = call.End();
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED) << status.error_message();
  }
}

TEST(Grpc, SilenceTakesNoPlaceForLong) {
  ServerOptions options = InsecureOptions();
  options.service.most_sessions = 1;
  const auto server = Started(Numbers(0, 100), options);
  RawCall silent(server->port());
  RawCall waiting(server->port());
  MapSink sink;
  RemoteJoinOptions patient;
  patient.most_attempts = 50;
  EXPECT_TRUE(Join(Local(server->port()), &sink, patient).status.ok());
}

TEST(Grpc, RefusesMoreSessionsThanItHasPlacesFor) {
  ServerOptions options = InsecureOptions();
  options.service.most_sessions = 2;
  const auto server = Started(Numbers(0, 100), options);
  RawCall first(server->port()), second(server->port()), third(server->port());
  ASSERT_TRUE(first.Greet());
  ASSERT_TRUE(second.Greet());
  third.SendGreeting();
  EXPECT_EQ(third.End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST(Grpc, OnePeerCannotTakeAllPlaces) {
  ServerOptions options = InsecureOptions();
  options.service.most_sessions = 3;
  options.service.most_sessions_per_peer = 1;
  const auto server = Started(Numbers(0, 100), options);
  RawCall first(server->port()), second(server->port());
  ASSERT_TRUE(first.Greet());
  second.SendGreeting();
  const grpc::Status refused = second.End();
  EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("--sessions-per-peer"));
}

TEST(Grpc, RefusesFramesThatAreTooLarge) {
  const auto server = Started(Numbers(0, 100), InsecureOptions());
  RawCall call(server->port());
  ASSERT_TRUE(call.Greet());
  v1::Frame frame;
  frame.set_piece(std::string(kMostPieceBytes + 10000, 'x'));
  call.Send(frame);
  EXPECT_EQ(call.End().error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST(Grpc, RefusesGarbageAfterTheStart) {
  const auto server = Started(Numbers(0, 100), InsecureOptions());
  for (const std::string& garbage :
       {std::string(1000, '\xff'), std::string("\5hello"), std::string()}) {
    RawCall call(server->port());
    ASSERT_TRUE(call.Greet());
    v1::Frame frame;
    frame.set_piece(garbage);
    call.Send(frame);
    EXPECT_FALSE(call.End().ok());
  }
  MapSink sink;
  EXPECT_TRUE(Join(Local(server->port()), &sink).status.ok());
}

TEST(Grpc, HealthAnswers) {
  const auto server = Started({}, InsecureOptions());
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(server->port()),
                                           grpc::InsecureChannelCredentials());
  // HealthCheckRequest { service = 1 } and HealthCheckResponse { status = 1: SERVING }.
  std::string request;
  request += '\x0a';
  request += static_cast<char>(std::string(kJoinServiceName).size());
  request += kJoinServiceName;
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::Slice slice(request);
  grpc::ByteBuffer sent(&slice, 1), received;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", sent, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice answer;
  ASSERT_TRUE(received.DumpToSingleSlice(&answer).ok());
  EXPECT_EQ(std::string(answer.begin(), answer.end()), "\x08\x01");
}

}  // namespace
}  // namespace rocksieve::join
