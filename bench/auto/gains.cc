// SPDX-License-Identifier: Apache-2.0
// auto_gains: what rocksieve.auto saves in real trees, beside uniform filters of RocksDB that take
// the same memory, or beside the families of rocksieve alone.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <CLI/CLI.hpp>

#include "bench/auto/tree.h"
#include "bench/clock.h"
#include "lib/filter/builder.h"
#include "lib/filter/family.h"
#include "plugin/tables/decoded_filter.h"

namespace rocksieve::bench {
namespace {

struct Flags {
  bool smoke = false, check = false, no_listener = false, own = false;
  double scale = 0;
  uint64_t lookups = 0;
  std::vector<double> budgets;
  std::vector<std::string> trees;
  std::string json, work_dir;
};

// How many of so many keys are there, of all below `numbers` in an order without pattern.
uint64_t Ask(rocksdb::DB* db, std::string (*key_of)(uint64_t), uint64_t numbers, uint64_t count,
             bool fill_cache) {
  constexpr uint64_t kStride = 7919;  // a prime
  rocksdb::ReadOptions read;
  read.fill_cache = fill_cache;
  std::string value;
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (db->Get(read, key_of(i * kStride % numbers), &value).ok()) found++;
  }
  return found;
}

// Of 1,000 lookups, beyond the block that a present key is in. Blocks are not kept, so that each
// one needed counts as a read.
double UselessReads(const Tree& tree, std::string (*key_of)(uint64_t), bool present,
                    uint64_t count) {
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  const uint64_t before = DataReads(), expected = present ? count : 0;
  if (Ask(tree.db.get(), key_of, tree.keys, count, /*fill_cache=*/false) != expected) {
    throw std::runtime_error("a policy answers wrongly");
  }
  return 1000 * (static_cast<double>(DataReads() - before) - static_cast<double>(expected)) /
         static_cast<double>(count);
}

// Nanoseconds per lookup of a missing key with everything in memory, the median of some rounds.
double TimeMissing(const Tree& tree) {
  constexpr uint64_t kTimed = 40000;
  rocksdb::SetPerfLevel(rocksdb::kDisable);
  std::vector<double> rounds;
  for (int round = 0; round < 6; round++) {
    const double start = WallClock::Nanoseconds();
    Ask(tree.db.get(), MissingKey, tree.keys, kTimed, /*fill_cache=*/true);
    rounds.push_back((WallClock::Nanoseconds() - start) / static_cast<double>(kTimed));
  }
  rounds.erase(rounds.begin());  // it has filled the cache
  return MedianOf(rounds);
}

// The least argument, but for 1e-4, with which filters of so many keys take so many bits per key.
template <typename BytesOf>
double SettingFor(double bits, uint64_t keys, double too_few, double enough, BytesOf bytes_of) {
  while (enough - too_few > 1e-4) {
    const double middle = (too_few + enough) / 2;
    (8 * bytes_of(middle) / static_cast<double>(keys) < bits ? too_few : enough) = middle;
  }
  return enough;
}

// One row: what a policy reads, beside others.
class Gain {
 public:
  Gain(const Shape& shape, double budget, const Flags& flags, std::string directory, Report* report)
      : shape_(shape), flags_(flags), directory_(std::move(directory)), report_(report) {
    const std::string spec = "rocksieve.auto:" + Shortest(budget);
    const nlohmann::json automatic = Measure(spec, PolicyFor(spec), !flags.no_listener);
    row_ = {
        {"tree", shape.description}, {"budget", budget}, {"keys", shape.keys}, {"auto", automatic}};
    keys_per_file_ = automatic["entries"].get<uint64_t>() /
                     std::max<uint64_t>(automatic["files"].get<uint64_t>(), 1);
    if (flags.own) {
      MeasureOwn(budget);
    } else {
      MeasureBuiltIn(automatic["bits_per_entry"].get<double>());
    }
  }

  const nlohmann::json& row() const { return row_; }

