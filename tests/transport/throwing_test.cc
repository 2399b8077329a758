// SPDX-License-Identifier: Apache-2.0
// Sources and callbacks that throw: a session ends with an error, and nothing else does.
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "lib/transport/client.h"
#include "lib/transport/server.h"
#include "lib/transport/status.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

using Throw = std::function<void()>;

const Throw kNoMemory = [] { throw std::bad_alloc(); };
const Throw kBroken = [] { throw std::runtime_error("a source that breaks"); };

class ThrowingSource final : public Source {
 public:
  explicit ThrowingSource(Throw thrown) : thrown_(std::move(thrown)), rows_(Numbers(0, 10)) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    thrown_();
    return rows_.Scan(interval);
  }
  std::unique_ptr<Cursor> ScanAbsent() override { return nullptr; }
  uint64_t EstimateKeys() override { return 10; }

 private:
  const Throw thrown_;
  MemorySource rows_;
};

class FailingCursor final : public Cursor {
 public:
  bool Next(Row*) override { return false; }
  absl::Status status() const override {
    return absl::DataLossError("Corruption: /srv/our db/000012.sst\n\x1b[2Jin /var/tmp/x.sst");
  }
};

class FailingSource final : public Source {
 public:
  std::unique_ptr<Cursor> Scan(const KeyInterval&) override {
    return std::make_unique<FailingCursor>();
  }
  std::unique_ptr<Cursor> ScanAbsent() override { return nullptr; }
  uint64_t EstimateKeys() override { return 10; }
};

// Throws in one session after another, and then no more.
class ThrowingServer {
 public:
  explicit ThrowingServer(std::vector<Throw> views, std::vector<Throw> scans)
      : views_(std::move(views)), scans_(std::move(scans)) {
    ServerOptions options;
    options.security.insecure = true;
    options.service.most_sessions = 1;
    options.service.directories = {"/srv/our db"};
    options.service.report = [this](const SessionReport& report) {
      const std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back(report.status);
    };
    auto server = GrpcJoinServer::Start(
        [this](const ViewRequest&, const ViewTerms&) { return Open(); }, options);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  absl::Status Join(Source* mine, int attempts = 1) {
    CountingResults sink;
    RemoteJoinOptions options;
    options.most_attempts = attempts;
    options.first_pause = std::chrono::milliseconds(20);
    const Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(30));
    RemoteJoinReport report;
    return JoinRemotely({"127.0.0.1:" + std::to_string(server_->port()),
                         grpc::InsecureChannelCredentials(), "", ""},
                        mine, &sink, options, &cancellation, &report);
  }
  absl::Status Join() {
    MemorySource mine(Numbers(0, 100));
    return Join(&mine);
  }
  int port() const { return server_->port(); }
  void Fail() { fails_ = true; }
  std::vector<absl::Status> Reports() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reports_;
  }

 private:
  absl::StatusOr<View> Open() {
    if (!views_.empty()) {
      const Throw next = views_.back();
      views_.pop_back();
      next();
    }
    if (fails_) return View{std::make_unique<FailingSource>(), "test"};
    if (scans_.empty()) return View{std::make_unique<MemorySource>(Numbers(50, 150)), "test"};
    const Throw next = scans_.back();
    scans_.pop_back();
    return View{std::make_unique<ThrowingSource>(next), "test"};
  }

  std::vector<Throw> views_, scans_;  // one session at a time looks at them
  bool fails_ = false;
  std::mutex mutex_;
  std::vector<absl::Status> reports_;
  std::unique_ptr<GrpcJoinServer> server_;
};

TEST(Throwing, InASessionEndsThatSessionAndGivesItsPlaceBack) {
  ThrowingServer server({}, {kBroken, kNoMemory, kNoMemory});
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join()));
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join()));
  const absl::Status broken = server.Join();
  EXPECT_TRUE(absl::IsInternal(broken)) << broken;
  EXPECT_TRUE(server.Join().ok());
  const std::vector<absl::Status> reports = server.Reports();
  ASSERT_GE(reports.size(), 3u);
  EXPECT_THAT(reports[0].message(), testing::HasSubstr("memory"));
  EXPECT_THAT(reports[2].message(), testing::HasSubstr("a source that breaks"));
}

TEST(Throwing, WhenAViewIsOpenedIsAnErrorAsWell) {
  ThrowingServer server({kNoMemory, kBroken}, {});
  EXPECT_FALSE(server.Join().ok());
  EXPECT_FALSE(server.Join().ok());
  EXPECT_TRUE(server.Join().ok());
  EXPECT_GE(server.Reports().size(), 2u);
}

TEST(Throwing, AtTheClientIsAnErrorOfTheJoin) {
  ThrowingServer server({}, {});
  ThrowingSource poor(kNoMemory), broken(kBroken);
  EXPECT_TRUE(absl::IsResourceExhausted(server.Join(&poor)));
  const absl::Status status = server.Join(&broken);
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_TRUE(server.Join().ok());
}

TEST(Throwing, InOneShardEndsTheJoinWithAll) {
  ThrowingServer one({}, {}), other({}, {});
  const auto remote = [](const ThrowingServer& server) {
    return Remote{"127.0.0.1:" + std::to_string(server.port()), grpc::InsecureChannelCredentials(),
                  "", ""};
  };
  CountingResults sink;
  Cancellation cancellation(Cancellation::Clock::now() + std::chrono::seconds(30));
  ShardedJoinReport report;
  const absl::Status status = JoinShards({remote(one), remote(other)},
                                         {std::make_shared<MemorySource>(Numbers(0, 100)),
                                          std::make_shared<ThrowingSource>(kNoMemory)},
                                         {{}, nullptr}, &sink, &cancellation, &report);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(sink.rows, 0);
}

TEST(Throwing, MoreThanAVectorCanHaveIsMemoryToo) {
  const absl::Status status = Guarded([] {
    std::vector<int> numbers;
    numbers.resize(SIZE_MAX / 2);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(Failing, TellsTheClientOfNoDirectoryAndNobodyOfControlCharacters) {
  ThrowingServer server({}, {});
  server.Fail();
  const std::string told(server.Join().message());
  EXPECT_THAT(told, testing::HasSubstr("Corruption: 000012.sst. \\x1b[2Jin x.sst"));
  const std::vector<absl::Status> reports = server.Reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].message(),
            "Corruption: /srv/our db/000012.sst\\x0a\\x1b[2Jin /var/tmp/x.sst");
}

}  // namespace
}  // namespace rocksieve::join
