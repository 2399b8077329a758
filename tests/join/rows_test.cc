// SPDX-License-Identifier: Apache-2.0
// Rows in batches: giant ones, and batches that want more memory than they may. External sorting
// against std::stable_sort, and what happens when the disk is full. Join keys of whole rows: their
// order, which of them match, and what a scan of some of them reads.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/sort/row_sorter.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

absl::Status Read(RowBatchReader* reader, const std::string& batch) {
  return reader->Read(batch, [](const Row&, bool) { return absl::OkStatus(); });
}

std::vector<std::string> Batches(const Table& rows, bool with_keys) {
  RowBatchWriter writer(with_keys);
  std::vector<std::string> batches;
  for (const auto& [key, value] : rows) {
    writer.Add({key, value});
    while (writer.pending_bytes() >= kRowBatchBytes) writer.TakeBatch(&batches.emplace_back());
  }
  writer.TakeBatch(&batches.emplace_back());
  return batches;
}

Table ReadAll(const std::vector<std::string>& batches, RowBatchReader* reader) {
  Table rows;
  for (const std::string& batch : batches) {
    const absl::Status status = reader->Read(batch, [&](const Row& row, bool) {
      rows.emplace_back(row.key, row.value);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(reader->between_rows());
  return rows;
}

// Each key shares all of the one before: few bytes make a long one.
TEST(RowBatch, KeysDoNotGrowBeyondWhatARowMayHave) {
  RowBatchWriter writer(/*with_keys=*/true);
  RowBatchReader reader(/*with_keys=*/true, /*most_row_bytes=*/1000);
  absl::Status status;
  for (size_t bytes = 300; bytes <= 1200 && status.ok(); bytes += 300) {
    writer.Add({std::string(bytes, 'k'), ""});
    std::string batch;
    writer.TakeBatch(&batch);
    status = Read(&reader, batch);
    EXPECT_EQ(status.ok(), bytes <= 1000) << bytes << ": " << status;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

TEST(FreeBytes, AreTheMostIfNobodyCanTell) { EXPECT_EQ(FreeBytes("/nowhere"), UINT64_MAX); }

TEST(RowBatch, RowsOfEverySizeComeBack) {
  std::mt19937_64 random(31);
  Table rows;
  for (int i = 0; i < 300; i++) {
    const size_t bytes = i % 100 == 50 ? 700'000 : random() % (size_t{1} << (random() % 18));
    std::string value(bytes, '\0');
    for (char& byte : value) byte = static_cast<char>(random());
    std::string key = std::to_string(100'000 + i / 2) + std::string(i % 7 == 0 ? 200'000 : 0, 'k');
    rows.emplace_back(std::move(key), std::move(value));
  }
  std::sort(rows.begin(), rows.end());
  const std::vector<std::string> batches = Batches(rows, /*with_keys=*/true);
  for (const std::string& batch : batches) EXPECT_LT(batch.size(), kRowBatchBytes + 1000);
  RowBatchReader reader(/*with_keys=*/true);
  EXPECT_TRUE(ReadAll(batches, &reader) == rows);
}

TEST(RowBatch, ABatchIsNotUnpackedToMoreThanOneHolds) {
  std::string bomb;
  AppendCompressed(std::string(kRowBatchBytes + 1, '\0'), &bomb);
  EXPECT_LT(bomb.size(), 100u);
  RowBatchReader reader(/*with_keys=*/true);
  EXPECT_TRUE(absl::IsInvalidArgument(Read(&reader, bomb)));
}

TEST(RowBatch, ARowThatIsTooLargeIsRefusedAtItsBeginning) {
  const Table rows = {{"key", std::string(1'000'000, 'v')}};
  RowBatchReader enough(/*with_keys=*/true, 1'000'010), too_little(/*with_keys=*/true, 900'000);
  RowBatchReader any(/*with_keys=*/true, UINT64_MAX);
  const std::vector<std::string> batches = Batches(rows, /*with_keys=*/true);
  EXPECT_TRUE(ReadAll(batches, &enough) == rows);
  EXPECT_TRUE(ReadAll(batches, &any) == rows);
  const absl::Status status = Read(&too_little, batches.front());
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(RowBatch, AnEndlessKeyIsRefused) {
  RowBatchReader reader(/*with_keys=*/true, 1'000'000);
  std::string head, batch;
  ByteWriter out(&head);
  out.Varint(1);  // no value, a new key
  out.Varint(0);
  out.Varint(50'000'000);
  AppendCompressed(head, &batch);
  absl::Status status = Read(&reader, batch);
  int batches = 0;
  for (; status.ok() && batches < 1000; batches++) {
    batch.clear();
    AppendCompressed(std::string(kRowBatchBytes, 'k'), &batch);
    status = Read(&reader, batch);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_LE(batches, 10);
}

// Few distinct keys of all lengths, empty ones and prefixes of one another included.
Table RandomRows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Table rows;
  for (size_t i = 0; i < count; i++) {
    std::string key(random() % 12, '\0');
    for (char& byte : key) byte = "\0\1a\xff"[random() % 4];
    rows.emplace_back(key, std::to_string(i) + std::string(random() % 300, 'v'));
  }
  return rows;
}

std::unique_ptr<Source> Sorted(const Table& rows, const SortOptions& options, uint64_t* runs) {
  RowSorter sorter(options);
  for (const auto& [key, value] : rows) EXPECT_TRUE(sorter.Add({key, value}).ok());
  auto sorted = sorter.Finish();
  EXPECT_TRUE(sorted.ok()) << sorted.status();
  *runs = sorter.spilled_runs();
  return *std::move(sorted);
}

SortOptions Within(size_t memory_bytes) {
  SortOptions options;
  options.memory_bytes = memory_bytes;
  return options;
}

Table StablySorted(Table rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return rows;
}

TEST(RowSorter, SortsStablyHoweverLittleMemoryThereIs) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few_files = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few_files), 0);
  for (size_t count : {0, 1, 2, 1000, 20000}) {
    const Table rows = RandomRows(count, 17 + count), expected = StablySorted(rows);
    for (size_t memory : {size_t{1}, size_t{10000}, size_t{1} << 20, size_t{1} << 30}) {
      if (memory == 1 && count > 1000) continue;
      SCOPED_TRACE(testing::Message() << count << " rows, " << memory << " bytes");
      uint64_t runs = 0;
      const std::unique_ptr<Source> sorted = Sorted(rows, Within(memory), &runs);
      EXPECT_EQ(runs > 0, count > 1 && memory < count * 100);
      EXPECT_TRUE(ReadRows(sorted.get()) == expected);
      EXPECT_TRUE(ReadRows(sorted.get()) == expected) << "the second time";
      EXPECT_EQ(sorted->EstimateKeys(), KeysOf(rows).size());
    }
  }
  setrlimit(RLIMIT_NOFILE, &before);
}

// Many keys begin alike, beyond what the index of a file has of them.
TEST(RowSorter, ScansAnyInterval) {
  for (const size_t alike : {0, 508, 520}) {
    const auto random_rows = [alike](size_t count, uint64_t seed) {
      Table rows = RandomRows(count, seed);
      for (auto& [key, value] : rows) key.insert(0, alike, 'b');
      return rows;
    };
    const Table rows = random_rows(5000, 5), expected = StablySorted(rows);
    for (size_t memory : {size_t{20000}, size_t{1} << 30}) {
      uint64_t runs = 0;
      const std::unique_ptr<Source> sorted = Sorted(rows, Within(memory), &runs);
      std::mt19937_64 random(6);
      for (int i = 0; i < 150; i++) {
        KeyInterval interval{random_rows(1, random())[0].first, std::nullopt};
        if (i % 3 != 0) interval.end = random_rows(1, random())[0].first;
        ASSERT_TRUE(ReadRows(sorted.get(), interval) == RowsWithin(expected, interval));
      }
    }
  }
}

#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
// Sanitizers count nothing here.
TEST(RowSorter, KeepsLargeKeysInTheFileOnly) {
  RowSorter sorter(Within(20 << 20));
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (int i = 0; i < 300; i++) {
    ASSERT_TRUE(sorter.Add({std::to_string(i) + std::string(300'000, 'k'), ""}).ok());
  }
  const auto sorted = sorter.Finish();
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, before + (10 << 20));
}
#endif
#endif

TEST(RowSorter, TakesRowsLargerThanItsMemory) {
  const Table rows = {{"b", std::string(16 << 20, 'b')},
                      {"a", ""},
                      {"", std::string(3 << 20, 'e')},
                      {"b", "second"},
                      {"", ""}};
  uint64_t runs = 0;
  EXPECT_TRUE(ReadRows(Sorted(rows, Within(1 << 20), &runs).get()) == StablySorted(rows));
  // Comes last, and few runs may be merged at once from then on.
  Table many = RandomRows(5000, 9);
  many.emplace_back("a", std::string(9000, 'a'));
  EXPECT_TRUE(ReadRows(Sorted(many, Within(20000), &runs).get()) == StablySorted(many));
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

TEST(RowSorter, EndsSoonAfterItIsToldToWhereverItIs) {
  const Table rows = RandomRows(20000, 5);
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
  const Table rows = RandomRows(1000, 6);
  for (const uint64_t kept : {uint64_t{0}, uint64_t{100'000}, uint64_t{10'000'000}}) {
    SortOptions options;
    options.kept_memory_bytes = kept;
    uint64_t runs = 0;
    EXPECT_EQ(ReadRows(Sorted(rows, options, &runs).get()), StablySorted(rows));
    EXPECT_EQ(runs, kept < 10'000'000 ? 1u : 0u);
  }
}

using Random = std::mt19937_64;

std::string JoinKey(std::string_view key, std::string_view value) {
  std::string join_key;
  WholeRowJoinKey({key, value}, &join_key);
  return join_key;
}

// Of few different bytes, so that keys are beginnings of others, and have zeros.
std::string RandomBytes(Random* random) {
  constexpr std::string_view kBytes("\x00\x01\x02\xFE\xFF\x61", 6);
  std::string bytes;
  for (uint64_t n = (*random)() % 5; n > 0; n--) {
    bytes.push_back(kBytes[(*random)() % kBytes.size()]);
  }
  return bytes;
}

TEST(WholeRow, JoinKeysComeInTheOrderOfKeysAndAreEqualForEqualRowsOnly) {
  Random random(1);
  for (int i = 0; i < 100000; i++) {
    const std::string a = RandomBytes(&random), b = RandomBytes(&random);
    const std::string value = RandomBytes(&random), other = RandomBytes(&random);
    if (a != b) {
      ASSERT_EQ(JoinKey(a, value) < JoinKey(b, other), a < b);
    }
    ASSERT_EQ(JoinKey(a, value) == JoinKey(a, other), value == other);
  }
}

TEST(WholeRow, GoldenBytes) {
  // XXH3-64 of nothing, as its specification has it.
  EXPECT_EQ(JoinKey(std::string("a\0b", 3), ""),
            std::string("a\0\xFF"
                        "b\0\x01\x2D\x06\x80\x05\x38\xD3\x94\xC2",
                        14));
}

TEST(WholeRow, AScanGivesWhatLiesInTheInterval) {
  Random random(2);
  std::map<std::string, std::string> rows;
  for (int i = 0; i < 300; i++) rows[RandomBytes(&random)] = RandomBytes(&random);
  WholeRowSource source(
      std::make_unique<MemorySource>(MemorySource::Rows(rows.begin(), rows.end())),
      WholeRowSource::Values::kGiven);
  std::vector<std::string> ends;
  for (const auto& [key, value] : rows) {
    // Any beginning of a join key, and more.
    const std::string join_key = JoinKey(key, value);
    ends.push_back(join_key.substr(0, random() % (join_key.size() + 1)) + RandomBytes(&random));
    ends.push_back(join_key);
  }
  for (int i = 0; i < 5000; i++) {
    KeyInterval interval{ends[random() % ends.size()], ends[random() % ends.size()]};
    if (*interval.end < interval.begin) std::swap(*interval.end, interval.begin);
    if (i % 7 == 0) interval.end.reset();
    Table expected;
    for (const auto& [key, value] : rows) expected.emplace_back(JoinKey(key, value), value);
    ASSERT_EQ(ReadRows(&source, interval), RowsWithin(expected, interval));
  }
}

TEST(WholeRow, RowsOfKeysAreThoseWithAnyValue) {
  Random random(4);
  for (int i = 0; i < 50000; i++) {
    KeyInterval keys{RandomBytes(&random), std::nullopt};
    if (i % 7 != 0) keys.end = keys.begin + RandomBytes(&random);
    if (i % 7 == 1) keys.end = keys.begin + '\0';
    const std::string key = RandomBytes(&random);
    ASSERT_EQ(WholeRowsOfKeys(keys).Contains(JoinKey(key, RandomBytes(&random))),
              keys.Contains(key));
  }
  const KeyInterval one = WholeRowsOfKeys({"k", std::string("k\0", 2)}), same = WholeRowsOfKey("k");
  EXPECT_EQ(one.begin, same.begin);
  EXPECT_EQ(one.end, same.end);
}

TEST(WholeRow, JoinKeysOfOthersAreRefused) {
  const std::string join_key = JoinKey(std::string("a\0", 2), "v");
  std::string key;
  ASSERT_TRUE(KeyOfWholeRow(join_key, &key));
  EXPECT_EQ(key, std::string("a\0", 2));
  for (size_t bytes = 0; bytes < join_key.size(); bytes++) {
    EXPECT_FALSE(KeyOfWholeRow(join_key.substr(0, bytes), &key));
  }
  const std::string digest(8, 'd');
  for (const std::string& wrong : {std::string("a\0\x02", 3), std::string("a\0\x05z\0\x01", 6),
                                   std::string("a\0\x01\0\x01", 5), std::string("a")}) {
    EXPECT_FALSE(KeyOfWholeRow(wrong + digest, &key)) << wrong;
  }
}

TEST(WholeRow, ValuesCanBeLeftOut) {
  WholeRowSource source(std::make_unique<MemorySource>(MemorySource::Rows{{"k", "v"}}),
                        WholeRowSource::Values::kLeftOut);
  EXPECT_EQ(ReadRows(&source), (Table{{JoinKey("k", "v"), ""}}));
}

TEST(WholeRow, SeveralOfAKeyAreAnErrorAndNoEndlessJoin) {
  MemorySource::Rows rows;
  for (int i = 0; i < 6; i++) rows.emplace_back("a", std::to_string(i));
  WholeRowSource here(std::make_unique<MemorySource>(rows), WholeRowSource::Values::kGiven);
  MemorySource there(Table{});
  const Settings settings(Strategy::kAuto, /*keys_per_range=*/1);
  EXPECT_TRUE(
      absl::IsDataLoss(JoinSources(Operation::kCount, &here, &there, settings).piped.status));
}

TEST(WholeRow, IsAnExpression) {
  for (const char* text : {"row", "row.without_value()"}) {
    const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text);
    ASSERT_TRUE(expression.ok());
    EXPECT_EQ(expression->text(), text);
    EXPECT_TRUE(expression->is_whole_row());
    EXPECT_EQ(expression->gives_values(), std::string_view(text) == "row");
    std::string join_key;
    EXPECT_TRUE(expression->Extract({"k", "v"}, &join_key));
    EXPECT_EQ(join_key, JoinKey("k", "v"));
  }
  EXPECT_FALSE(JoinKeyExpression::Parse("row.bytes(1)").ok());
  EXPECT_FALSE(JoinKeyExpression::Parse("key")->is_whole_row());
}

}  // namespace
}  // namespace rocksieve::join
