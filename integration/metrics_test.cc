// SPDX-License-Identifier: Apache-2.0
// What GetFilterStats and PrometheusText say, beside what RocksDB says of the same files.
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <rocksdb/listener.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksieve/metrics.h>

#include "integration/exposition.h"
#include "integration/sst_file.h"
#include "integration/tree.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

// What RocksDB reports of the table files that it creates, by level: a compaction announces its
// output level before it creates its files.
class CreatedFiles final : public rocksdb::EventListener {
 public:
  struct Totals {
    uint64_t files = 0, keys = 0, bytes = 0;
  };

  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override {
    std::lock_guard<std::mutex> lock(mutex_);
    output_level_[job.job_id] = job.output_level;
  }
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& file) override {
    if (!file.status.ok() || file.table_properties.filter_size == 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    const bool compacted = file.reason == rocksdb::TableFileCreationReason::kCompaction;
    Totals& totals = by_level_[compacted ? output_level_.at(file.job_id) : 0];
    totals.files++;
    totals.keys += file.table_properties.num_filter_entries;
    totals.bytes += file.table_properties.filter_size;
  }

  std::map<int, Totals> by_level() {
    std::lock_guard<std::mutex> lock(mutex_);
    return by_level_;
  }

 private:
  std::mutex mutex_;
  std::map<int, int> output_level_;  // by job
  std::map<int, Totals> by_level_;
};

void WriteRandomKeys(rocksdb::DB* db, uint64_t seed, uint64_t count) {
  Random random = SeededRandom(seed);
  for (uint64_t i = 0; i < count; i++) {
    Must(db->Put(rocksdb::WriteOptions(), PresentKey(random() % 1000000), std::string(20, 'v')));
  }
}

// Compactions in several threads, into as many levels as so few keys can fill.
DbConfig ManyLevels(std::string_view spec) {
  DbConfig config(spec);
  config.options.disable_auto_compactions = false;
  config.options.max_background_jobs = 4;
  config.options.max_subcompactions = 2;
  config.options.write_buffer_size = 64 << 10;
  config.options.target_file_size_base = 64 << 10;
  config.options.max_bytes_for_level_base = 128 << 10;
  config.options.max_bytes_for_level_multiplier = 4;
  config.options.level_compaction_dynamic_level_bytes = false;
  return config;
}

struct Case {
  const char* name;
  const char* spec;
  const char* family;
  uint64_t partition_bytes;  // 0: one filter per file
  size_t prefix_bytes;       // 0: whole keys only
};

class BuiltByLevel : public testing::TestWithParam<Case> {};

