// SPDX-License-Identifier: Apache-2.0
// Joins over real connections; callers and servers that do not keep the rules of the service.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "join.grpc.pb.h"
#include "lib/format/byte_io.h"
#include "lib/transport/frame.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

RemotelyJoined Join(const Remote& remote, RemoteJoinOptions options = {},
                    std::function<void()> on_commit = nullptr) {
  MemorySource mine(Numbers(0, 20000));
  options.client.keys_per_range = 1000;
  return JoinWith(remote, &mine, options, std::move(on_commit));
}

std::map<std::string, std::string> MapOf(const MemorySource::Rows& rows) {
  return {rows.begin(), rows.end()};
}

TEST(Grpc, JoinsAndCounts) {
  const auto server = Started(Serving(Numbers(10000, 30000)));
  const RemotelyJoined joined = Join(Local(server->port()));
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_EQ(joined.rows, MapOf(Numbers(10000, 20000)));
  EXPECT_EQ(joined.report.matched_keys, 10000u);
  EXPECT_EQ(joined.report.attempts, 1u);
  EXPECT_GE(joined.report.wire_bytes_received, joined.report.received.total());
}

TEST(Grpc, ARestartedServerMeansANewStart) {
  auto server = Started(Serving(Numbers(10000, 30000)));
  ServerOptions again = InsecureOptions();
  again.address = AddressOf(server->port());
  int commits = 0;
  const RemotelyJoined joined = Join(Local(server->port()), {}, [&] {
    if (++commits != 12) return;
    server.reset();
    server = Started(Serving(Numbers(15000, 30000)), again);  // other data
  });
  ASSERT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_EQ(joined.report.restarted, 1u);
  EXPECT_EQ(joined.rows, MapOf(Numbers(15000, 20000)));
  EXPECT_EQ(joined.report.matched_keys, 5000u);
}

TEST(Grpc, NobodyThere) {
  const int port = Started(Serving({}))->port();
  const RemotelyJoined joined = Join(Local(port), Attempts(2));
  EXPECT_TRUE(absl::IsUnavailable(joined.status)) << joined.status;
  EXPECT_THAT(joined.status.message(), HasSubstr(AddressOf(port)));
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
  const auto server = Started(Serving(Numbers(0, 100)), options);
  for (const char* bad : {"", "0123456789abcdeF"}) {
    const RemotelyJoined joined = Join(Local(server->port(), bad));
    EXPECT_TRUE(absl::IsUnauthenticated(joined.status)) << joined.status;
    EXPECT_EQ(joined.report.attempts, 1u);
  }
  EXPECT_TRUE(Join(Local(server->port(), "fedcba9876543210")).status.ok());
}

TEST(Grpc, PassesErrorsOn) {
  const auto server = Started([](const ViewRequest& request, const ViewTerms&) {
    return absl::StatusOr<View>(absl::InvalidArgumentError("no join key expression " + request.on));
  });
  RemoteJoinOptions options;
  options.request.on = "nonsense";
  const RemotelyJoined joined = Join(Local(server->port()), options);
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
      : stub_(v1::Join::NewStub(
            grpc::CreateChannel(AddressOf(port), grpc::InsecureChannelCredentials()))) {
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
  const auto server = Started(Serving({}));
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
  const auto server = Started(Serving(Numbers(0, 100)), options);
  RawCall silent(server->port());
  RawCall waiting(server->port());
  EXPECT_TRUE(Join(Local(server->port()), Attempts(150)).status.ok());
}

TEST(Grpc, RefusesMoreSessionsThanThereArePlacesFor) {
  for (const size_t of_all : {1, 3}) {  // or one peer has all that are for one
    ServerOptions options = InsecureOptions();
    options.service.most_sessions = of_all;
    options.service.most_sessions_per_peer = 1;
    const auto server = Started(Serving(Numbers(0, 100)), options);
    RawCall first(server->port()), second(server->port());
    ASSERT_TRUE(first.Greet());
    second.SendGreeting();
    const grpc::Status refused = second.End();
    EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
    if (of_all == 3) {
      EXPECT_THAT(refused.error_message(), HasSubstr("--sessions-per-peer"));
    }
  }
}

TEST(Grpc, RefusesWhatIsNoPieceOfMessages) {
  const auto server = Started(Serving(Numbers(0, 100)));
  const std::string too_large(kMostPieceBytes + 10000, 'x');
  for (const std::string& piece :
       {too_large, std::string(1000, '\xff'), std::string("\5hello"), std::string()}) {
    RawCall call(server->port());
    ASSERT_TRUE(call.Greet());
    v1::Frame frame;
    frame.set_piece(piece);
    call.Send(frame);
    const grpc::Status status = call.End();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.error_code() == grpc::RESOURCE_EXHAUSTED, piece == too_large);
  }
  EXPECT_TRUE(Join(Local(server->port())).status.ok());
}

