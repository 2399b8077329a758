// SPDX-License-Identifier: Apache-2.0
// A budget of bytes of rocksieve.auto: it is kept at every moment while the data grows fourfold, no
// key is lost, and what is left of the bits is used well.
#include <atomic>

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>

#include "integration/tree.h"
#include "lib/budget/allocation.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeysPerFlush = 2000, kFlushesAtFirst = 30, kGrowth = 4;
// 10 bits for each of the keys at first, so 2.5 in the end.
constexpr uint64_t kBudget = kFlushesAtFirst * kKeysPerFlush * 10 / 8;

// Adds up the filters of the live files whenever a file was created or a job is done.
class Watch final : public rocksdb::EventListener {
 public:
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& /*info*/) override { Look(); }
  void OnFlushCompleted(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& /*info*/) override {
    Look();
  }
  void OnCompactionCompleted(rocksdb::DB* /*db*/,
                             const rocksdb::CompactionJobInfo& /*info*/) override {
    Look();
  }

  // Null while the database is closed.
  void Follow(rocksdb::DB* db) { db_ = db; }
  void Look() {
    rocksdb::DB* const db = db_;
    if (db == nullptr) return;
    const uint64_t bytes = MemoryOf(db).filter_bytes;
    uint64_t most = most_;
    while (bytes > most && !most_.compare_exchange_weak(most, bytes)) continue;
  }
  double most() const { return static_cast<double>(most_) / kBudget; }  // of the budget

 private:
  std::atomic<rocksdb::DB*> db_{nullptr};
  std::atomic<uint64_t> most_{0};
};

struct Growth {
  const char* name;
  int ratio = 10;
  void (*configure)(TreeConfig*) = [](TreeConfig*) {};
  bool in_order = false, overwrites = false, reopens = false;
  // Of the budget: at any time, and at least in the end.
  double most = 1.10, least = 0.85;
  // As all is written anew, in one job or several at once.
  double least_compacted = 0.97, most_compacted = 1.01;
};

class BytesBudget : public testing::TestWithParam<Growth> {
 protected:
  BytesBudget()
      : config_("rocksieve.auto:" + std::to_string(kBudget) + "B", /*listener=*/true,
                GetParam().ratio) {
    GetParam().configure(&config_);
    config_.db.options.listeners.push_back(watch_);
  }

  void Open() {
    db_ = rocksieve::Open(config_.db.Build(), path_);
    watch_->Follow(db_.get());
  }
  void Close() {
    WaitForCompactions(db_.get());
    watch_->Follow(nullptr);
    db_.reset();
  }

  void Fill(uint64_t flushes) {
    for (const uint64_t end = next_ + flushes * kKeysPerFlush; next_ < end; next_++) {
      const uint64_t number =
          GetParam().overwrites && random_() % 2 == 0 ? random_() % (next_ + 1) : next_;
      const std::string key =
          GetParam().in_order ? NumberedKey(2 * number) : ScatteredKey(2 * number);
      const std::string value = std::to_string(next_) + std::string(20, 'v');
      Must(db_->Put(rocksdb::WriteOptions(), key, value));
      oracle_[key] = value;
      if (next_ % kKeysPerFlush != kKeysPerFlush - 1) continue;
      Flush(db_.get());
      WaitForCompactions(db_.get());
      watch_->Look();
      if (GetParam().reopens && next_ / kKeysPerFlush % 20 == 19) {
        Close();
        Open();
      }
    }
  }

  void Report(const char* when) {
    const Memory memory = MemoryOf(db_.get());
    std::printf("%s, %s: %.2f bits per entry, %.1f %% of the budget, at most %.1f %%; %s\n",
                GetParam().name, when, memory.bits(),
                100 * static_cast<double>(memory.filter_bytes) / kBudget, 100 * watch_->most(),
                ShapeOf(db_.get()).c_str());
  }

  double Used() const { return static_cast<double>(MemoryOf(db_.get()).filter_bytes) / kBudget; }

