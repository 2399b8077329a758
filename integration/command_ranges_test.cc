// SPDX-License-Identifier: Apache-2.0
// `rocksieve explain --ranges` and `whatif --ranges` beside RocksDB's own counters: iterators over
// empty ranges read as many data blocks as they expect.
#include <cmath>
#include <fstream>

#include <rocksieve/range.h>

#include "integration/command.h"
#include "integration/database.h"
#include "integration/tree.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kKeys = 20000, kEntities = 700, kTimes = 1 << 22;

std::string Event(uint64_t entity, uint64_t time) { return BigEndian(entity) + BigEndian(time); }

// Events of every third entity, in a tree of four levels.
class CommandRanges : public testing::Test {
 protected:
  void Write(const std::string& spec, const std::function<void(DbConfig*)>& adjust = {}) {
    Random random(5);
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < kKeys; i++) {
      keys.push_back(Event(3 * (random() % kEntities), random() % kTimes));
    }
    KeySet set = SplitKeys(keys, kKeys / 2 * 19 / 10, &random);
    present_.insert(set.present.begin(), set.present.end());
    Must(ConfigureRangeFilters(spec, &config_.options, &config_.table));
    config_.options.num_levels = 5;
    if (adjust) adjust(&config_);
    const DbPtr db = Open(config_.Build(), path());
    BuildGrownTree(db.get(), set.present, 40);
  }

  Json Explained(const std::string& flags) const {
    const CommandResult result = RunCommand("explain --json --db=" + path() + " " + flags);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.Json()["column_families"][0];
  }

  // Data blocks that an iterator reads, on average, in ranges of `begins` that are empty.
  double ReadsOf(const std::vector<std::pair<std::string, std::string>>& ranges) {
    config_.table.no_block_cache = !config_.table.partition_filters;
    const DbPtr db = OpenReadOnly(config_.Build(), path());
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    double empty = 0, blocks = 0;
    for (int round = 0; round < 2; round++) {  // the first one opens files
      rocksdb::get_perf_context()->Reset();
      empty = 0;
      for (const auto& [begin, end] : ranges) {
        const auto found = present_.lower_bound(begin);
        if (found != present_.end() && *found < end) continue;
        empty++;
        const rocksdb::Slice upper(end);
        read.iterate_upper_bound = &upper;
        const std::unique_ptr<rocksdb::Iterator> keys(db->NewIterator(read));
        keys->Seek(begin);
        EXPECT_FALSE(keys->Valid());
      }
      blocks = static_cast<double>(CostSince(0).data_block_reads);
    }
    EXPECT_GT(empty, 1000);
    return blocks / empty;
  }

  std::vector<std::pair<std::string, std::string>> AfterKeys(uint64_t length) const {
    std::vector<std::pair<std::string, std::string>> ranges;
    for (const std::string& key : present_) {
      uint64_t time = 0;
      for (const char c : key.substr(8)) time = time << 8 | static_cast<uint8_t>(c);
      const std::string entity = key.substr(0, 8);
      ranges.emplace_back(entity + BigEndian(time + 1), entity + BigEndian(time + 1 + length));
    }
    return ranges;
  }

  std::string path() const { return directory_ / "db"; }

  TemporaryDirectory directory_;
  DbConfig config_{PolicyPtr()};
  std::set<std::string> present_;
};

Json KindOf(const Json& family, const std::string& kind, uint64_t length) {
  for (const Json& row : family["ranges"]) {
    if (row["kind"] == kind && row["length"] == length) return row;
  }
  ADD_FAILURE() << "no " << kind << " of " << length << " in " << family["ranges"];
  return {};
}

void ExpectReads(const Json& row, double counted, double least_slack) {
  SCOPED_TRACE(row.dump());
  const double expected = row["expected_useless_reads_per_empty_range"];
  const double slack = 5 * std::sqrt(counted / 5000) + 0.05 * counted + least_slack;
  EXPECT_NEAR(expected, counted, slack);
  EXPECT_LE(expected, row["predicted_useless_reads_per_empty_range"].get<double>() + slack);
  EXPECT_NEAR(row["useless_reads_per_empty_range_without_filters"], 6, 0.3);  // 3 levels, 3 in L0
}

