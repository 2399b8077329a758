// SPDX-License-Identifier: Apache-2.0
// `rocksieve whatif` beside what comes true: the same tree, built with the policy that it was asked
// about, has as many bytes of filters, and lookups of missing keys read as many blocks.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/listener.h>

#include "integration/command.h"
#include "integration/database.h"
#include "integration/tree.h"

namespace rocksieve {
namespace {

using Json = nlohmann::json;
using KeyMaker = std::function<std::string(Random*)>;

struct Sizes {
  uint64_t keys, missing;
};
// Many for all kinds of filters, decisions of rocksieve.auto, and prefixes that few keys have.
constexpr Sizes kFew{12000, 12000}, kMany{30000, 25000};

// RocksDB's own policies from their options' words, ours by our function.
PolicyPtr AnyPolicy(const std::string& spec) {
  if (spec == "none") return nullptr;
  if (spec.rfind("rocksieve", 0) == 0) return PolicyFor(spec);
  PolicyPtr policy;
  Must(rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), spec, &policy));
  return policy;
}

std::string Binary(Random* random) { return RandomBytes(16, random); }
std::string Decimal(Random* random) { return NumberedKey((*random)() % 300000); }

struct Case {
  const char* name;
  std::vector<std::string> specs;
  std::string built_with = "none";  // the policy of the tree that whatif sees
  std::function<void(DbConfig*)> adjust = [](DbConfig*) {};
  KeyMaker make_key = Binary;
  std::vector<LevelPart> parts = kGrownTree;
  size_t value_bytes = 40;
  Sizes sizes = kFew;
  // Tell whatif which keys are missing: with filters of prefixes it matters how near to the others
  // they are.
  bool tell_missing_keys = false;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

KeySet MakeKeys(const Case& c) {
  Random random = SeededRandom(29);
  std::vector<std::string> keys;
  while (keys.size() < 2 * (c.sizes.keys + c.sizes.missing)) keys.push_back(c.make_key(&random));
  KeySet set = SplitKeys(std::move(keys), c.sizes.keys, &random);
  set.missing.resize(std::min<size_t>(set.missing.size(), c.sizes.missing));
  return set;
}

DbConfig ConfigFor(const Case& c, const std::string& spec) {
  DbConfig config(AnyPolicy(spec));
  config.options.num_levels = 6;
  config.options.listeners = {NewListener()};  // of which rocksieve.auto alone takes notice
  c.adjust(&config);
  return config;
}

// Each file of the levels below 0 alone, at its level.
void RewriteFiles(rocksdb::DB* db) {
  rocksdb::ColumnFamilyMetaData tree;
  db->GetColumnFamilyMetaData(&tree);
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  for (const rocksdb::LevelMetaData& level : tree.levels) {
    if (level.level == 0) continue;
    for (const auto& file : level.files) {
      Must(db->CompactFiles(options, {file.name}, level.level));
    }
  }
}

bool IsAuto(const PolicyPtr& policy) {
  return policy != nullptr && std::string(policy->GetId()).rfind("rocksieve.auto", 0) == 0;
}

// rocksieve.auto decides from the tree that it sees, and what whatif tells is where that leads: so
// the lower levels are there and were rewritten some times before level 0 is flushed.
void BuildSettledTree(const Case& c, rocksdb::DB* db, const std::vector<std::string>& keys) {
  std::vector<LevelPart> lower = c.parts;
  const LevelPart level_0 = lower.back();
  lower.pop_back();
  for (LevelPart& part : lower) part.share /= 1 - level_0.share;
  const auto lower_keys =
      keys.end() - std::lround(level_0.share * static_cast<double>(keys.size()));
  BuildGrownTree(db, {keys.begin(), lower_keys}, c.value_bytes, lower);
  for (int round = 0; round < 3; round++) RewriteFiles(db);
  BuildGrownTree(db, {lower_keys, keys.end()}, c.value_bytes, {level_0});
}

void BuildTree(const Case& c, const DbConfig& config, const KeySet& keys, const std::string& path) {
  const DbPtr db = Open(config.Build(), path);
  if (IsAuto(config.table.filter_policy)) {
    BuildSettledTree(c, db.get(), keys.present);
  } else {
    BuildGrownTree(db.get(), keys.present, c.value_bytes, c.parts);
  }
}

struct Truth {
  double filter_bytes = 0, reads = 0;
};

Truth MeasureTree(const DbConfig& config, const KeySet& keys, const std::string& path) {
  const LookupCost cost = LookUpMissing(config, path, keys.missing);
  const DbPtr db = OpenReadOnly(config.Build(), path);
  return {static_cast<double>(TotalProperties(db.get()).filter_size),
          static_cast<double>(cost.data_block_reads) / static_cast<double>(keys.missing.size())};
}

Json Predicted(const std::string& path, const std::vector<std::string>& specs,
               const std::string& flags = "") {
  std::string arguments = "whatif --json --bits=9..11 --db=" + path + " " + flags;
  for (const std::string& spec : specs) arguments += " --spec=" + spec;
  const CommandResult result = RunCommand(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return result.Json()["column_families"][0];
}

// As --probes wants them, with --hex.
void WriteProbes(const std::vector<std::string>& keys, const std::string& path) {
  std::ofstream file(path);
  for (const std::string& key : keys) file << rocksdb::Slice(key).ToString(/*hex=*/true) << "\n";
}

// Within 10 % and four standard deviations of what was counted.
void ExpectTrue(const std::string& spec, const Json& policy, const Truth& truth, size_t lookups) {
  const auto bytes = policy["filter_bytes"].get<double>();
  const auto reads = policy["expected_useless_reads_per_missing_lookup"].get<double>();
  std::printf("%-28s bytes %9.0f of %9.0f (%+5.1f %%)  reads %8.5f of %8.5f (%+5.1f %%)\n",
              spec.c_str(), bytes, truth.filter_bytes,
              truth.filter_bytes > 0 ? 100 * (bytes / truth.filter_bytes - 1) : 0, reads,
              truth.reads, truth.reads > 0 ? 100 * (reads / truth.reads - 1) : 0);
  EXPECT_NEAR(bytes, truth.filter_bytes, 0.1 * truth.filter_bytes);
  const double noise = 4 * std::sqrt(truth.reads / static_cast<double>(lookups));
  EXPECT_NEAR(reads, truth.reads, 0.1 * truth.reads + noise) << policy.dump(1);
}

class WhatIf : public testing::TestWithParam<Case> {};

TEST_P(WhatIf, ComesTrue) {
  const Case& c = GetParam();
  const TemporaryDirectory directory;
  const KeySet keys = MakeKeys(c);
  BuildTree(c, ConfigFor(c, c.built_with), keys, directory / "seen");
  WriteProbes(keys.missing, directory / "probes");
  const Json family =
      Predicted(directory / "seen", c.specs,
                c.tell_missing_keys ? "--hex --probes=" + (directory / "probes") : "");
  ASSERT_EQ(family["policies"].size(), c.specs.size());
  for (size_t i = 0; i < c.specs.size(); i++) {
    SCOPED_TRACE(c.specs[i]);
    const std::string path = directory / ("built" + std::to_string(i));
    const DbConfig config = ConfigFor(c, c.specs[i]);
    BuildTree(c, config, keys, path);
    const Truth truth = MeasureTree(config, keys, path);
    ExpectTrue(c.specs[i], family["policies"][i], truth, keys.missing.size());
  }
  // What it says of the filters that are there is true as well.
  const DbConfig config = ConfigFor(c, c.built_with);
  const Truth now = MeasureTree(config, keys, directory / "seen");
  EXPECT_EQ(family["now"]["filter_bytes"].get<double>(), now.filter_bytes);
  ExpectTrue("now", family["now"], now, keys.missing.size());
}

// A tree as it grows by itself, with old versions and deletions; each file is then rewritten at its
// level in a copy of the database. Level 0 is empty, since its files cannot be rewritten alone.
TEST(WhatIfOfALivingTree, ComesTrue) {
  const TemporaryDirectory directory;
  const auto config_for = [](const std::string& spec) {
    DbConfig config(AnyPolicy(spec));
    config.options.listeners = {NewListener()};
    config.options.write_buffer_size = 64 << 10;
    config.options.target_file_size_base = 64 << 10;
    config.options.max_bytes_for_level_base = 128 << 10;
    config.options.max_bytes_for_level_multiplier = 4;
    config.options.level_compaction_dynamic_level_bytes = false;
    config.options.level0_file_num_compaction_trigger = 1;
    return config;
  };
  KeySet keys;
  for (uint64_t i = 0; i < 60000; i++) {
    keys.present.push_back(PresentKey(i));
    if (i < kMany.missing) keys.missing.push_back(MissingKey(i * 60000 / kMany.missing));
  }
  {
    DbConfig config = config_for("bloomfilter:10:false");
    config.options.disable_auto_compactions = false;
    const DbPtr db = Open(config.Build(), directory / "seen");
    Random random = SeededRandom(31);
    for (int i = 0; i < 90000; i++) {
      const std::string& key = keys.present[random() % keys.present.size()];
      const bool deleted = random() % 10 == 0;
      Must(deleted ? db->Delete(rocksdb::WriteOptions(), key)
                   : db->Put(rocksdb::WriteOptions(), key, std::string(20, 'v')));
      // The same tree however busy the machine is.
      if (i % 1000 != 999) continue;
      Flush(db.get());
      WaitForCompactions(db.get());
    }
  }
  const std::vector<std::string> specs = {"bloomfilter:8:false", "ribbonfilter:7",
                                          "rocksieve.ribbon:6", "rocksieve.auto:6"};
  const Json family = Predicted(directory / "seen", specs);
  ASSERT_GE(family["now"]["levels"].size(), 3u);
  ASSERT_NE(family["now"]["levels"][0]["level"], 0);
  for (size_t i = 0; i < specs.size(); i++) {
    SCOPED_TRACE(specs[i]);
    const std::string path = directory / ("rewritten" + std::to_string(i));
    std::filesystem::copy(directory / "seen", path);
    const DbConfig config = config_for(specs[i]);
    {
      const DbPtr db = Open(config.Build(), path);
      const int rounds = IsAuto(config.table.filter_policy) ? 3 : 1;
      for (int round = 0; round < rounds; round++) RewriteFiles(db.get());
    }
    ExpectTrue(specs[i], family["policies"][i], MeasureTree(config, keys, path),
               keys.missing.size());
  }
}

const std::vector<std::string> kAllSpecs = {"none",
                                            "bloomfilter:10:false",
                                            "bloomfilter:5.5:false",
                                            "ribbonfilter:8",
                                            "ribbonfilter:8:-1",
                                            "ribbonfilter:7:3",
                                            "rocksieve.bloom:8",
                                            "rocksieve.bloom:2%",
                                            "rocksieve.cuckoo:8.5",
                                            "rocksieve.ribbon:6",
                                            "rocksieve.ribbon:6.4:thorough:salted"};
const std::vector<std::string> kFewSpecs = {"bloomfilter:8:false", "ribbonfilter:7",
                                            "rocksieve.bloom:8", "rocksieve.ribbon:6"};
// So few bits that enough lookups pass to be counted.
const std::vector<std::string> kAutoSpecs = {"rocksieve.auto:6", "rocksieve.auto:4:bloom",
                                             "bloomfilter:8:false"};

// Each level has as many keys as the next one over the ratio.
const std::vector<LevelPart> kRatio10 = {{4, 0.9, 8}, {3, 0.09, 2}, {2, 0.009, 1}, {0, 0.001, 1}};
const std::vector<LevelPart> kRatio4 = {
    {5, 0.75, 7}, {4, 0.19, 4}, {3, 0.045, 2}, {2, 0.012, 1}, {0, 0.003, 2}};

template <uint64_t bytes>
void Partitioned(DbConfig* config) {
  config->Partitioned(bytes);
}
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
void Decoupled(DbConfig* config) {
  config->Partitioned(1024);
  config->table.decouple_partitioned_filters = true;
}
#endif
void PrefixAndWhole(DbConfig* config) {
  config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
}
void PrefixOnly(DbConfig* config) {
  config->table.whole_key_filtering = false;
  config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(13));
}

const Case kCases[] = {
    {"Grown", kAllSpecs, "none", [](DbConfig*) {}, Binary, kGrownTree, 40, kMany},
    {"Auto", kAutoSpecs, "none", [](DbConfig*) {}, Binary, kGrownTree, 40, kMany},
    {"AutoRatio10", kAutoSpecs, "bloomfilter:10:false", [](DbConfig*) {}, Uuid, kRatio10, 40,
     kMany},
    {"AutoRatio4", kAutoSpecs, "none", [](DbConfig*) {}, Path, kRatio4, 40, kMany},
    {"AutoPartitioned", kAutoSpecs, "none", Partitioned<2048>, Binary, kGrownTree, 40, kMany},
    {"AutoPrefixAndWhole", kAutoSpecs, "bloomfilter:10:false", PrefixAndWhole, Decimal, kGrownTree,
     40, kMany},
    {"GrownFromBloom", kFewSpecs, "bloomfilter:10:false"},
    {"Ratio10", kFewSpecs, "none", [](DbConfig*) {}, Uuid, kRatio10},
    {"Ratio4", kFewSpecs, "rocksieve.ribbon:10", [](DbConfig*) {}, Path, kRatio4},
    {"Universal",
     kFewSpecs,
     "none",
     [](DbConfig* config) {
       config->options.compaction_style = rocksdb::kCompactionStyleUniversal;
     },
     Decimal,
     {{0, 1, 7}}},
    {"Fifo",
     kFewSpecs,
     "none",
     [](DbConfig* config) {
       config->options.compaction_style = rocksdb::kCompactionStyleFIFO;
       config->options.num_levels = 1;
     },
     Binary,
     {{0, 1, 5}}},
    {"OneRun", kFewSpecs, "none", [](DbConfig*) {}, Uuid, {{5, 1, 5}}},
    {"Partitioned4096", kFewSpecs, "none", Partitioned<4096>},
    {"Partitioned512", kFewSpecs, "bloomfilter:10:false", Partitioned<512>, Uuid},
    {"Partitioned1024LargeValues", kFewSpecs, "none", Partitioned<1024>, Uuid, kGrownTree, 500},
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
    {"PartitionedDecoupled", kFewSpecs, "none", Decoupled, Uuid},
#endif
    {"PrefixAndWhole", kFewSpecs, "none", PrefixAndWhole, Decimal},
    {"PrefixAndWholePaths", kFewSpecs, "bloomfilter:10:false", PrefixAndWhole, Path},
    {"PrefixOnly", kFewSpecs, "none", PrefixOnly, Decimal, kGrownTree, 40, kMany, true},
    {"PrefixOnlyFiltered", kFewSpecs, "bloomfilter:10:false", PrefixOnly, Decimal, kGrownTree, 40,
     kMany, true},
    {"FiltersForHits", kFewSpecs, "none",
     [](DbConfig* config) { config->options.optimize_filters_for_hits = true; }},
    {"LegacyBloom", kFewSpecs, "bloomfilter:10:false",
     [](DbConfig* config) { config->table.format_version = 4; }, Uuid},
    {"SmallFiles",
     kFewSpecs,
     "none",
     [](DbConfig*) {},
     Binary,
     {{3, 0.8, 40}, {2, 0.15, 10}, {0, 0.05, 5}},
     40,
     {6000, 12000}},
    {"ReverseOrder", kFewSpecs, "none",
     [](DbConfig* config) { config->options.comparator = rocksdb::ReverseBytewiseComparator(); },
     Uuid},
};

INSTANTIATE_TEST_SUITE_P(Trees, WhatIf, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace rocksieve