  std::vector<std::string> Missing() const {
    std::vector<std::string> missing;
    for (uint64_t i = 0; i < 2000; i++) {
      const uint64_t number = 2 * (i * 37 % next_) + 1;
      missing.push_back(GetParam().in_order ? NumberedKey(number) : ScatteredKey(number));
    }
    return missing;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  const std::shared_ptr<Watch> watch_ = std::make_shared<Watch>();
  TreeConfig config_;
  DbPtr db_;
  Random random_ = SeededRandom(29);
  Oracle oracle_;
  uint64_t next_ = 0;
};

TEST_P(BytesBudget, IsKeptWhileTheDataGrowsFourfold) {
  Open();
  Fill(kFlushesAtFirst);
  Report("at first");
  EXPECT_GE(Used(), GetParam().least);
  Fill((kGrowth - 1) * kFlushesAtFirst);
  Report("in the end");
  EXPECT_GE(Used(), GetParam().least);
  EXPECT_LE(watch_->most(), GetParam().most);
  ExpectHolds(db_.get(), oracle_, Missing());
  Compact(db_.get());
  Report("compacted");
  EXPECT_LE(watch_->most(), GetParam().most);
  EXPECT_GE(Used(), GetParam().least_compacted);
  EXPECT_LE(Used(), GetParam().most_compacted);
  ExpectHolds(db_.get(), oracle_, Missing());
  const LookupCost cost = LookUp(db_.get(), Missing());
  std::printf("reads per missing key: %.3f\n", static_cast<double>(cost.data_block_reads) / 2000);
  Close();
}

std::string GrowthName(const testing::TestParamInfo<Growth>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Trees, BytesBudget,
    testing::Values(
        Growth{.name = "Ratio10"}, Growth{.name = "Ratio4", .ratio = 4},
        Growth{.name = "Reopened", .reopens = true},
        Growth{.name = "Overwritten", .overwrites = true},
        Growth{.name = "Partitioned",
               .configure = [](TreeConfig* config) { config->db.Partitioned(1024); }},
        Growth{.name = "Subcompactions",
               .configure = [](TreeConfig* config) { config->db.options.max_subcompactions = 4; }},
        Growth{.name = "Universal",
               .configure =
                   [](TreeConfig* config) {
                     config->db.options.compaction_style = rocksdb::kCompactionStyleUniversal;
                   },
               .least = 0.5,
               .least_compacted = 0.5},
        Growth{.name = "InOrder", .in_order = true, .least = 0.5}),
    GrowthName);

// Useless reads per missing key with the filters that are best for the tree as it is.
double LeastReads(rocksdb::DB* db, uint64_t budget) {
  AllocatorOptions options;
  options.bytes = budget;
  const Allocator allocator(options);
  std::vector<rocksdb::LiveFileMetaData> live;
  db->GetLiveFilesMetaData(&live);
  std::vector<BudgetedFile> files;
  for (const rocksdb::LiveFileMetaData& file : live) {
    files.push_back({file.smallestkey, file.largestkey, file.num_entries, file.num_entries});
  }
  const std::vector<double> weights = LookupWeights(files);
  const std::vector<FilterChoice> best = allocator.Ideal(files);
  double reads = 0;
  for (size_t i = 0; i < files.size(); i++) {
    reads += weights[i] * allocator.HullFor(files[i].filter_keys).CostAt(best[i].bits_per_key);
  }
  return reads;
}

void WriteOneFlush(rocksdb::DB* db, uint64_t flush, Oracle* oracle) {
  for (uint64_t i = flush * kKeysPerFlush; i < (flush + 1) * kKeysPerFlush; i++) {
    const std::string key = ScatteredKey(2 * i);
    Must(db->Put(rocksdb::WriteOptions(), key, std::string(24, 'v')));
    (*oracle)[key] = std::string(24, 'v');
  }
  Flush(db);
  WaitForCompactions(db);
}

class BytesBudgetGain : public testing::TestWithParam<std::tuple<int, bool>> {};

// Nearly as few reads as if all filters could be built anew at any moment, while a tree of 5 bits
// per entry grows by a quarter.
TEST_P(BytesBudgetGain, IsNearlyThatOfTheBestFilters) {
  constexpr uint64_t kFlushes = 100, kMissing = 10000;
  constexpr uint64_t kBytes = kFlushes * kKeysPerFlush * 5 / 8;
  const auto [ratio, dynamic] = GetParam();
  const TemporaryDirectory directory;
  TreeConfig config("rocksieve.auto:" + std::to_string(kBytes) + "B", /*listener=*/true, ratio);
  config.db.options.level_compaction_dynamic_level_bytes = dynamic;
  const DbPtr db = Open(config.db.Build(), directory / "db");
  Oracle oracle;
  double reads = 0, least = 0;
  for (uint64_t i = 0; i < kFlushes; i++) {
    WriteOneFlush(db.get(), i, &oracle);
    if (i < kFlushes * 4 / 5) continue;
    std::vector<std::string> missing;
    for (uint64_t j = 0; j < kMissing; j++) {
      missing.push_back(ScatteredKey(2 * (i * kMissing + j) + 1));
    }
    reads += static_cast<double>(LookUp(db.get(), missing).data_block_reads) / kMissing;
    least += LeastReads(db.get(), kBytes);
  }
  std::printf("%.1f reads per 1,000, %.2f times the least; %s\n", 50 * reads, reads / least,
              ShapeOf(db.get()).c_str());
  ExpectHolds(db.get(), oracle, {ScatteredKey(1), ScatteredKey(3)});
  // Where a new level begins to fill, its first files stay while the tree doubles.
  EXPECT_LT(reads, (ratio == 4 && !dynamic ? 1.6 : 1.2) * least);
}

INSTANTIATE_TEST_SUITE_P(Trees, BytesBudgetGain,
                         testing::Combine(testing::Values(4, 10), testing::Bool()));

// Filters that are there when the budget comes into force are no loss of keys, and give way to it
// as files are rewritten; files of few keys are not left without one meanwhile.
TEST(BytesBudgetOfAGrownDatabase, IsReachedAsFilesAreRewritten) {
  constexpr uint64_t kFlushes = 30;
  const TemporaryDirectory directory;
  Oracle oracle;
  {
    const TreeConfig before("rocksieve.bloom:12", /*listener=*/false, 10);
    const DbPtr db = Open(before.db.Build(), directory / "db");
    for (uint64_t i = 0; i < kFlushes; i++) WriteOneFlush(db.get(), i, &oracle);
  }
  // Half of what they have.
  constexpr uint64_t kBytes = kFlushes * kKeysPerFlush * 6 / 8;
  TreeConfig config("rocksieve.auto:" + std::to_string(kBytes) + "B", /*listener=*/true, 10);
  const DbPtr db = Open(config.db.Build(), directory / "db");
  uint64_t before = MemoryOf(db.get()).filter_bytes;
  EXPECT_GT(before, 2 * kBytes);
  for (uint64_t i = 0; i < 40 && before > kBytes; i++) {
    WriteOneFlush(db.get(), kFlushes + i, &oracle);
    const uint64_t now = MemoryOf(db.get()).filter_bytes;
    EXPECT_LT(now, before + kBytes / 20) << i;
    before = now;
    std::printf("%lu: %.2f of the budget; %s\n", i, static_cast<double>(now) / kBytes,
                ShapeOf(db.get()).c_str());
    const LookupCost cost = LookUp(db.get(), MissingKeys(500));
    EXPECT_LT(cost.data_block_reads, 500) << i;
  }
  EXPECT_LE(before, kBytes * 11 / 10);
  ExpectHolds(db.get(), oracle, {ScatteredKey(1), ScatteredKey(3)});
}

TEST(BytesBudgetOfColumnFamilies, IsOfEachOfThem) {
  const TemporaryDirectory directory;
  const TreeConfig config("rocksieve.auto:20kB", /*listener=*/true, 4);
  rocksdb::DBOptions options(config.db.Build());
  options.create_missing_column_families = true;
  DbPtr db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Must(rocksdb::DB::Open(options, directory / "db",
                         {{"default", config.db.Build()}, {"second", config.db.Build()}}, &handles,
                         Into(&db)));
  for (uint64_t i = 0; i < 40000; i++) {
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      Must(db->Put(rocksdb::WriteOptions(), handle, ScatteredKey(2 * i), "v"));
      if (i % kKeysPerFlush == kKeysPerFlush - 1) Must(db->Flush(rocksdb::FlushOptions(), handle));
    }
    // Else the shape of the trees, and what is left for their newest files, is a matter of chance.
    if (i % kKeysPerFlush == kKeysPerFlush - 1) WaitForCompactions(db.get());
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    const uint64_t bytes = MemoryOf(db.get(), handle).filter_bytes;
    EXPECT_LE(bytes, 22000) << handle->GetName();
    EXPECT_GE(bytes, 17000) << handle->GetName();
    delete handle;
  }
}