TEST_F(CommandRanges, ExplainExpectsTheReadsThatRocksDbCounts) {
  Write("rocksieve.range:12:prefixes-8");
  const Json family = Explained("--ranges=1,16,256");
  ASSERT_EQ(family["ranges"].size(), 4u);
  EXPECT_TRUE(family["notes"].empty()) << family["notes"];
  for (const uint64_t length : {1, 16, 256}) {
    ExpectReads(KindOf(family, "numbers", length), ReadsOf(AfterKeys(length)), 0);
  }
  std::vector<std::pair<std::string, std::string>> entities;
  for (uint64_t i = 0; i + 3 < 3 * kEntities; i++) {
    if (i % 3 != 0) entities.emplace_back(BigEndian(i), BigEndian(i + 1));
  }
  ExpectReads(KindOf(family, "prefix", 8), ReadsOf(entities), 0.02);
  const Json& all = KindOf(family, "numbers", 16);
  double passes = 0;
  for (const Json& level : all["levels"]) passes += level["passes_per_empty_range"].get<double>();
  EXPECT_NEAR(passes, all["passes_per_empty_range"], 1e-9);
  EXPECT_EQ(all["levels"].size(), 4u);
}

TEST_F(CommandRanges, ExplainExpectsThemOfPartitions) {
  Write("rocksieve.range:14", [](DbConfig* config) { config->Partitioned(512); });
  const Json family = Explained("--ranges=16");
  ExpectReads(KindOf(family, "numbers", 16), ReadsOf(AfterKeys(16)), 0.02);
}

TEST_F(CommandRanges, ExplainSaysThatNothingIsAskedWithoutTheExtractor) {
  Write("rocksieve.range:12", [](DbConfig* config) { config->options.prefix_extractor.reset(); });
  const Json family = Explained("--ranges");
  const Json row = KindOf(family, "numbers", 16);
  EXPECT_TRUE(row["measured_pass_rate"].is_null());
  EXPECT_NEAR(row["passes_per_empty_range"], 6, 0.1);
  ASSERT_EQ(family["notes"].size(), 1u);
  EXPECT_NE(family["notes"][0].get<std::string>().find("no filter is asked for ranges"),
            std::string::npos);
  ASSERT_TRUE(Explained("")["ranges"].empty());
}

TEST_F(CommandRanges, ExplainSaysNothingOfRangesThatCannotBeMade) {
  Must(ConfigureRangeFilters("rocksieve.range:12", &config_.options, &config_.table));
  Must(Open(config_.Build(), path())->Put(rocksdb::WriteOptions(), "a", ""));
  EXPECT_TRUE(Explained("--ranges")["notes"].empty());
}

TEST_F(CommandRanges, ExplainRefusesWhatAreNoLengths) {
  for (const char* lengths :
       {"0", "a", "16,", ",16", "16;4", "-1", "1,2,3,4,5,6,7,8,9", "99999999999999999999"}) {
    const CommandResult result =
        RunCommand("explain --db=" + path() + " '--ranges=" + lengths + "'");
    EXPECT_EQ(result.exit_code, 2) << lengths;
    EXPECT_NE(result.output.find("is not a list of lengths"), std::string::npos) << result.output;
  }
}

std::string Escaped(const std::string& key) {
  std::string text;
  for (const char c : key) {
    const size_t at = std::string_view("\\\t\n\r\0", 5).find(c);
    text += at == std::string_view::npos ? std::string(1, c) : std::string("\\") + "\\tnr0"[at];
  }
  return text;
}

Json PolicyOf(const Json& ranges, const std::string& spec) {
  for (const Json& policy : ranges["policies"]) {
    if (policy["spec"] == spec) return policy;
  }
  ADD_FAILURE() << "no " << spec << " in " << ranges;
  return {};
}