TEST(Grpc, HealthAnswers) {
  const auto server = Started(Serving({}));
  const auto channel =
      grpc::CreateChannel(AddressOf(server->port()), grpc::InsecureChannelCredentials());
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

using ServerStream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;

// What one session of the server does after the greeting.
using Act = std::function<void(grpc::ServerContext* context, ServerStream* stream)>;

class HostileServer final : public v1::Join::Service {
 public:
  explicit HostileServer(Act act, uint32_t version = 1, bool hears_greeting = true,
                         grpc::Status answer = grpc::Status::OK)
      : act_(std::move(act)),
        version_(version),
        hears_greeting_(hears_greeting),
        answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~HostileServer() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  int port() const { return port_; }

  grpc::Status Session(grpc::ServerContext* context, ServerStream* stream) override {
    v1::Frame frame;
    if (hears_greeting_ && !stream->Read(&frame)) return grpc::Status::OK;
    if (!answer_.ok()) return answer_;
    frame.Clear();
    frame.mutable_started()->set_version(version_);
    frame.mutable_started()->set_view("a view");
    stream->Write(frame);
    act_(context, stream);
    return grpc::Status::OK;
  }

 private:
  const Act act_;
  const uint32_t version_;
  const bool hears_greeting_;  // before it answers it
  const grpc::Status answer_;  // unless OK, of all calls
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void ExpectError(const HostileServer& server, const std::string& words,
                 std::chrono::seconds time = std::chrono::seconds(30),
                 const ViewRequest& request = {}) {
  MemorySource mine(Numbers(0, 20000));
  RemoteJoinOptions options = Attempts(2);
  options.request = request;
  options.limits.exchange.farewell = std::chrono::milliseconds(200);
  const absl::Status status = JoinWith(Local(server.port()), &mine, options, nullptr, time).status;
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::StartsWith(AddressOf(server.port())));
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

// What they can say in messages is the concern of messages_test.cc and hostile_test.cc of
// tests/join.
TEST(HostileServer, DoesNotKeepTheRulesOfTheService) {
  const auto nothing = [](auto*, auto*) {};
  const auto hear_all = [](ServerStream* stream) {
    v1::Frame frame;
    while (stream->Read(&frame)) {
    }
  };
  ExpectError(HostileServer(nothing, 7), "speaks version 7 of the transport");
  ExpectError(HostileServer([](auto*, ServerStream* stream) {
                v1::Frame frame;
                frame.set_piece(std::string(300 << 10, 'x'));
                stream->Write(frame);
              }),
              "larger than max");
  ExpectError(HostileServer([](auto*, ServerStream* stream) {
                v1::Frame frame;
                std::string* const piece = frame.mutable_piece();
                ByteWriter(piece).Varint(uint64_t{1} << 31);
                for (bool more = true; more;) {
                  more = stream->Write(frame);
                  piece->assign(256 << 10, 'x');
                }
              }),
              "are allowed");
  ExpectError(HostileServer([&](auto*, ServerStream* stream) {
                v1::Frame frame;
                frame.set_piece("\x05hello");
                stream->Write(frame);
                hear_all(stream);
              }),
              "no message of the join protocol");
  ExpectError(HostileServer([&](auto*, ServerStream* stream) { hear_all(stream); }), "",
              std::chrono::seconds(1));
  // It hangs up right after the greeting.
  ExpectError(HostileServer(nothing), "after 2 attempts");
  // It answers and hangs up while the greeting, which it does not read, is on its way.
  ExpectError(HostileServer(nothing, 1, /*hears_greeting=*/false), "after 2 attempts",
              std::chrono::seconds(30), {"", std::string(3 << 20, 'x')});
  // What gRPC says for a server that ends, or takes new certificates, as a call comes.
  const grpc::Status dropped(grpc::StatusCode::CANCELLED, "CANCELLED");
  ExpectError(HostileServer(nothing, 1, true, dropped), "new certificates (after 2 attempts)");
  // A server's own word, when it ends while it opens the rows.
  const grpc::Status ends(grpc::StatusCode::UNAVAILABLE, kServerEnds);
  ExpectError(HostileServer(nothing, 1, true, ends),
              std::string("the other side failed: ") + kServerEnds + " (after 2 attempts)");
}

}  // namespace
}  // namespace rocksieve::join
