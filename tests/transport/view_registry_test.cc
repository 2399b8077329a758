// SPDX-License-Identifier: Apache-2.0
// Views: one session each, kept for a while when the session broke, not for ever.
#include "lib/transport/view_registry.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/join/memory_source.h"

namespace rocksieve::join {
namespace {

using std::chrono::milliseconds;

std::atomic<int> living_views = 0;

class CountedSource final : public Source {
 public:
  CountedSource() { living_views++; }
  ~CountedSource() override { living_views--; }
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return MemorySource({}).Scan(interval);
  }
  uint64_t EstimateKeys() override { return 0; }
};

absl::StatusOr<View> Open(const ViewRequest& request, const ViewTerms&) {
  if (request.on == "bad") return absl::InvalidArgumentError("no such expression");
  return View{std::make_unique<CountedSource>(), "database"};
}

TEST(ViewRegistry, ABrokenSessionFindsItsViewAgain) {
  ViewRegistry registry(Open, {});
  Cancellation cancellation;
  std::string name;
  Source* source = nullptr;
  {
    auto lease = registry.Acquire({}, "", &cancellation);
    ASSERT_TRUE(lease.ok());
    EXPECT_FALSE((*lease)->resumed());
    name = (*lease)->name();
    source = (*lease)->source();
  }
  EXPECT_EQ(living_views, 1);
  EXPECT_FALSE((*registry.Acquire({"another", ""}, name, &cancellation))->resumed());
  EXPECT_FALSE((*registry.Acquire({}, name + "x", &cancellation))->resumed());
  auto again = registry.Acquire({}, name, &cancellation);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->resumed());
  EXPECT_EQ((*again)->source(), source);
}

TEST(ViewRegistry, AFinishedSessionLeavesNothing) {
  ViewRegistry registry(Open, {});
  Cancellation cancellation;
  (*registry.Acquire({}, "", &cancellation))->Finished();
  EXPECT_EQ(living_views, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(registry.Acquire({"", "bad"}, "", &cancellation).status()));
}

TEST(ViewRegistry, KeptViewsAreFewAndExpire) {
  ViewRegistry registry(Open, {.keep = milliseconds(200), .most_kept = 2});
  Cancellation cancellation;
  std::vector<std::string> names;
  for (int i = 0; i < 5; i++) names.push_back((*registry.Acquire({}, "", &cancellation))->name());
  EXPECT_EQ(living_views, 2);
  {
    EXPECT_TRUE((*registry.Acquire({}, names[4], &cancellation))->resumed());
    EXPECT_FALSE((*registry.Acquire({}, names[0], &cancellation))->resumed());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (living_views > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(living_views, 0);
}

TEST(ViewRegistry, WhoComesAgainEndsTheSessionThatStillReads) {
  ViewRegistry registry(Open, {});
  Cancellation first, second;
  auto lease = registry.Acquire({}, "", &first);
  const std::string name = (*lease)->name();
  std::thread broken([&] {
    while (first.Check().ok()) std::this_thread::sleep_for(milliseconds(1));
    lease->reset();
  });
  const auto again = registry.Acquire({}, name, &second);
  broken.join();
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->resumed());
  EXPECT_TRUE(second.Check().ok());
}

}  // namespace
}  // namespace rocksieve::join
