// SPDX-License-Identifier: Apache-2.0
// Damage is told to people once per policy: to the info log of a database that is writing a table,
// else to stderr and later to such a log. The counters count everything.
#include <mutex>

#include "integration/sst_file.h"
#include "plugin/rocksdb_abi.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// Keeps the lines that speak of rocksieve.
class CollectingLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[2000];
    std::vsnprintf(line, sizeof(line), format, arguments);
    if (std::string_view(line).find("rocksieve: ") == std::string_view::npos) return;
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(line);
  }
  std::vector<std::string> lines() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

size_t Occurrences(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

template <typename Action>
std::string StderrOf(Action action) {
  testing::internal::CaptureStderr();
  try {
    action();
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  return testing::internal::GetCapturedStderr();
}

const std::string& DamagedBlock() {
  static const std::string block = std::string(kHeadMagic) + std::string(60, 'x');
  return block;
}

void OpenBlock(const PolicyPtr& policy, const std::string& block) {
  delete policy->GetFilterBitsReader(block);
}

std::unique_ptr<rocksdb::FilterBitsBuilder> StartTable(const PolicyPtr& policy,
                                                       rocksdb::Logger* log) {
  static const rocksdb::BlockBasedTableOptions options;
  rocksdb::FilterBuildingContext context(options);
  context.info_log = log;
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(policy->GetBuilderWithContext(context));
}

TEST(DamageReport, StderrFirstThenTheNextLogAndNeverAgain) {
  const TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.table.checksum = rocksdb::kNoChecksum;
  Oracle oracle;
  std::vector<std::string> files;
  {
    const DbPtr db = Open(config.Build(), directory / "db");
    oracle = WriteOverlappingFiles(db.get(), 300, 3);
    files = TableFiles(db.get());
  }
  for (const std::string& file : files) {  // two are damaged, one is from the future
    std::string bytes = ReadBytes(file);
    const BlockPlace block = FindFilterBlocks(bytes).at(0);
    bytes[block.offset + 4] = 77;
    if (file == files[0]) SealAgain(bytes.data() + block.offset, block.size);
    WriteBytes(file, bytes);
  }
  const auto log = std::make_shared<CollectingLogger>();
  config.options.info_log = log;
  config.table.filter_policy = PolicyFor("rocksieve.bloom:10");
  DbPtr db;
  const std::string printed = StderrOf([&] {
    db = Open(config.Build(), directory / "db");
    ExpectHolds(db.get(), oracle, MissingKeys(100));
  });
  EXPECT_EQ(Occurrences(printed, "rocksieve: a filter block"), 1u) << printed;
  EXPECT_EQ(Occurrences(printed, "no key is lost"), 1u) << printed;
  EXPECT_EQ(log->lines().size(), 0u);
  const FilterStats stats = StatsOf(config.table.filter_policy);
  EXPECT_EQ(stats.damaged_filters, 2u);
  EXPECT_EQ(stats.future_filters, 1u);

  const std::string printed_later = StderrOf([&] {
    for (int round = 0; round < 3; round++) {
      Must(db->Put(rocksdb::WriteOptions(), "later", std::to_string(round)));
      Flush(db.get());
    }
    Compact(db.get());
    OpenBlock(config.table.filter_policy, DamagedBlock());
  });
  EXPECT_EQ(printed_later, "");
  EXPECT_EQ(log->lines().size(), 1u);
  if (!log->lines().empty()) {
    EXPECT_EQ(log->lines()[0].substr(0, 7), "[WARN] ");
  }
}

TEST(DamageReport, GoesToTheLogOfATableThatIsBeingBuilt) {
  const PolicyPtr policy = PolicyFor("rocksieve.cuckoo:12.5");
  CollectingLogger first, second;
  const auto first_table = StartTable(policy, &first);
  const auto second_table = StartTable(policy, &second);
  const std::string printed = StderrOf([&] {
    for (int i = 0; i < 5; i++) OpenBlock(policy, DamagedBlock());
  });
  EXPECT_EQ(printed, "");
  EXPECT_EQ(first.lines().size() + second.lines().size(), 1u);
  EXPECT_EQ(StatsOf(policy).damaged_filters, 5u);
}

// Keys that their family cannot place.
struct Unplaceable {
  const char* spec;
  std::vector<std::string> keys;
};

// Three that share one window of two slots, however many slots there are, and pairs whose equations
// depend on each other under every reseed (the golden blocks cuckoo_unbuildable, ribbon_match_all).
std::vector<Unplaceable> UnplaceableSets() {
  constexpr uint64_t kPairs[] = {0xCC3C837BC8E4F09E, 0x07BC16A602EC90AB, 0x75A2BFB8D4E93A4B,
                                 0x00B3B143F854F8B5, 0xE9E93AC5D4731B57, 0x453F8951FBB8AA44,
                                 0x5812312E484D618A, 0x729ED58B51139DF5};
  std::vector<std::string> pairs;
  for (uint64_t key : kPairs) pairs.push_back(BigEndian(key));
  return {{"rocksieve.cuckoo:12.5", {"key15453", "key19005", "key49086"}},
          {"rocksieve.ribbon:10", pairs}};
}

std::string BuildTable(const PolicyPtr& policy, rocksdb::Logger* log,
                       const std::vector<std::string>& keys) {
  const auto table = StartTable(policy, log);
  for (const std::string& key : keys) table->AddKey(key);
  std::unique_ptr<const char[]> block;
  return table->Finish(&block).ToString();
}

TEST(IncompleteFilterReport, IsCountedAndLoggedOnce) {
  for (const auto& [spec, keys] : UnplaceableSets()) {
    const PolicyPtr policy = PolicyFor(spec);
    CollectingLogger log;
    for (int round = 0; round < 3; round++) {
      const std::string block = BuildTable(policy, &log, keys);
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(block));
      for (const std::string& key : keys) EXPECT_TRUE(reader->MayMatch(key)) << spec;
      EXPECT_TRUE(reader->MayMatch("any other")) << spec;
    }
    EXPECT_EQ(StatsOf(policy).incomplete_filters_built, 3u) << spec;
    ASSERT_EQ(log.lines().size(), 1u) << spec;
    EXPECT_NE(log.lines()[0].find(":salted"), std::string::npos) << log.lines()[0];

    BuildTable(policy, &log, {"one key"});
    EXPECT_EQ(StatsOf(policy).incomplete_filters_built, 3u) << spec;
  }
}

TEST(DamageReport, DoesNotGoToALogThatIsGone) {
  const PolicyPtr policy = PolicyFor("rocksieve.bloom:10");
  {
    auto gone = std::make_unique<CollectingLogger>();
    auto table = StartTable(policy, gone.get());
    auto without_log = StartTable(policy, nullptr);
    table.reset();
    gone.reset();
    EXPECT_EQ(Occurrences(StderrOf([&] { OpenBlock(policy, DamagedBlock()); }), "is damaged"), 1u);
  }
}

TEST(DamageReport, EachPolicyReportsOnce) {
  const PolicyPtr first = PolicyFor("rocksieve.bloom:10"), second = PolicyFor("rocksieve.bloom:10");
  const std::string printed = StderrOf([&] {
    for (int i = 0; i < 3; i++) {
      OpenBlock(first, DamagedBlock());
      OpenBlock(second, DamagedBlock());
    }
  });
  EXPECT_EQ(Occurrences(printed, "is damaged"), 2u) << printed;
}

TEST(DamageReport, ManyThreadsReportOnce) {
  const PolicyPtr policy = PolicyFor("rocksieve.bloom:10");
  CollectingLogger log;
  const std::string printed = StderrOf([&] {
    InThreads(8, [&](int i) {
      for (int round = 0; round < 500; round++) {
        if (i == 0) {
          const auto table = StartTable(policy, &log);
          table->AddKey("key");
        }
        OpenBlock(policy, DamagedBlock());
      }
    });
  });
  EXPECT_LE(log.lines().size(), 1u);
  EXPECT_LE(Occurrences(printed, "is damaged"), 1u);
  EXPECT_GE(log.lines().size() + Occurrences(printed, "is damaged"), 1u);
  EXPECT_EQ(StatsOf(policy).damaged_filters, 8u * 500);
}

// RocksDB's own filter of a partition without keys has no bytes at all.
TEST(DamageReport, NothingIsSaidOfRocksDbsFilterOfNoKeys) {
  const PolicyPtr policy = PolicyFor("rocksieve.bloom:10");
  EXPECT_EQ(StderrOf([&] { OpenBlock(policy, ""); }), "");
  EXPECT_EQ(StatsOf(policy).damaged_filters, 0u);
  EXPECT_EQ(StatsOf(policy).foreign_filters_opened, 1u);
}

TEST(DamageReport, NothingIsSaidOfFiltersThatAreWell) {
  const TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  const auto log = std::make_shared<CollectingLogger>();
  config.options.info_log = log;
  DbConfig stock(PolicyPtr(rocksdb::NewRibbonFilterPolicy(10, -1)));
  const std::string printed = StderrOf([&] {
    WriteOverlappingFiles(Open(stock.Build(), directory / "db").get(), 300, 2);
    const DbPtr db = Open(config.Build(), directory / "db");
    LookUp(db.get(), MissingKeys(300));
    Compact(db.get());
    LookUp(db.get(), MissingKeys(300));
  });
  EXPECT_EQ(printed, "");
  EXPECT_EQ(log->lines().size(), 0u);
}

}  // namespace
}  // namespace rocksieve
