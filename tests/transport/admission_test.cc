// SPDX-License-Identifier: Apache-2.0
// Places of peers, and shares of memory.
#include "lib/transport/admission.h"

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/transport/client.h"
#include "lib/transport/server.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

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
    ServerOptions options;
    options.security.insecure = true;
    options.service.memory_bytes = limit;
    options.service.most_sessions = 8;
    const auto rows = Numbers(10'000, 40'000);
    const auto server = GrpcJoinServer::Start(
        [rows](const ViewRequest&, const ViewTerms&) -> absl::StatusOr<View> {
          return View{std::make_unique<MemorySource>(rows), "test"};
        },
        options);
    ASSERT_TRUE(server.ok()) << server.status();
    std::vector<std::thread> clients;
    for (int i = 0; i < 6; i++) {
      clients.emplace_back([&] {
        MemorySource mine(Numbers(0, 30'000));
        CountingResults sink;
        RemoteJoinOptions join;
        join.most_attempts = 200;  // those that find no place come again
        join.first_pause = std::chrono::milliseconds(20);
        const Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(60));
        RemoteJoinReport report;
        const absl::Status status = JoinRemotely({"127.0.0.1:" + std::to_string((*server)->port()),
                                                  grpc::InsecureChannelCredentials(), "", ""},
                                                 &mine, &sink, join, &cancellation, &report);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(sink.rows, 20'000);
      });
    }
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace rocksieve::join
