// SPDX-License-Identifier: Apache-2.0
// External sorting against std::stable_sort, and what happens when the disk is full.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/sort/row_sorter.h"

namespace rocksieve::join {
namespace {

using SortedRows = std::vector<std::pair<std::string, std::string>>;

SortedRows Read(Source* source, const KeyInterval& interval = {}) {
  SortedRows rows;
  const std::unique_ptr<Cursor> cursor = source->Scan(interval);
  Row row;
  while (cursor->Next(&row)) rows.emplace_back(row.key, row.value);
  EXPECT_TRUE(cursor->status().ok()) << cursor->status();
  EXPECT_FALSE(cursor->Next(&row)) << "a cursor goes on after its end";
  return rows;
}

// Few distinct keys of all lengths, empty ones and prefixes of one another included.
SortedRows RandomRows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  SortedRows rows;
  for (size_t i = 0; i < count; i++) {
    std::string key(random() % 12, '\0');
    for (char& byte : key) byte = "\0\1a\xff"[random() % 4];
    rows.emplace_back(key, std::to_string(i) + std::string(random() % 300, 'v'));
  }
  return rows;
}

std::unique_ptr<Source> Sorted(const SortedRows& rows, size_t memory_bytes, uint64_t* runs) {
  SortOptions options;
  options.memory_bytes = memory_bytes;
  RowSorter sorter(options);
  for (const auto& [key, value] : rows) EXPECT_TRUE(sorter.Add({key, value}).ok());
  auto sorted = sorter.Finish();
  EXPECT_TRUE(sorted.ok()) << sorted.status();
  *runs = sorter.spilled_runs();
  return *std::move(sorted);
}

bool ByKey(const SortedRows::value_type& a, const SortedRows::value_type& b) {
  return a.first < b.first;
}

TEST(RowSorter, SortsStablyHoweverLittleMemoryThereIs) {
  for (size_t count : {0, 1, 2, 1000, 20000}) {
    SortedRows rows = RandomRows(count, 17 + count);
    SortedRows expected = rows;
    std::stable_sort(expected.begin(), expected.end(), ByKey);
    uint64_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
      distinct += i == 0 || expected[i].first != expected[i - 1].first;
    }
    for (size_t memory : {size_t{1}, size_t{10000}, size_t{1} << 20, size_t{1} << 30}) {
      if (memory == 1 && count > 1000) continue;
      SCOPED_TRACE(testing::Message() << count << " rows, " << memory << " bytes");
      uint64_t runs = 0;
      const std::unique_ptr<Source> sorted = Sorted(rows, memory, &runs);
      EXPECT_EQ(runs > 0, count > 1 && memory < count * 100);
      EXPECT_TRUE(Read(sorted.get()) == expected);
      EXPECT_TRUE(Read(sorted.get()) == expected) << "the second time";
      EXPECT_EQ(sorted->EstimateKeys(), distinct);
    }
  }
}

TEST(RowSorter, ScansAnyInterval) {
  const SortedRows rows = RandomRows(5000, 5);
  SortedRows expected = rows;
  std::stable_sort(expected.begin(), expected.end(), ByKey);
  for (size_t memory : {size_t{20000}, size_t{1} << 30}) {
    uint64_t runs = 0;
    const std::unique_ptr<Source> sorted = Sorted(rows, memory, &runs);
    std::mt19937_64 random(6);
    for (int i = 0; i < 300; i++) {
      KeyInterval interval{RandomRows(1, random())[0].first, std::nullopt};
      if (i % 3 != 0) interval.end = RandomRows(1, random())[0].first;
      SortedRows part;
      for (const auto& row : expected) {
        if (interval.Contains(row.first)) part.push_back(row);
      }
      ASSERT_TRUE(Read(sorted.get(), interval) == part) << "interval " << i;
    }
  }
}

TEST(RowSorter, TakesRowsLargerThanItsMemory) {
  SortedRows rows = {{"b", std::string(16 << 20, 'b')},
                     {"a", ""},
                     {"", std::string(3 << 20, 'e')},
                     {"b", "second"},
                     {"", ""}};
  uint64_t runs = 0;
  const std::unique_ptr<Source> sorted = Sorted(rows, 1 << 20, &runs);
  std::stable_sort(rows.begin(), rows.end(), ByKey);
  EXPECT_TRUE(Read(sorted.get()) == rows);
}

// A limit on file sizes stands for a full disk: writing fails in the same place.
TEST(RowSorter, SaysThatTheDiskIsFullAndLeavesNothing) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("row_sorter_test_" + std::to_string(getpid()));
  std::filesystem::create_directory(directory);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit = {100000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  {
    SortOptions options;
    options.memory_bytes = 100000;
    options.directory = directory.string();
    RowSorter sorter(options);
    std::mt19937_64 random(1);
    absl::Status status;
    for (int i = 0; i < 100000 && status.ok(); i++) {
      const std::string key = std::to_string(random()) + std::to_string(random());
      status = sorter.Add({key, ""});
    }
    if (status.ok()) status = sorter.Finish().status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_NE(status.message().find(directory.string()), absl::string_view::npos) << status;
    EXPECT_TRUE(std::filesystem::is_empty(directory));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(std::filesystem::remove(directory)) << "it was not empty";
}

TEST(RowSorter, NamesADirectoryThatIsNotThere) {
  SortOptions options;
  options.memory_bytes = 1;
  options.directory = "/nowhere/at/all";
  RowSorter sorter(options);
  EXPECT_TRUE(sorter.Add({"a", ""}).ok());
  const absl::Status status = sorter.Add({"b", ""});
  EXPECT_NE(status.message().find("/nowhere/at/all"), absl::string_view::npos) << status;
}

TEST(RowSorter, EndsSoonAfterItIsToldToWhereverItIs) {
  const SortedRows rows = RandomRows(20000, 5);
  for (const int checks : {0, 3, 19, 25, 45}) {  // of some 60: while rows come, spill, are merged
    int left = checks;
    SortOptions options;
    options.memory_bytes = 100'000;
    options.check = [&left] {
      return left-- > 0 ? absl::OkStatus() : absl::CancelledError("enough");
    };
    RowSorter sorter(options);
    absl::Status status;
    for (const auto& [key, value] : rows) {
      status = sorter.Add({key, value});
      if (!status.ok()) break;
    }
    if (status.ok()) status = sorter.Finish().status();
    EXPECT_TRUE(absl::IsCancelled(status)) << checks << ": " << status;
    EXPECT_EQ(left, -1) << "it went on after it was told to end";
  }
}

TEST(RowSorter, KeepsNoMoreInMemoryThanItMay) {
  const SortedRows rows = RandomRows(1000, 6);
  SortedRows expected = rows;
  std::stable_sort(expected.begin(), expected.end(), ByKey);
  for (const uint64_t kept : {uint64_t{0}, uint64_t{100'000}, uint64_t{10'000'000}}) {
    SortOptions options;
    options.kept_memory_bytes = kept;
    RowSorter sorter(options);
    for (const auto& [key, value] : rows) ASSERT_TRUE(sorter.Add({key, value}).ok());
    const auto sorted = sorter.Finish();
    ASSERT_TRUE(sorted.ok()) << sorted.status();
    EXPECT_EQ(sorter.spilled_runs(), kept < 10'000'000 ? 1u : 0u);
    EXPECT_EQ(Read(sorted->get()), expected);
  }
}

}  // namespace
}  // namespace rocksieve::join
