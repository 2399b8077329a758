// SPDX-License-Identifier: Apache-2.0
// `rocksieve explain` beside RocksDB's own counters: the reads in vain that it expects are those
// that lookups of missing keys make, whatever the tree, the filters, the keys and the options.
#include <atomic>
#include <cmath>
#include <fstream>
#include <ostream>

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>

#include "integration/command.h"
#include "integration/database.h"
#include "integration/tree.h"
#include "support/text.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

using Json = nlohmann::json;
using KeyMaker = std::function<std::string(Random*)>;

constexpr uint64_t kKeys = 12000, kMissing = 20000;

PolicyPtr BuiltinBloom(double bits) { return PolicyPtr(rocksdb::NewBloomFilterPolicy(bits)); }
PolicyPtr BuiltinRibbon(double bits) {
  return PolicyPtr(rocksdb::NewRibbonFilterPolicy(bits, /*bloom_before_level=*/-1));
}

// Another filter for each file that is built, and none for some.
class MixedFilters final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "test.MixedFilters"; }
  const char* CompatibilityName() const override { return policies_[0]->CompatibilityName(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    const size_t next = next_++ % (policies_.size() + 1);
    return next == policies_.size() ? nullptr : policies_[next]->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& block) const override {
    return policies_[0]->GetFilterBitsReader(block);  // reads those of all
  }

 private:
  const std::vector<PolicyPtr> policies_ = {PolicyFor("rocksieve.bloom:8"), BuiltinBloom(6),
                                            PolicyFor("rocksieve.cuckoo:7"), BuiltinRibbon(7)};
  mutable std::atomic<size_t> next_{0};
};
PolicyPtr MixedPolicy() { return std::make_shared<MixedFilters>(); }

std::string Binary(Random* random) { return RandomBytes(16, random); }
std::string EvenDecimal(Random* random) { return NumberedKey((*random)() % 200000); }

struct Case {
  const char* name;
  std::function<PolicyPtr()> policy;
  std::function<void(DbConfig*)> adjust = [](DbConfig*) {};
  KeyMaker make_key = Binary;
  size_t value_bytes = 40;
  std::vector<LevelPart> parts = kGrownTree;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

KeySet MakeKeys(const KeyMaker& make, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 2 * (kKeys + kMissing); i++) keys.push_back(make(&random));
  return SplitKeys(std::move(keys), kKeys, &random);
}

Json Explained(const std::string& path, const std::string& flags = "") {
  const CommandResult result = RunCommand("explain --json --db=" + path + " " + flags);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return result.Json()["column_families"][0];
}

double ExpectedReads(const Json& family) {
  return family["expected_useless_reads_per_missing_lookup"].get<double>();
}

// Five standard deviations of counts, and 2 % for what is alike but not the same: places of keys.
double Slack(double reads, double keys) { return 5 * std::sqrt(reads / keys) + 0.02 * reads; }

class Explain : public testing::TestWithParam<Case> {};

TEST_P(Explain, ExpectsTheReadsThatRocksDbCounts) {
  const Case& c = GetParam();
  TemporaryDirectory directory;
  const std::string path = directory / "db";
  KeySet keys = MakeKeys(c.make_key, 17);
  keys.missing.resize(kMissing);
  DbConfig config(c.policy());
  config.options.num_levels = 5;
  c.adjust(&config);
  {
    const DbPtr db = Open(config.Build(), path);
    BuildGrownTree(db.get(), keys.present, c.value_bytes, c.parts);
  }
  const LookupCost cost = LookUpMissing(config, path, keys.missing);
  const double counted = static_cast<double>(cost.data_block_reads) / kMissing;

  // With the same keys: the same filters pass. What remains is a sample of blocks per pass.
  {
    std::ofstream probes(directory / "probes");
    for (const std::string& key : keys.missing) probes << HexBytes(key) << "\n";
  }
  const Json mine = Explained(path, "--hex --probes=" + (directory / "probes"));
  EXPECT_NEAR(ExpectedReads(mine), counted, 0.02 * counted + 2.0 / kMissing) << mine.dump(1);
  EXPECT_EQ(mine["probes"]["keys"], kMissing);
  EXPECT_EQ(mine["probes"]["sample_keys_found"], 0);

  // With keys that it makes by itself.
  const Json made = Explained(path);
  EXPECT_NEAR(ExpectedReads(made), counted, Slack(counted, kMissing)) << made.dump(1);
  EXPECT_EQ(made["probes"]["sample_keys_found"], 0);
  EXPECT_EQ(made["keys"], kKeys);
}

const auto kPartitioned = [](DbConfig* config) { config->Partitioned(1024); };
const std::vector<LevelPart> kOnlyLevel0 = {{0, 1, 3}};
const std::vector<LevelPart> kManyRuns = {{0, 1, 7}};
const std::vector<LevelPart> kOneRun = {{4, 1, 5}};