TEST_P(BuiltByLevel, AgreesWithRocksDb) {
  const TemporaryDirectory directory;
  DbConfig config = ManyLevels(GetParam().spec);
  const auto created = std::make_shared<CreatedFiles>();
  config.options.listeners = {created};
  if (GetParam().partition_bytes != 0) config.Partitioned(GetParam().partition_bytes);
  if (GetParam().prefix_bytes != 0) {
    config.options.prefix_extractor.reset(
        rocksdb::NewFixedPrefixTransform(GetParam().prefix_bytes));
  }
  const DbPtr db = Open(config.Build(), directory / "db");
  InThreads(2, [&](int i) { WriteRandomKeys(db.get(), i + 1, 30000); });
  Flush(db.get());
  WaitForCompactions(db.get());
  Must(db->Close());

  const FilterStats stats = StatsOf(config.table.filter_policy);
  const auto expected = created->by_level();
  ASSERT_GE(expected.size(), 3u) << "the tree has too few levels to tell them apart";
  EXPECT_EQ(stats.built.size(), expected.size());
  uint64_t filters = 0, keys = 0, bytes = 0;
  for (const FiltersBuilt& built : stats.built) {
    SCOPED_TRACE("level " + std::to_string(built.level));
    ASSERT_EQ(expected.count(built.level), 1u);
    const CreatedFiles::Totals& files = expected.at(built.level);
    EXPECT_EQ(built.family, GetParam().family);
    EXPECT_EQ(built.keys, files.keys);
    EXPECT_GT(built.build_seconds, 0);
    EXPECT_LT(built.build_seconds, 60);
    if (GetParam().partition_bytes == 0) {
      EXPECT_EQ(built.filters, files.files);
      EXPECT_EQ(built.bytes, files.bytes);
    } else {
      EXPECT_GT(built.filters, 2 * files.files);
      // RocksDB adds the index of the partitions: a key and a few bytes for each.
      EXPECT_LT(built.bytes, files.bytes);
      EXPECT_GT(built.bytes + 40 * built.filters, files.bytes);
    }
    filters += built.filters;
    keys += built.keys;
    bytes += built.bytes;
  }
  EXPECT_EQ(stats.filters_built, filters);
  EXPECT_EQ(stats.keys_added, keys);
  EXPECT_EQ(stats.bytes_built, bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, BuiltByLevel,
    testing::Values(Case{"Bloom", "rocksieve.bloom:10", "bloom", 0, 0},
                    Case{"Cuckoo", "rocksieve.cuckoo:12", "cuckoo", 0, 9},
                    Case{"Ribbon", "rocksieve.ribbon:8", "ribbon", 0, 0},
                    Case{"RibbonPartitioned", "rocksieve.ribbon:8", "ribbon", 512, 0},
                    Case{"BloomPartitionedPrefixes", "rocksieve.bloom:10", "bloom", 512, 9}),
    [](const auto& tested) { return std::string(tested.param.name); });

std::map<std::string, ExposedMetric> Exposed(const std::vector<MetricsSource>& sources) {
  std::string text;
  Must(PrometheusText(sources, &text));
  return ExpositionReader::Read(text);
}

TEST(FiltersBuilt, SayUnknownForWhatSstFileWriterBuilds) {
  const TemporaryDirectory directory;
  const DbConfig config("rocksieve.bloom:10");
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), config.Build());
  Must(writer.Open(directory / "file.sst"));
  for (uint64_t i = 0; i < 100; i++) Must(writer.Put(PresentKey(i), "value"));
  Must(writer.Finish());
  const FilterStats stats = StatsOf(config.table.filter_policy);
  ASSERT_EQ(stats.built.size(), 1u);
  EXPECT_EQ(stats.built[0].level, -1);
  EXPECT_EQ(stats.built[0].keys, 100u);
  auto metrics = Exposed({{config.table.filter_policy.get(), nullptr, {}}});
  const Labels labels{{"family", "bloom"}, {"level", "unknown"}};
  EXPECT_EQ(metrics["rocksieve_filters_built_total"].samples.at(labels), 1);
}

// Two databases on one policy, each with statistics of its own.
TEST(PrometheusText, HasEveryCount) {
  const TemporaryDirectory directory;
  DbConfig config("rocksieve.ribbon:6");
  const std::string odd_name = "a \"quoted\\\" name\nin two lines";
  std::vector<MetricsSource> sources = {{config.table.filter_policy.get(), nullptr, {}}};
  std::vector<std::shared_ptr<rocksdb::Statistics>> statistics;
  for (const std::string& name : {std::string("users"), odd_name}) {
    config.options.statistics = rocksdb::CreateDBStatistics();
    statistics.push_back(config.options.statistics);
    const DbPtr db = Open(config.Build(), directory / std::to_string(statistics.size()));
    WriteOverlappingFiles(db.get(), 3000, 2);
    Compact(db.get());
    LookUp(db.get(), MissingKeys(1000 * statistics.size()));
    LookUp(db.get(), {PresentKey(1), PresentKey(2)});
    sources.push_back({nullptr, statistics.back().get(), {{"db", name}}});
  }
  const std::string block(100, 'x');
  const std::string damaged = std::string(kHeadMagic) + block + std::string(kTail);
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(
      config.table.filter_policy->GetFilterBitsReader(damaged));

  auto metrics = Exposed(sources);
  const FilterStats stats = StatsOf(config.table.filter_policy);
  ASSERT_EQ(stats.built.size(), 2u);  // flushed, and compacted to the last level
  for (const FiltersBuilt& built : stats.built) {
    const Labels labels{{"family", "ribbon"}, {"level", std::to_string(built.level)}};
    const auto value = [&](const std::string& name) { return metrics[name].samples.at(labels); };
    EXPECT_EQ(value("rocksieve_filters_built_total"), static_cast<double>(built.filters));
    EXPECT_EQ(value("rocksieve_filter_keys_total"), static_cast<double>(built.keys));
    EXPECT_EQ(value("rocksieve_filter_bytes_total"), static_cast<double>(built.bytes));
    EXPECT_EQ(value("rocksieve_filter_build_seconds_total"), built.build_seconds);
  }
  const auto plain = [&](const std::string& name) { return metrics[name].samples.at({}); };
  EXPECT_EQ(plain("rocksieve_filters_opened_total"), static_cast<double>(stats.filters_opened));
  EXPECT_EQ(plain("rocksieve_damaged_filters_total"), 1);
  EXPECT_EQ(plain("rocksieve_future_filters_total"), 0);
  EXPECT_EQ(plain("rocksieve_incomplete_filters_built_total"), 0);
  EXPECT_EQ(metrics["rocksieve_policy_info"].samples.at({{"spec", "rocksieve.ribbon:6"}}), 1);
  EXPECT_EQ(plain("rocksieve_range_seeks_total"), 0);
  EXPECT_EQ(metrics["rocksieve_range_unanswered_total"].samples.size(), 3u);

  for (size_t i = 0; i < statistics.size(); i++) {
    const Labels labels{{"db", i == 0 ? "users" : odd_name}};
    const FilterQueries queries = GetFilterQueries(*statistics[i]);
    EXPECT_EQ(queries.negatives + queries.positives, 1000 * (i + 1) + 2);
    EXPECT_EQ(queries.true_positives, 2u);
    EXPECT_NEAR(queries.false_positive_rate(), 0.0162, 0.01);  // 2^-6 and a little
    const auto value = [&](const std::string& name) {
      return metrics["rocksieve_rocksdb_filter_" + name].samples.at(labels);
    };
    EXPECT_EQ(value("negatives_total"), static_cast<double>(queries.negatives));
    EXPECT_EQ(value("positives_total"), static_cast<double>(queries.positives));
    EXPECT_EQ(value("true_positives_total"), static_cast<double>(queries.true_positives));
  }
  for (const auto& [name, metric] : metrics) {
    EXPECT_EQ(name.rfind("rocksieve_", 0), 0u) << name;
    EXPECT_EQ(metric.type, name == "rocksieve_policy_info" ? "gauge" : "counter") << name;
    EXPECT_GT(metric.help.size(), 10u) << name;
  }
}

