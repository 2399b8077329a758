// SPDX-License-Identifier: Apache-2.0
// Callers that open streams and connections and say nothing: joins are served all the same.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/transport/client.h"
#include "lib/transport/server.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

constexpr int kConnections = 8, kCallsPerConnection = 6;  // as many as one may have
constexpr char kSession[] = "/rocksieve.join.v1.Join/Session";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kUnknown[] = "/no.such.Service/Method";

std::unique_ptr<GrpcJoinServer> Started(bool reflection = false) {
  ServerOptions options;
  options.security.insecure = true;
  options.service.most_sessions = 2;
  options.service.first_frame_time = std::chrono::seconds(60);  // as long as the test at least
  options.reflection = reflection;
  const auto rows = Numbers(50, 150);
  auto server = GrpcJoinServer::Start(
      [rows](const ViewRequest&, const ViewTerms&) -> absl::StatusOr<View> {
        return View{std::make_unique<MemorySource>(rows), "test"};
      },
      options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

std::shared_ptr<grpc::Channel> Connected(const GrpcJoinServer& server) {
  grpc::ChannelArguments alone;
  alone.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server.port()),
                                   grpc::InsecureChannelCredentials(), alone);
}

// Streams that have begun, and say nothing.
class SilentCalls {
 public:
  SilentCalls(const GrpcJoinServer& server, const std::string& method) {
    for (int i = 0; i < kConnections; i++) {
      grpc::GenericStub stub(Connected(server));
      for (int call = 0; call < kCallsPerConnection; call++) {
        contexts_.push_back(std::make_unique<grpc::ClientContext>());
        calls_.push_back(stub.PrepareCall(contexts_.back().get(), method, &queue_));
        calls_.back()->StartCall(nullptr);
      }
    }
    for (size_t i = 0; i < calls_.size(); i++) Next();
  }
  ~SilentCalls() {
    for (const auto& context : contexts_) context->TryCancel();
    std::vector<grpc::Status> statuses(calls_.size());
    for (size_t i = 0; i < calls_.size(); i++) calls_[i]->Finish(&statuses[i], nullptr);
    for (size_t i = 0; i < calls_.size(); i++) Next();
    queue_.Shutdown();
  }

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
};

// At the first attempt: a server that is busy would have it come again.
void ExpectJoin(const GrpcJoinServer& server) {
  MemorySource mine(Numbers(0, 100));
  CountingResults sink;
  RemoteJoinOptions options;
  options.most_attempts = 1;
  const Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(20));
  RemoteJoinReport report;
  const absl::Status status = JoinRemotely(
      {"127.0.0.1:" + std::to_string(server.port()), grpc::InsecureChannelCredentials(), "", ""},
      &mine, &sink, options, &cancellation, &report);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(sink.rows, 50);
}

class SilentCallsTest : public testing::TestWithParam<const char*> {};

TEST_P(SilentCallsTest, KeepNoJoinOut) {
  const auto server = Started(/*reflection=*/true);
  const SilentCalls silent(*server, GetParam());
  for (int i = 0; i < 3; i++) ExpectJoin(*server);
}

INSTANTIATE_TEST_SUITE_P(, SilentCallsTest,
                         testing::Values(kSession, kWatch, kReflection, kUnknown),
                         [](const auto& method) {
                           const std::string path = method.param;
                           return path.substr(path.rfind('/') + 1);
                         });

TEST(SilentConnections, KeepNoJoinOut) {
  const auto server = Started();
  std::vector<int> sockets;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 100; i++) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(sockets.back(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  ExpectJoin(*server);
  for (const int socket : sockets) close(socket);
}

grpc::StatusCode AnswerOfReflection(const GrpcJoinServer& server) {
  grpc::GenericStub stub(Connected(server));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto call = stub.PrepareCall(&context, kReflection, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(queue.Next(&tag, &ok));
  call->WritesDone(nullptr);
  EXPECT_TRUE(queue.Next(&tag, &ok));
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return status.error_code();
}

TEST(Reflection, IsOffUnlessAskedFor) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  EXPECT_EQ(AnswerOfReflection(*Started(false)), grpc::UNIMPLEMENTED);
  EXPECT_EQ(AnswerOfReflection(*Started(true)), grpc::OK);
}

TEST(Shutdown, TellsSessionsToComeAgainAndTakesNoLongerThanASecond) {
  auto server = Started();
  grpc::GenericStub stub(Connected(*server));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, kSession, &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  // Frame { start { version: 1 } }, and its answer.
  const grpc::Slice greeting(std::string("\x0a\x02\x08\x01"));
  call->Write(grpc::ByteBuffer(&greeting, 1), nullptr);
  ASSERT_TRUE(next());
  grpc::ByteBuffer started;
  call->Read(&started, nullptr);
  ASSERT_TRUE(next());
  const auto begin = std::chrono::steady_clock::now();
  server->Shutdown(std::chrono::milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  // The status comes after what the server may still have said: gRPC gives it to nobody who leaves
  // that unread.
  do call->Read(&started, nullptr);
  while (next());
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE) << status.error_message();
}

}  // namespace
}  // namespace rocksieve::join