  // What the documentation promises at 10 bits; and beside families of ours, with room for the
  // noise of some 10,000 reads.
  bool IsAsPromised() const {
    if (flags_.own) return row_["best"]["ratio"].get<double>() <= 1.04;
    return row_["budget"] != 10 || (row_["bloom"]["ratio"].get<double>() <= shape_.most_of_bloom &&
                                    row_["ribbon"]["ratio"].get<double>() <= shape_.most_of_ribbon);
  }

 private:
  nlohmann::json Measure(const std::string& name, const PolicyPtr& policy, bool listener) {
    const std::string path = directory_ + "/db";
    report_->Begin(shape_.description + ", " + name + ": writing", shape_.keys);
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = policy;
    table.block_cache = rocksdb::NewLRUCache(1 << 30);
    const Tree tree = BuildTree(shape_, OptionsFor(shape_, table, listener), path, report_);
    report_->Begin(shape_.description + ", " + name + ": asking");
    const Memory memory = MemoryOf(tree.db.get());
    const uint64_t lookups = flags_.lookups;
    return {{"policy", name},
            {"entries", memory.entries},
            {"files", memory.files},
            {"filter_bytes", memory.filter_bytes},
            {"bits_per_entry", memory.bits()},
            {"files_per_level", ShapeOf(tree.db.get())},
            {"lookups", lookups},
            {"missing", UselessReads(tree, MissingKey, false, lookups)},
            {"missing_in_a_sixteenth", UselessReads(tree, NarrowMissingKey, false, lookups / 4)},
            {"present", UselessReads(tree, PresentKey, true, lookups / 4)},
            {"in_memory_ns", TimeMissing(tree)}};
  }

  void Add(const char* name, const nlohmann::json& measured) {
    row_[name] = measured;
    row_[name]["ratio"] = row_["auto"]["missing"].get<double>() / measured["missing"].get<double>();
  }

  void MeasureBuiltIn(double bits) {
    const auto setting = [&](BuiltinFilter (*filter_of)(uint64_t, double)) {
      return SettingFor(bits, keys_per_file_, 1, 60,
                        [&](double amount) { return filter_of(keys_per_file_, amount).bytes; });
    };
    Add("bloom", Measure("uniform Bloom",
                         PolicyPtr(rocksdb::NewBloomFilterPolicy(setting(BuiltinBloom))), false));
    Add("ribbon",
        Measure("uniform Ribbon",
                PolicyPtr(rocksdb::NewRibbonFilterPolicy(setting(BuiltinRibbon), -1)), false));
  }

  void MeasureOwn(double budget) {
    constexpr double kRangeKeysBytes = 32;  // of the tree's keys
    for (const FamilyEntry* family : HashedFamilies()) {
      FilterSpec spec;
      spec.family = family->family;
      spec.amount = SettingFor(
          budget, keys_per_file_, family->min_bits_per_key, family->max_bits_per_key,
          [&](double amount) {
            spec.amount = amount;
            return static_cast<double>(EstimateBlockBytes(spec, keys_per_file_)) + kRangeKeysBytes;
          });
      const nlohmann::json own = Measure(spec.ToString(), PolicyFor(spec.ToString()), false);
      row_["families"].push_back(own);
      if (!row_.contains("best") || own["missing"] < row_["best"]["missing"]) Add("best", own);
    }
  }