const Case kCases[] = {
    {"Bloom", [] { return PolicyFor("rocksieve.bloom:10"); }},
    {"Cuckoo", [] { return PolicyFor("rocksieve.cuckoo:9"); }},
    {"Ribbon", [] { return PolicyFor("rocksieve.ribbon:6"); }},
    {"OwnName", [] { return PolicyFor("rocksieve.ribbon:6:own-name"); }},
    {"BuiltinBloom", [] { return BuiltinBloom(10); }},
    {"BuiltinRibbon", [] { return BuiltinRibbon(8); }},
    {"Mixed", MixedPolicy},
    {"LegacyBloom", [] { return BuiltinBloom(10); },
     [](DbConfig* config) { config->table.format_version = 4; }},
    {"None", [] { return PolicyPtr(); }},
    {"PartitionedBloom", [] { return PolicyFor("rocksieve.bloom:8"); }, kPartitioned},
    {"PartitionedBuiltin", [] { return BuiltinBloom(8); }, kPartitioned},
    {"PartitionedFormat2", [] { return BuiltinBloom(8); },
     [](DbConfig* config) {
       config->Partitioned(1024);
       config->table.format_version = 2;
     }},
    {"PartitionedRestarts", [] { return BuiltinRibbon(8); },
     [](DbConfig* config) {
       config->Partitioned(512);
       config->table.index_block_restart_interval = 8;
     }},
    {"Level0Only", [] { return BuiltinBloom(6); }, [](DbConfig*) {}, Uuid, 40, kOnlyLevel0},
    {"ManyRuns", [] { return BuiltinBloom(8); },
     [](DbConfig* config) {
       config->options.compaction_style = rocksdb::kCompactionStyleUniversal;
     },
     Binary, 40, kManyRuns},
    {"OneRun", [] { return PolicyFor("rocksieve.bloom:8"); }, [](DbConfig*) {}, Uuid, 40, kOneRun},
    {"Decimal", [] { return BuiltinBloom(8); }, [](DbConfig*) {}, EvenDecimal},
    {"Paths", [] { return BuiltinBloom(8); }, [](DbConfig*) {}, Path},
    {"LargeValues", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->table.block_size = 1024; }, Uuid, 900},
    {"FirstKeyIndex", [] { return BuiltinBloom(6); },
     [](DbConfig* config) {
       config->table.index_type = rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey;
       config->table.block_size = 256;
     }},
    {"ReverseOrder", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->options.comparator = rocksdb::ReverseBytewiseComparator(); },
     Uuid},
    {"FiltersForHits", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->options.optimize_filters_for_hits = true; }},
    {"ChecksumCrc", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->table.checksum = rocksdb::kCRC32c; }},
    {"ChecksumXxHash", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->table.checksum = rocksdb::kxxHash; }},
    {"ChecksumXxHash64", [] { return BuiltinBloom(8); },
     [](DbConfig* config) { config->table.checksum = rocksdb::kxxHash64; }},
    {"PrefixOnly", [] { return BuiltinBloom(10); },
     [](DbConfig* config) {
       config->table.whole_key_filtering = false;
       config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(10));
     },
     Uuid},
    {"PrefixPartitioned", [] { return PolicyFor("rocksieve.ribbon:8"); },
     [](DbConfig* config) {
       config->Partitioned(512);
       config->table.whole_key_filtering = false;
       config->options.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(12));
     },
     Uuid},
    {"PrefixAndWhole", [] { return PolicyFor("rocksieve.bloom:10"); },
     [](DbConfig* config) {
       config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(8));
     },
     Uuid},
};

INSTANTIATE_TEST_SUITE_P(Trees, Explain, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// 200,000 lookups that all were rejected, or that no filter could reject.
TEST(ExplainsIntervals, AreHonestWhereNoneOrAllPass) {
  for (const bool filtered : {true, false}) {
    TemporaryDirectory directory;
    const DbConfig config(filtered ? PolicyFor("rocksieve.ribbon:32") : PolicyPtr());
    WriteOverlappingFiles(Open(config.Build(), directory / "db").get(), 5000, 1);
    const Json family = Explained(directory / "db");
    const Json& interval = family["expected_useless_reads_95"];
    EXPECT_NEAR(ExpectedReads(family), filtered ? 0 : 1, 0.02);
    EXPECT_EQ(interval[0], ExpectedReads(family));
    if (filtered) {
      // Three in 200,000 would have been seen but once in twenty times.
      EXPECT_GT(interval[1], 1.5e-5);
      EXPECT_LT(interval[1], 2.5e-5);
    } else {
      EXPECT_EQ(interval[1], ExpectedReads(family));
    }
  }
}

// Of numbers of which one in three is missing, few probes are numbers that are.
TEST(ExplainsConsecutiveNumbers, WithAsManyProbesAsOfOtherKeys) {
  TemporaryDirectory directory;
  const DbConfig config(BuiltinBloom(10));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 15000; i++) {
    if (i % 3 != 0) keys.push_back(BigEndian(i) + "00000000");
  }
  BuildGrownTree(Open(config.Build(), directory / "db").get(), keys, 40);
  const Json family = Explained(directory / "db");
  EXPECT_GT(family["probes"]["keys"], 150000);
  const double predicted = family["predicted_useless_reads_per_missing_lookup"];
  EXPECT_NEAR(ExpectedReads(family) / predicted, 1, 0.1);
}

// Filters of ours, under RocksDB's own policy and under one that nobody knows; and a hash index,
// which takes prefixes of probes that have none.
TEST(ExplainsOptions, ThatDoNotFitFiltersOrProbes) {
  TemporaryDirectory directory;
  DbConfig config("rocksieve.bloom:10");
  config.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  config.table.index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
  WriteOverlappingFiles(Open(config.Build(), directory / "db").get(), 100, 1);
  std::ofstream(directory / "probes") << "ke\n";
  for (const PolicyPtr& policy : {BuiltinBloom(10), MixedPolicy()}) {
    config.table.filter_policy = policy;
    Open(config.Build(), directory / "db").reset();
    const Json family = Explained(directory / "db", "--probes=" + (directory / "probes"));
    ASSERT_EQ(family["notes"].size(), 1u) << family["notes"];
    EXPECT_THAT(family["notes"][0].get<std::string>(), testing::HasSubstr("asks none of the"));
  }
}

}  // namespace
}  // namespace rocksieve