TEST_F(CommandRanges, WhatIfExpectsTheReadsThatRocksDbCounts) {
  Write("rocksieve.range:12:prefixes-8");
  const auto ranges = AfterKeys(16);
  {
    std::ofstream file(directory_ / "ranges");
    for (const auto& [begin, end] : ranges) {
      file << Escaped(begin) << '\t' << Escaped(end) << '\n';
    }
  }
  const CommandResult result = RunCommand(
      "whatif --json --bits=11..12 --spec=rocksieve.range:12:prefixes-8 --spec=rocksieve.ribbon:10 "
      "--db=" +
      path() + " --ranges=" + (directory_ / "ranges"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const Json found = result.Json()["column_families"][0]["ranges"];
  SCOPED_TRACE(found.dump());
  EXPECT_EQ(found["source"], "file");
  ASSERT_EQ(found["kinds"].size(), 1u);
  EXPECT_GT(found["kinds"][0]["empty_ranges"].get<double>(),
            0.9 * static_cast<double>(ranges.size()));
  const auto reads = [&](const std::string& spec) {
    return PolicyOf(found, spec)["expected_useless_reads_per_empty_range"][0].get<double>();
  };
  const double counted = ReadsOf(ranges), slack = 5 * std::sqrt(counted / 10000) + 0.05 * counted;
  EXPECT_NEAR(reads("now"), counted, slack);
  EXPECT_NEAR(reads("rocksieve.range:12:prefixes-8"), counted, slack);
  EXPECT_NEAR(reads("none"), 6, 0.3);
  EXPECT_LT(reads("rocksieve.range:16"), reads("rocksieve.range:12") / 4);
  EXPECT_LT(reads("rocksieve.range:12"), reads("rocksieve.range:10") / 2);
}

TEST_F(CommandRanges, WhatIfMakesRangesLikeTheData) {
  Write("rocksieve.range:12:prefixes-8");
  const CommandResult result = RunCommand("whatif --json --bits=11..12 --ranges --db=" + path());
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const Json family = result.Json()["column_families"][0], &found = family["ranges"];
  const std::string advice = family["recommendation"]["reason"];
  EXPECT_NE(advice.find("It would filter ranges no more"), std::string::npos) << advice;
  SCOPED_TRACE(found.dump());
  EXPECT_EQ(found["source"], "made");
  ASSERT_EQ(found["kinds"].size(), 4u);  // three lengths, and prefixes
  const Json now = PolicyOf(found, "now")["expected_useless_reads_per_empty_range"];
  for (size_t i = 0; i < 3; i++) {
    const double counted = ReadsOf(AfterKeys(found["kinds"][i]["length"]));
    EXPECT_NEAR(now[i], counted, 5 * std::sqrt(counted / 5000) + 0.05 * counted);
  }
  EXPECT_EQ(found["kinds"][3]["kind"], "prefix");
  EXPECT_EQ(found["kinds"][3]["length"], 8);
}

TEST_F(CommandRanges, WhatIfRefusesWhatAreNoRanges) {
  const auto refused = [&](const std::string& lines) {
    std::ofstream(directory_ / "ranges") << lines;
    const CommandResult result =
        RunCommand("whatif --db=" + path() + " --ranges=" + (directory_ / "ranges"));
    EXPECT_EQ(result.exit_code, 2) << lines;
    return result.output;
  };
  EXPECT_NE(refused("a\tb\nab\n").find("line 2: it has no TAB"), std::string::npos);
  EXPECT_NE(refused("b\ta\n").find("ends where it begins, or before"), std::string::npos);
  EXPECT_NE(refused("a\\x\tb\n").find("after a backslash"), std::string::npos);
  EXPECT_NE(refused("\n").find("holds no ranges"), std::string::npos);
}

}  // namespace
}  // namespace rocksieve
