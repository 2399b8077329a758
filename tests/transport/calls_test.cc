// SPDX-License-Identifier: Apache-2.0
// Callers that open streams and connections and say nothing: joins are served all the same. Sources
// and callbacks that throw: a session ends with an error, and nothing else does.
// Places of peers, and shares of memory.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>

#include "lib/join/memory_account.h"
#include "lib/transport/admission.h"
#include "lib/transport/status.h"
#include "lib/transport/view_registry.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

constexpr int kConnections = 8, kCallsPerConnection = 6;  // as many as one may have
constexpr char kSession[] = "/rocksieve.join.v1.Join/Session";
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kUnknown[] = "/no.such.Service/Method";

std::unique_ptr<GrpcJoinServer> Patient(bool reflection = false) {
  ServerOptions options = InsecureOptions();
  options.service.most_sessions = 2;
  options.service.first_frame_time = std::chrono::seconds(60);  // as long as the test at least
  options.reflection = reflection;
  return Started(Serving(Numbers(50, 150)), options);
}

std::shared_ptr<grpc::Channel> Connected(const GrpcJoinServer& server) {
  grpc::ChannelArguments alone;
  alone.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(AddressOf(server.port()), grpc::InsecureChannelCredentials(),
                                   alone);
}

bool Next(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue->Next(&tag, &ok) && ok;
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
    for (size_t i = 0; i < calls_.size(); i++) EXPECT_TRUE(Next(&queue_));
  }
  ~SilentCalls() {
    for (const auto& context : contexts_) context->TryCancel();
    std::vector<grpc::Status> statuses(calls_.size());
    for (size_t i = 0; i < calls_.size(); i++) calls_[i]->Finish(&statuses[i], nullptr);
    for (size_t i = 0; i < calls_.size(); i++) EXPECT_TRUE(Next(&queue_));
    queue_.Shutdown();
  }

 private:
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
};

// At the first attempt: a server that is busy would have it come again.
void ExpectJoin(const GrpcJoinServer& server) {
  MemorySource mine(Numbers(0, 100));
  const RemotelyJoined joined = JoinWith(Local(server.port()), &mine);
  EXPECT_TRUE(joined.status.ok()) << joined.status;
  EXPECT_EQ(joined.rows.size(), 50u);
}

TEST(SilentCalls, KeepNoJoinOut) {
  for (const char* method : {kSession, kWatch, kReflection, kUnknown}) {
    SCOPED_TRACE(method);
    const auto server = Patient(/*reflection=*/true);
    const SilentCalls silent(*server, method);
    for (int i = 0; i < 3; i++) ExpectJoin(*server);
  }
}

TEST(SilentConnections, KeepNoJoinOut) {
  const auto server = Patient();
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
  const auto call = stub.PrepareCall(&context, kReflection, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(Next(&queue));
  call->WritesDone(nullptr);
  EXPECT_TRUE(Next(&queue));
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(Next(&queue));
  return status.error_code();
}

TEST(Reflection, IsOffUnlessAskedFor) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  EXPECT_EQ(AnswerOfReflection(*Patient(false)), grpc::UNIMPLEMENTED);
  EXPECT_EQ(AnswerOfReflection(*Patient(true)), grpc::OK);
}

TEST(Shutdown, TellsSessionsToComeAgainAndTakesNoLongerThanASecond) {
  auto server = Patient();
  grpc::GenericStub stub(Connected(*server));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, kSession, &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(Next(&queue));
  // Frame { start { version: 1 } }, and its answer.
  const grpc::Slice greeting(std::string("\x0a\x02\x08\x01"));
  call->Write(grpc::ByteBuffer(&greeting, 1), nullptr);
  ASSERT_TRUE(Next(&queue));
  grpc::ByteBuffer started;
  call->Read(&started, nullptr);
  ASSERT_TRUE(Next(&queue));
  const auto begin = std::chrono::steady_clock::now();
  server->Shutdown(std::chrono::milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  // The status comes after what the server may still have said: gRPC gives it to nobody who leaves
  // that unread.
  do call->Read(&started, nullptr);
  while (Next(&queue));
  grpc::Status status;
  call->Finish(&status, nullptr);
  Next(&queue);
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE) << status.error_message();
}

constexpr uint64_t kMiB = 1 << 20;

TEST(PeerPlaces, EachPeerHasItsOwnAndGivesThemBack) {
  PeerPlaces places(2);
  auto first = places.Take("a"), second = places.Take("a");
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(places.Take("a"), nullptr);
  EXPECT_NE(places.Take("b"), nullptr);
  first.reset();
  EXPECT_NE(places.Take("a"), nullptr);  // given back at once
  first = places.Take("a");
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(places.Take("a"), nullptr);
}

