// SPDX-License-Identifier: Apache-2.0
// What it costs to hear where lookups go.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>
#include <stdexcept>

#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include "bench/auto/tree.h"
#include "bench/clock.h"
#include "lib/budget/allocation.h"
#include "lib/budget/lookup_density.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve::bench {
namespace {

constexpr size_t kMostAtOnce = 32;  // in RocksDB's own batches

class Queried {
 public:
  Queried(const std::string& spec, const std::vector<std::string>& keys)
      : policy_(PolicyFor(spec)) {
    // A policy listens in the bytewise order, of which it hears when a database is opened.
    const rocksdb::Options options;
    Must(policy_->ValidateOptions(options, options));
    const rocksdb::BlockBasedTableOptions table;
    rocksdb::FilterBuildingContext context(table);
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(context));
    for (const std::string& key : keys) builder->AddKey(key);
    reader_.reset(policy_->GetFilterBitsReader(builder->Finish(&block_)));
  }

  // Nanoseconds per query, so many `at_once`. What is found counts as such, as in RocksDB.
  double Time(const std::vector<std::string>& keys, size_t at_once) {
    std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::Slice*> pointers;
    for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
    const double start = CpuClock::Nanoseconds();
    if (at_once == 1) {
      AskSingly(slices);
    } else {
      AskAtOnce(&pointers, at_once);
    }
    return (CpuClock::Nanoseconds() - start) / static_cast<double>(keys.size());
  }

 private:
  void AskSingly(const std::vector<rocksdb::Slice>& keys) {
    rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
    for (const rocksdb::Slice& key : keys) {
      if (reader_->MayMatch(key)) perf.get_read_bytes++;
    }
  }

  void AskAtOnce(std::vector<rocksdb::Slice*>* keys, size_t at_once) {
    rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
    bool passed[kMostAtOnce];
    for (size_t begin = 0; begin + at_once <= keys->size(); begin += at_once) {
      reader_->MayMatch(static_cast<int>(at_once), keys->data() + begin, passed);
      const auto found = std::count(passed, passed + at_once, true);
      perf.block_cache_hit_count += static_cast<uint64_t>(found);
      perf.multiget_read_bytes += static_cast<uint64_t>(found);
    }
  }

  const PolicyPtr policy_;
  std::unique_ptr<const char[]> block_;
  std::unique_ptr<rocksdb::FilterBitsReader> reader_;
};

// The rows of one filter.
void AddRows(const std::string& family, uint64_t count, size_t length,
             const std::vector<size_t>& at_once, int rounds, Table* table) {
  std::vector<std::string> present, absent;
  for (uint64_t i = 0; i < count; i++) {
    present.push_back(PresentKey(i) + std::string(length - 16, 'x'));
    absent.push_back(MissingKey(i) + std::string(length - 16, 'x'));
  }
  const std::string spec = "rocksieve.auto:10:" + family;
  Queried even(spec + ":even", present), heard(spec, present);
  present.resize(10000);
  absent.resize(10000);
  for (const size_t batch : at_once) {
    for (const bool is_present : {false, true}) {
      const std::vector<std::string>& keys = is_present ? present : absent;
      std::vector<double> even_ns, heard_ns, difference;
      for (int round = 0; round < rounds; round++) {
        even_ns.push_back(even.Time(keys, batch));
        heard_ns.push_back(heard.Time(keys, batch));
        difference.push_back(heard_ns.back() - even_ns.back());
      }
      table->rows.push_back({{"filter", family + ", " + Counted(count, "key")},
                             {"bytes", length},
                             {"at_once", batch},
                             {"asked", is_present ? "present" : "absent"},
                             {"even_ns", MedianOf(even_ns)},
                             {"heard_ns", MedianOf(heard_ns)},
                             {"difference_ns", MedianOf(difference)}});
    }
  }
}

constexpr uint64_t kKeysPerFile = 100000;
constexpr double kRatio = 10;
// plugin/auto/lookup_sampler.cc: how many stretches are looked back at, and how many the tree is
// rewritten in.
constexpr int kStretches = 16;
constexpr double kStretchesOfTree = 8;

// A tree in which every level is ten times the one before it, of files with equally many keys.
class ModelTree {
 public:
  explicit ModelTree(size_t count) {
    Random random(3);
    auto level = static_cast<double>(count) * (1 - 1 / kRatio);
    while (ends_.size() < count) {
      const auto files = std::max(
          1.0, std::min(std::floor(level + 0.5), static_cast<double>(count - ends_.size())));
      for (double i = 0; i < files; i++) {
        const double jitter = static_cast<double>(random() % 1000) / 1e4;
        ends_.push_back({KeyAt((i + jitter) / files), KeyAt((i + 0.9 + jitter) / files)});
      }
      level /= kRatio;
    }
    std::shuffle(ends_.begin(), ends_.end(), random);  // the live files are in no order
    for (const auto& [smallest, largest] : ends_) {
      BudgetedFile file;
      file.smallest = smallest;
      file.largest = largest;
      file.entries = file.filter_keys = kKeysPerFile;
      file.filter_bits = 10 * kKeysPerFile;
      files_.push_back(file);
    }
    files_.back().filter_bits = -1;
  }

  const std::vector<BudgetedFile>& files() const { return files_; }