  const Shape& shape_;
  const Flags& flags_;
  const std::string directory_;
  Report* const report_;
  uint64_t keys_per_file_ = 0;
  nlohmann::json row_;
};

Table EmptyTable(bool own) {
  using Kind = Column::Kind;
  Table table;
  table.name = "gains";
  table.title = "GAINS";
  table.explanation =
      "False-positive reads of data blocks of 1,000 lookups, in as much memory; the ratio is "
      "auto's over that of the others, for absent keys.";
  table.columns = {{"tree", "", "tree", Kind::kText},
                   {"budget", "", "budget", Kind::kFixed, 1},
                   {"/auto/bits_per_entry", "bits per", "entry", Kind::kFixed, own ? 3 : 2},
                   {"/auto/missing", "absent:", "auto", Kind::kFixed, 3}};
  const auto add = [&](std::initializer_list<Column> columns) {
    table.columns.insert(table.columns.end(), columns);
  };
  if (own) {
    add({{"/best/policy", "best alone,", "in the budget", Kind::kText},
         {"/best/bits_per_entry", "bits per", "entry", Kind::kFixed, 3},
         {"/best/missing", "", "absent", Kind::kFixed, 3},
         {"/best/ratio", "", "ratio", Kind::kFixed, 3}});
  } else {
    add({{"/bloom/missing", "", "Bloom", Kind::kFixed, 3},
         {"/ribbon/missing", "", "Ribbon", Kind::kFixed, 3},
         {"/bloom/ratio", "ratio to", "Bloom", Kind::kFixed, 3},
         {"/ribbon/ratio", "", "Ribbon", Kind::kFixed, 3},
         {"/auto/present", "present:", "auto", Kind::kFixed, 3},
         {"/bloom/present", "", "Bloom", Kind::kFixed, 3},
         {"/ribbon/present", "", "Ribbon", Kind::kFixed, 3},
         {"/auto/in_memory_ns", "absent, ns", "auto", Kind::kFixed, 0},
         {"/bloom/in_memory_ns", "", "Bloom", Kind::kFixed, 0},
         {"/ribbon/in_memory_ns", "", "Ribbon", Kind::kFixed, 0}});
  }
  return table;
}

int Measure(const Flags& flags) {
  Report report("bench auto", flags.json);
  const InterruptGuard guard;
  const std::unique_ptr<WorkDir> work = NewWorkDir(flags.work_dir, "auto_gains");
  Table table = EmptyTable(flags.own);
  bool as_promised = true;
  for (const Shape& shape : Shapes(flags.scale)) {
    if (!Wants(flags.trees, shape.name)) continue;
    for (const double budget : flags.budgets) {
      const Gain gain(shape, budget, flags, work->path().string(), &report);
      table.rows.push_back(gain.row());
      as_promised = as_promised && gain.IsAsPromised();
    }
  }
  if (flags.check && !as_promised) report.Fail("a gain is smaller than promised");
  report.Add(table);
  return report.Finish();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Useless data-block reads of rocksieve.auto beside uniform Bloom and Ribbon filters of\n"
      "RocksDB that take the same memory, on trees of the same keys and operations, by RocksDB's\n"
      "own counters.\n",
      "bench auto");
  app.add_flag("--smoke", flags.smoke, "tiny trees, only to see that it works");
  app.add_flag("--check", flags.check, "exit with 1 if a gain at 10 bits is not as promised");
  app.add_option("--trees", flags.trees,
                 "only these: ratio_10_live, ratio_10, ratio_4_live, ratio_4, universal, one_run")
      ->delimiter(',');
  app.add_option("--bits", flags.budgets, "budgets, bits per live entry [10]")->delimiter(',');
  app.add_flag("--no-listener", flags.no_listener, "by the policy's own history");
  app.add_flag("--own", flags.own,
               "beside each family of rocksieve alone, in the memory of the budget");
  app.add_option("--scale", flags.scale, "times the usual 300,000 to 900,000 keys [1]");
  app.add_option("--lookups", flags.lookups, "of missing keys per tree [1000000]");
  app.add_option("--json", flags.json, "write all figures to FILE");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: ./run bench auto --trees=ratio_10_live,one_run --bits=8,10,12");
  CLI11_PARSE(app, argc, argv);
  if (flags.budgets.empty()) flags.budgets = {10};
  if (flags.scale == 0) flags.scale = flags.smoke ? 0.02 : 1;
  if (flags.lookups == 0) flags.lookups = flags.smoke ? 5000 : 1000000;
  return Measure(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench auto", rocksieve::bench::Main, argc, argv);
}
