// `rocksieve whatif` beside what comes true: the same tree, built with the policy that it was asked
// about, has as many bytes of filters, and lookups of missing keys read as many blocks.
#include <cmath>
#include <fstream>
#include <ostream>

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/listener.h>

#include "command.h"
#include "database.h"
#include "grown_tree.h"

namespace rocksieve {
namespace {

using Json = nlohmann::json;
using KeyMaker = std::function<std::string(Random*)>;

constexpr uint64_t kKeys = 30000, kMissing = 25000;

// RocksDB's own policies from their options' words, ours by our function.
PolicyPtr AnyPolicy(const std::string& spec) {
  if (spec == "none") return nullptr;
  if (spec.rfind("rocksieve", 0) == 0) return PolicyFor(spec);
  PolicyPtr policy;
  Must(rocksdb::FilterPolicy::CreateFromString(rocksdb::ConfigOptions(), spec, &policy));
  return policy;
}

std::string Binary(Random* random) { return RandomBytes(16, random); }
std::string EvenDecimal(Random* random) { return NumberedKey((*random)() % 300000); }

struct Case {
  const char* name;
  std::vector<std::string> specs;
  std::string built_with = "none";  // the policy of the tree that whatif sees
  std::function<void(DbConfig*)> adjust = [](DbConfig*) {};
  KeyMaker make_key = Binary;
  std::vector<LevelPart> parts = kGrownTree;
  size_t value_bytes = 40;
  uint64_t keys = kKeys;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

KeySet MakeKeys(const Case& c) {
  Random random = SeededRandom(29);
  std::vector<std::string> keys;
  while (keys.size() < 2 * (c.keys + kMissing)) keys.push_back(c.make_key(&random));
  KeySet set = SplitKeys(std::move(keys), c.keys, &random);
  set.missing.resize(std::min<size_t>(set.missing.size(), kMissing));
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

Truth MeasureTree(const DbConfig& from, const KeySet& keys, const std::string& path) {
  DbConfig config = from;
  config.table.no_block_cache = !config.table.partition_filters;
  const DbPtr db = OpenReadOnly(config.Build(), path);
  // Opens files and loads partitions, which count as reads too.
  LookUp(db.get(),
         config.table.partition_filters
             ? keys.missing
             : std::vector<std::string>(keys.missing.begin(), keys.missing.begin() + 1000));
  const LookupCost cost = LookUp(db.get(), keys.missing);
  EXPECT_EQ(cost.found, 0u);
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

class WhatIf : public testing::TestWithParam<Case> {};

TEST_P(WhatIf, ComesTrue) {
  const Case& c = GetParam();
  const TemporaryDirectory directory;
  const KeySet keys = MakeKeys(c);
  BuildTree(c, ConfigFor(c, c.built_with), keys, directory / "seen");
  const Json family = Predicted(directory / "seen", c.specs);
  ASSERT_EQ(family["policies"].size(), c.specs.size());
  for (size_t i = 0; i < c.specs.size(); i++) {
    SCOPED_TRACE(c.specs[i]);
    const std::string path = directory / ("built" + std::to_string(i));
    const DbConfig config = ConfigFor(c, c.specs[i]);
    BuildTree(c, config, keys, path);
    const Truth truth = MeasureTree(config, keys, path);
    const Json& policy = family["policies"][i];
    const auto bytes = policy["filter_bytes"].get<double>();
    const auto reads = policy["expected_useless_reads_per_missing_lookup"].get<double>();
    std::printf("%-28s bytes %9.0f of %9.0f (%+5.1f %%)  reads %8.5f of %8.5f (%+5.1f %%)\n",
                c.specs[i].c_str(), bytes, truth.filter_bytes,
                truth.filter_bytes > 0 ? 100 * (bytes / truth.filter_bytes - 1) : 0, reads,
                truth.reads, truth.reads > 0 ? 100 * (reads / truth.reads - 1) : 0);
    EXPECT_NEAR(bytes, truth.filter_bytes, 0.1 * truth.filter_bytes);
    // And four standard deviations of what was counted.
    const double noise = 4 * std::sqrt(truth.reads / static_cast<double>(keys.missing.size()));
    EXPECT_NEAR(reads, truth.reads, 0.1 * truth.reads + noise) << policy.dump(1);
  }
  // What it says of the filters that are there is true as well.
  const DbConfig config = ConfigFor(c, c.built_with);
  const Truth now = MeasureTree(config, keys, directory / "seen");
  EXPECT_EQ(family["now"]["filter_bytes"].get<double>(), now.filter_bytes);
  EXPECT_NEAR(family["now"]["expected_useless_reads_per_missing_lookup"].get<double>(), now.reads,
              0.1 * now.reads + 4 * std::sqrt(now.reads / static_cast<double>(kMissing)));
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
void PrefixAndWhole(DbConfig* config) {
  config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
}
void PrefixOnly(DbConfig* config) {
  config->table.whole_key_filtering = false;
  config->options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(13));
}

const Case kCases[] = {
    {"Grown", kAllSpecs},
    {"Auto", kAutoSpecs},
    {"AutoRatio10", kAutoSpecs, "bloomfilter:10:false", [](DbConfig*) {}, Uuid, kRatio10},
    {"AutoRatio4", kAutoSpecs, "none", [](DbConfig*) {}, Path, kRatio4},
    {"AutoPartitioned", kAutoSpecs, "none", Partitioned<2048>},
    {"AutoPrefixAndWhole", kAutoSpecs, "bloomfilter:10:false", PrefixAndWhole, EvenDecimal},
    {"GrownFromBloom", kFewSpecs, "bloomfilter:10:false"},
    {"Ratio10", kFewSpecs, "none", [](DbConfig*) {}, Uuid, kRatio10},
    {"Ratio4", kFewSpecs, "rocksieve.ribbon:10", [](DbConfig*) {}, Path, kRatio4},
    {"Universal",
     kFewSpecs,
     "none",
     [](DbConfig* config) {
       config->options.compaction_style = rocksdb::kCompactionStyleUniversal;
     },
     EvenDecimal,
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
    {"PrefixAndWhole", kFewSpecs, "none", PrefixAndWhole, EvenDecimal},
    {"PrefixAndWholePaths", kFewSpecs, "bloomfilter:10:false", PrefixAndWhole, Path},
    {"PrefixOnly", kFewSpecs, "none", PrefixOnly, EvenDecimal},
    {"PrefixOnlyFiltered", kFewSpecs, "bloomfilter:10:false", PrefixOnly, EvenDecimal},
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
     6000},
    {"ReverseOrder", kFewSpecs, "none",
     [](DbConfig* config) { config->options.comparator = rocksdb::ReverseBytewiseComparator(); },
     Uuid},
};

INSTANTIATE_TEST_SUITE_P(Trees, WhatIf, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace rocksieve