 private:
  std::vector<std::pair<std::string, std::string>> ends_;
  std::vector<BudgetedFile> files_;
};

// Full samples of lookups of which 90 % go to 10 % of the keys.
std::deque<HeardLookups> FullSamples() {
  constexpr int kAbsent = 512, kPassed = 256;
  Random random(5);
  const auto key = [&] {
    const double place = static_cast<double>(random() >> 11) / 0x1p53;
    return KeyAt(random() % 10 != 0 ? 0.37 + place / 10 : place);
  };
  std::deque<HeardLookups> stretches(kStretches);
  for (HeardLookups& heard : stretches) {
    for (int i = 0; i < kAbsent; i++) heard.absent_keys.push_back(key());
    std::sort(heard.absent_keys.begin(), heard.absent_keys.end());  // as LookupRecord does
    for (int i = 0; i < 2 * kPassed; i++) heard.passed.push_back({key(), i % 2 == 0, i % 4 < 2});
  }
  return stretches;
}

// Milliseconds to write a table file of keys of 16 and values of 100 bytes, uncompressed: less than
// a flush or compaction does, which have to read their keys, too.
double MillisecondsOfFile(int rounds, const std::string& path) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = PolicyFor("rocksieve.ribbon:10");
  rocksdb::Options options;
  options.env = UnsyncedEnv();
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeysPerFile; i++) {
    keys.push_back(KeyAt(static_cast<double>(i) / kKeysPerFile));
  }
  const std::string value(100, 'v');
  return 1e-6 * LeastNanoseconds(rounds, [&] {
           rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
           Must(writer.Open(path));
           for (const std::string& key : keys) Must(writer.Put(key, value));
           Must(writer.Finish());
         });
}

}  // namespace

std::string KeyAt(double place) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(std::min(place, 0.9999999) * 0x1p64));
  return text;
}

Table SampleCosts(bool smoke, const std::vector<size_t>& at_once) {
  Table table;
  table.name = "sample_costs";
  table.title = "LISTENING";
  table.explanation = "Nanoseconds of processor time per query, medians of rounds that alternate.";
  table.columns = {{"filter", "", "filter", Column::Kind::kText},
                   {"bytes", "keys of", "bytes", Column::Kind::kFixed, 0},
                   {"at_once", "", "at once", Column::Kind::kFixed, 0},
                   {"asked", "", "asked for", Column::Kind::kText},
                   {"even_ns", "", "even"},
                   {"heard_ns", "", "heard"},
                   {"difference_ns", "", "difference"}};
  for (const char* family : {"bloom", "ribbon"}) {
    for (const uint64_t count : {uint64_t{10000}, smoke ? uint64_t{20000} : uint64_t{1000000}}) {
      for (const size_t length : {16, 32}) {
        AddRows(family, count, length, at_once, smoke ? 3 : 101, &table);
      }
    }
  }
  return table;
}

Table LearningCosts(bool smoke, const std::string& directory) {
  const int rounds = smoke ? 1 : 7;
  const double file_ms = MillisecondsOfFile(rounds, directory + "/file.sst");
  Table table;
  table.name = "learning_costs";
  table.title = "LEARNING";
  table.explanation = "Milliseconds of processor time, the least of " + std::to_string(rounds) +
                      ". A file of " + Counted(kKeysPerFile, "key") +
                      " with values of 100 bytes takes " + Significant(file_ms, 3) + " to write.";
  table.columns = {{"files", "", "files", Column::Kind::kFixed, 0},
                   {"learning_ms", "learning,", "a stretch"},
                   {"even_ms", "deciding,", "even", Column::Kind::kFixed, 3},
                   {"heard_ms", "", "heard", Column::Kind::kFixed, 3},
                   {"more_ms", "more per", "file", Column::Kind::kFixed, 3},
                   {"more_ns_per_key", "ns per", "key", Column::Kind::kFixed, 1},
                   {"share_of_file", "of the file,", "%", Column::Kind::kPercent, 3}};
  const Allocator allocator{AllocatorOptions()};
  const std::deque<HeardLookups> stretches = FullSamples();
  for (const size_t count : {10, 40, 400, 1300, 11000}) {
    const ModelTree tree(smoke ? std::min<size_t>(count, 40) : count);
    const std::vector<BudgetedFile>& files = tree.files();
    std::shared_ptr<const LookupDensity> density;
    const double learning =
        1e-6 * LeastNanoseconds(rounds, [&] { density = LookupDensity::Learn(files, stretches); });
    if (density == nullptr) throw std::runtime_error("the lookups were taken for even");
    Outlook outlook;
    const auto decide = [&] { allocator.DecideBits(files, files.size() - 1, outlook); };
    const double even = 1e-6 * LeastNanoseconds(rounds, decide);
    outlook.lookups = density.get();
    const double heard = 1e-6 * LeastNanoseconds(rounds, decide);
    const double stretch_files =
        std::max(1.0, static_cast<double>(files.size()) / kStretchesOfTree);
    const double more = learning / stretch_files + heard - even;
    table.rows.push_back({{"files", files.size()},
                          {"learning_ms", learning},
                          {"even_ms", even},
                          {"heard_ms", heard},
                          {"more_ms", more},
                          {"more_ns_per_key", 1e6 * more / kKeysPerFile},
                          {"share_of_file", more / file_ms}});
  }
  return table;
}

}  // namespace rocksieve::bench
