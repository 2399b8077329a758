// SPDX-License-Identifier: Apache-2.0
#include "bench/auto/learning_cost.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksieve/filter_policy.h>

#include "bench/compare/clock.h"
#include "integration/tree.h"
#include "lib/budget/allocation.h"
#include "lib/budget/lookup_density.h"

namespace rocksieve::bench {
namespace {

using Random = std::mt19937_64;

constexpr uint64_t kKeysPerFile = 100000;
constexpr double kRatio = 10;
// plugin/auto/lookup_sampler.cc: how many stretches are looked back at, and how many the tree is
// rewritten in.
constexpr int kStretches = 16;
constexpr double kStretchesOfTree = 8;

std::string KeyAt(double place) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(std::min(place, 0.9999999) * 0x1p64));
  return text;
}

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

double MillisecondsOf(int rounds, const std::function<void()>& work) {
  double least = 1e300;
  for (int round = 0; round < rounds; round++) {
    const double start = CpuClock::Nanoseconds();
    work();
    least = std::min(least, CpuClock::Nanoseconds() - start);
  }
  return least / 1e6;
}

// A table file of keys of 16 and values of 100 bytes, uncompressed: less than a flush or compaction
// does, which have to read their keys, too.
void WriteFile(const rocksdb::Options& options, const std::vector<std::string>& keys,
               const std::string& path) {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  Must(writer.Open(path));
  const std::string value(100, 'v');
  for (const std::string& key : keys) Must(writer.Put(key, value));
  Must(writer.Finish());
}

double MillisecondsOfFile(int rounds, const std::string& directory) {
  rocksdb::BlockBasedTableOptions table;
  const rocksdb::Status made = NewFilterPolicy("rocksieve.ribbon:10", &table.filter_policy);
  if (!made.ok()) throw std::runtime_error(made.ToString());
  rocksdb::Options options;
  options.env = UnsyncedEnv();
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeysPerFile; i++) {
    keys.push_back(KeyAt(static_cast<double>(i) / kKeysPerFile));
  }
  return MillisecondsOf(rounds, [&] { WriteFile(options, keys, directory + "/file.sst"); });
}

}  // namespace

std::string LearningCosts(bool smoke, const std::string& directory) {
  const int rounds = smoke ? 1 : 7;
  const double file_ms = MillisecondsOfFile(rounds, directory);
  char text[240];
  std::snprintf(text, sizeof(text),
                "Milliseconds of processor time, the least of %d. A file of %llu keys with values "
                "of 100 bytes takes %.1f to write.\n\n",
                rounds, static_cast<unsigned long long>(kKeysPerFile), file_ms);
  std::string rows = text;
  rows +=
      "| files | learning, once a stretch | deciding, even | deciding, heard | more per file | "
      "ns per key | of writing the file |\n|---|---|---|---|---|---|---|\n";
  const Allocator allocator{AllocatorOptions()};
  const std::deque<HeardLookups> stretches = FullSamples();
  for (const size_t count : {10, 40, 400, 1300, 11000}) {
    const ModelTree tree(smoke ? std::min<size_t>(count, 40) : count);
    const std::vector<BudgetedFile>& files = tree.files();
    std::shared_ptr<const LookupDensity> density;
    const double learning =
        MillisecondsOf(rounds, [&] { density = LookupDensity::Learn(files, stretches); });
    if (density == nullptr) throw std::runtime_error("the lookups were taken for even");
    Outlook outlook;
    const auto decide = [&] { allocator.DecideBits(files, files.size() - 1, outlook); };
    const double even = MillisecondsOf(rounds, decide);
    outlook.lookups = density.get();
    const double heard = MillisecondsOf(rounds, decide);
    const double stretch_files =
        std::max(1.0, static_cast<double>(files.size()) / kStretchesOfTree);
    const double more = learning / stretch_files + heard - even;
    std::snprintf(text, sizeof(text), "| %zu | %.2f | %.3f | %.3f | %.3f | %.1f | %.2f %% |\n",
                  files.size(), learning, even, heard, more, 1e6 * more / kKeysPerFile,
                  100 * more / file_ms);
    rows += text;
  }
  return rows;
}

}  // namespace rocksieve::bench