TEST(PrometheusText, RefusesWhatPrometheusWould) {
  const PolicyPtr ours = PolicyFor("rocksieve.bloom:10"),
                  also_ours = PolicyFor("rocksieve.ribbon:8");
  const PolicyPtr builtin(rocksdb::NewBloomFilterPolicy(10));
  const auto statistics = rocksdb::CreateDBStatistics();
  const auto refused = [](const std::vector<MetricsSource>& sources, const std::string& says) {
    std::string text = "untouched";
    const rocksdb::Status status = PrometheusText(sources, &text);
    EXPECT_TRUE(status.IsInvalidArgument());
    EXPECT_NE(status.ToString().find(says), std::string::npos) << status.ToString();
    EXPECT_EQ(text, "untouched");
  };
  refused({{}}, "neither");
  refused({{builtin.get(), nullptr, {}}}, "made by rocksieve");
  refused({{ours.get(), nullptr, {{"family", "x"}}}}, "\"family\"");
  refused({{nullptr, statistics.get(), {{"__name__", "x"}}}}, "__name__");
  refused({{ours.get(), nullptr, {{"1st", "x"}}}}, "1st");
  refused({{ours.get(), nullptr, {{"a-b", "x"}}}}, "a-b");
  refused({{ours.get(), nullptr, {{"", "x"}}}}, "\"\"");
  refused({{ours.get(), nullptr, {}}, {also_ours.get(), nullptr, {}}}, "two sources with policies");
  refused({{nullptr, statistics.get(), {}}, {nullptr, statistics.get(), {}}},
          "two sources with statistics");
  EXPECT_EQ(Exposed({{ours.get(), statistics.get(), {{"db", "1"}}},
                     {also_ours.get(), nullptr, {{"db", "2"}}}})["rocksieve_policy_info"]
                .samples.size(),
            2u);
  EXPECT_TRUE(Exposed({}).empty());
}

TEST(PrometheusText, CanBeReadWhileFiltersAreBuilt) {
  const TemporaryDirectory directory;
  DbConfig config = ManyLevels("rocksieve.bloom:10");
  config.options.statistics = rocksdb::CreateDBStatistics();
  const DbPtr db = Open(config.Build(), directory / "db");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    WriteRandomKeys(db.get(), 3, 30000);
    done = true;
  });
  double last = 0;
  while (!done) {
    auto metrics =
        Exposed({{config.table.filter_policy.get(), config.options.statistics.get(), {}}});
    double filters = 0;
    for (const auto& [labels, value] : metrics["rocksieve_filters_built_total"].samples) {
      filters += value;
    }
    EXPECT_GE(filters, last);
    last = filters;
  }
  writer.join();
}

}  // namespace
}  // namespace rocksieve