TEST(PeerPlaces, AddressesAreTheSamePeerWhateverThePort) {
  EXPECT_EQ(AddressWithoutPort("ipv4:127.0.0.1:4711"), "ipv4:127.0.0.1");
  EXPECT_EQ(AddressWithoutPort("ipv6:[::1]:4711"), "ipv6:[::1]");
  EXPECT_EQ(AddressWithoutPort("unix:/tmp/socket"), "unix:/tmp/socket");
}

TEST(MemoryShares, AloneHasMuchAndTheLastOneAllThatIsFree) {
  MemoryShares shares(1024 * kMiB, 8);
  std::vector<std::unique_ptr<MemoryShares::Share>> taken;
  uint64_t sum = 0;
  for (int i = 0; i < 8; i++) {
    taken.push_back(shares.Take());
    ASSERT_NE(taken.back(), nullptr);
    EXPECT_GE(taken.back()->bytes(), 64 * kMiB);
    sum += taken.back()->bytes();
  }
  EXPECT_EQ(taken[0]->bytes(), 320 * kMiB);
  EXPECT_EQ(taken[1]->bytes(), 192 * kMiB);
  EXPECT_EQ(sum, 1024 * kMiB);
  EXPECT_EQ(shares.Take(), nullptr);
}

TEST(MemoryShares, HaveRoomForEachThatMayStillComeWhateverComesAndGoes) {
  std::mt19937_64 random(1);
  for (const uint64_t limit : {7 * kMiB, 56 * kMiB, 224 * kMiB, 1000 * kMiB + 12345}) {
    MemoryShares shares(limit, 8);
    const uint64_t least = std::min<uint64_t>(kMiB, limit / 8);
    std::vector<std::unique_ptr<MemoryShares::Share>> taken;
    for (int step = 0; step < 5000; step++) {
      if (random() % 2 == 0 && !taken.empty()) {
        taken.erase(taken.begin() + static_cast<ptrdiff_t>(random() % taken.size()));
        continue;
      }
      auto share = shares.Take();
      ASSERT_EQ(share == nullptr, taken.size() == shares.most_sessions());
      if (share == nullptr) continue;
      EXPECT_GE(share->bytes(), least);
      taken.push_back(std::move(share));
      uint64_t sum = 0;
      for (const auto& each : taken) sum += each->bytes();
      ASSERT_LE(sum, limit);
    }
  }
}

TEST(MemoryShares, FewerSessionsWhereThereIsTooLittle) {
  EXPECT_EQ(MemoryShares(9 * kMiB, 8).most_sessions(), 3u);
  MemoryShares tiny(1000, 8);
  EXPECT_EQ(tiny.most_sessions(), 1u);
  EXPECT_EQ(tiny.Take()->bytes(), 1000u);
}

// Once the embedded server kept 64 MiB of the other side's filters, whatever it was allowed.
TEST(SessionLimits, AllFollowFromTheShare) {
  for (const uint64_t share : {kMiB, 8 * kMiB, 300 * kMiB}) {
    ServerSessionOptions server_options;
    DriveLimits limits;
    ViewTerms terms;
    MemoryAccount account(share);
    SetLimits(&account, &server_options, &limits, &terms);
    EXPECT_EQ(server_options.memory, &account);
    EXPECT_EQ(limits.memory, &account);
    EXPECT_EQ(server_options.existing.most_bytes, share / 4);
    const uint64_t message = std::min(share / 4, 64 * kMiB);  // as the client has it
    EXPECT_EQ(server_options.most_message_bytes, message);
    EXPECT_EQ(limits.most_message_bytes, message);
    EXPECT_LE(limits.most_unanswered_bytes, share);
    // Two ranges under way are both reconciled, beside the queues.
    if (share > kMiB) {
      EXPECT_LE(server_options.most_keys_per_range * 2 * (160 + 32) + QueueBytes(limits), share);
    }
    EXPECT_LE(server_options.most_keys_per_range * 2 * (160 + 32), share);
    EXPECT_GE(server_options.most_keys_per_range, 1u);
    EXPECT_LE(limits.exchange.most_arrived_bytes, share / 8);
    EXPECT_LE(limits.exchange.most_pending_bytes, share / 8);
    EXPECT_EQ(terms.sort_memory_bytes, share / 4);
  }
}