TEST(BytesBudgetWithoutListener, IsRefusedWithTheRemedy) {
  const TemporaryDirectory directory;
  const TreeConfig config("rocksieve.auto:20kB", /*listener=*/false, 4);
  DbPtr db;
  const rocksdb::Status status = rocksdb::DB::Open(config.db.Build(), directory / "db", Into(&db));
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("listeners={rocksieve.listener}"), std::string::npos);
}

// As it stands in OPTIONS files.
TEST(BytesBudgetOfOptions, ComesBackFromThem) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  for (const auto& [given, kept] : {std::pair("1.5MiB", "1536KiB"), std::pair("512MB", "512MB")}) {
    rocksdb::Options options;
    Must(rocksdb::GetOptionsFromString(
        rocksdb::ConfigOptions(), rocksdb::Options(),
        "create_if_missing=true;listeners={rocksieve.listener};block_based_table_factory="
        "{filter_policy=rocksieve.auto:" +
            std::string(given) + "}",
        &options));
    Open(options, path).reset();
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families));
    ASSERT_EQ(families.size(), 1u);
    const auto* table =
        families[0].options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    ASSERT_NE(table, nullptr);
    ASSERT_NE(table->filter_policy, nullptr);
    EXPECT_EQ(table->filter_policy->GetId(), "rocksieve.auto:" + std::string(kept));
    ASSERT_EQ(db_options.listeners.size(), 1u);
    db_options.create_if_missing = false;
    Open(rocksdb::Options(db_options, families[0].options), path).reset();
  }
}

}  // namespace
}  // namespace rocksieve