TEST(MemoryShares, AreEnoughForHonestJoins) {
  for (const uint64_t limit : {8 * kMiB, 64 * kMiB}) {
    ServerOptions options = InsecureOptions();
    options.service.memory_bytes = limit;
    options.service.most_sessions = 8;
    const auto server = Started(Serving(Numbers(10'000, 40'000)), options);
    std::vector<std::thread> clients;
    for (int i = 0; i < 6; i++) {
      clients.emplace_back([&] {
        MemorySource mine(Numbers(0, 30'000));
        // Those that find no place come again.
        const RemotelyJoined joined = JoinWith(Local(server->port()), &mine, Attempts(200));
        EXPECT_TRUE(joined.status.ok()) << joined.status;
        EXPECT_EQ(joined.rows.size(), 20'000u);
      });
    }
    for (std::thread& client : clients) client.join();
  }
}

using Fault = std::function<absl::Status()>;

const Fault kNoMemory = []() -> absl::Status { throw std::bad_alloc(); };
const Fault kBroken = []() -> absl::Status { throw std::runtime_error("a source that breaks"); };

// Its scans throw, or fail.
class FaultySource final : public Source {
 public:
  explicit FaultySource(Fault fault) : fault_(std::move(fault)) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval&) override {
    class Failing final : public Cursor {
     public:
      explicit Failing(absl::Status status) : status_(std::move(status)) {}
      bool Next(Row*) override { return false; }
      absl::Status status() const override { return status_; }

     private:
      const absl::Status status_;
    };
    return std::make_unique<Failing>(fault_());
  }
  uint64_t EstimateKeys() override { return 10; }

 private:
  const Fault fault_;
};

// Has a fault in one session after another, in its scans or when the view is opened, and then none.
class FaultyServer {
 public:
  explicit FaultyServer(std::deque<Fault> scans = {}, std::deque<Fault> views = {})
      : scans_(std::move(scans)), views_(std::move(views)) {
    ServerOptions options = InsecureOptions();
    options.service.most_sessions = 1;
    options.service.directories = {"/srv/our db"};
    options.service.report = [this](const SessionReport& report) {
      const std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back(report.status);
    };
    server_ = Started([this](const ViewRequest&, const ViewTerms&) { return Open(); }, options);
  }

  absl::Status Join(Source* mine) { return JoinWith(Local(port()), mine).status; }
  absl::Status Join() {
    MemorySource mine(Numbers(0, 100));
    return Join(&mine);
  }
  int port() const { return server_->port(); }
  std::vector<absl::Status> Reports() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reports_;
  }

 private:
  static Fault Next(std::deque<Fault>* faults) {
    Fault next = std::move(faults->front());
    faults->pop_front();
    return next;
  }
  absl::StatusOr<View> Open() {
    if (!views_.empty()) Next (&views_)().IgnoreError();
    if (scans_.empty()) return View{std::make_unique<MemorySource>(Numbers(50, 150)), "test", {}};
    return View{std::make_unique<FaultySource>(Next(&scans_)), "test", {}};
  }

  std::deque<Fault> scans_, views_;  // one session at a time looks at them
  std::mutex mutex_;
  std::vector<absl::Status> reports_;
  std::unique_ptr<GrpcJoinServer> server_;
};

TEST(Faults, InASessionEndThatSessionAndGiveItsPlaceBack) {
  FaultyServer server({kNoMemory, kNoMemory, kBroken}, {kBroken, kNoMemory});
  EXPECT_FALSE(server.Join().ok());  // when the view is opened
  EXPECT_FALSE(server.Join().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join()));
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join()));
  const absl::Status broken = server.Join();
  EXPECT_TRUE(absl::IsInternal(broken)) << broken;
  EXPECT_TRUE(server.Join().ok());
  const std::vector<absl::Status> reports = server.Reports();
  ASSERT_GE(reports.size(), 5u);
  EXPECT_THAT(reports[2].message(), testing::HasSubstr("memory"));
  EXPECT_THAT(reports[4].message(), testing::HasSubstr("a source that breaks"));
}

TEST(Faults, AtTheClientAreErrorsOfTheJoin) {
  FaultyServer server, other;
  FaultySource poor(kNoMemory), broken(kBroken);
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join(&poor)));
  const absl::Status status = server.Join(&broken);
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_TRUE(server.Join().ok());
  // One shard ends the join with all.
  MapSink sink;
  Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(30));
  ShardedJoinReport report;
  const absl::Status sharded = JoinShards(
      {Local(server.port()), Local(other.port())},
      {std::make_shared<MemorySource>(Numbers(0, 100)), std::make_shared<FaultySource>(kNoMemory)},
      {{}, nullptr}, &sink, &cancellation, &report);
  EXPECT_TRUE(absl::IsResourceExhausted(sharded)) << sharded;
  EXPECT_TRUE(sink.rows.empty());
}

TEST(Faults, MoreThanAVectorCanHaveIsMemoryToo) {
  const absl::Status status = Guarded([] {
    std::vector<int>().resize(SIZE_MAX / 2);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(Faults, TellTheClientOfNoDirectoryAndNobodyOfControlCharacters) {
  FaultyServer server({[] {
    return absl::DataLossError("Corruption: /srv/our db/000012.sst\n\x1b[2Jin /var/tmp/x.sst");
  }});
  EXPECT_THAT(std::string(server.Join().message()),
              testing::HasSubstr("Corruption: 000012.sst. \\x1b[2Jin x.sst"));
  const std::vector<absl::Status> reports = server.Reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].message(),
            "Corruption: /srv/our db/000012.sst\\x0a\\x1b[2Jin /var/tmp/x.sst");
}

}  // namespace
}  // namespace rocksieve::join
