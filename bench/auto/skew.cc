// SPDX-License-Identifier: Apache-2.0
// skewed_lookups: what rocksieve.auto saves by listening where lookups of absent keys go, beside
// itself without: two trees of the same keys, operations and budget.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <rocksdb/cache.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksieve/filter_policy.h>

#include "bench/auto/client.h"
#include "bench/auto/learning_cost.h"
#include "bench/auto/sample_cost.h"
#include "bench/auto/tree.h"
#include "bench/program.h"
#include "support/progress.h"
#include "support/work_dir.h"

namespace rocksieve::bench {
namespace {

using Random = std::mt19937_64;

struct Workload {
  std::string name, description;
  double hot_space = 1, hot_lookups = 1;  // shares of the key space, and of the lookups there
  // The hot interval stays for the time in which the tree grows by this share; 0: for good.
  double dwell = 0;
  bool wanders = false;  // to the neighbouring interval, not anywhere
  // Beside each lookup of an absent key so many of present keys, that share of them where it is
  // hot.
  int present = 0;
  double hot_present = 0;
  bool fills_cache = false;  // which has room for four tenths of the tree
  double most = 1.1;         // of the reads without listening, what the documentation promises
};

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> all = {
      {"80_20", "80 % of lookups to 20 % of the keys", 0.2, 0.8, 0, false, 0, 0, false, 1 / 2.0},
      {"90_10", "90 % to 10 %", 0.1, 0.9, 0, false, 0, 0, false, 1 / 4.5},
      {"even", "even", 1, 1, 0, false, 0, 0, false, 1.1},
      {"moving_fast", "90/10, elsewhere after 2 % growth", 0.1, 0.9, 0.02},
      {"moving", "90/10, elsewhere after 10 % growth", 0.1, 0.9, 0.1},
      {"moving_slow", "90/10, elsewhere after 50 % growth", 0.1, 0.9, 0.5},
      {"wandering", "90/10, to the next tenth after 10 % growth", 0.1, 0.9, 0.1, true},
      {"cached", "80/20, present keys too, hot blocks cached", 0.2, 0.8, 0, false, 4, 1, true},
      {"cached_90", "90/10, present keys too, hot blocks cached", 0.1, 0.9, 0, false, 4, 1, true},
      {"warm", "80/20, a block cache of 40 %", 0.2, 0.8, 0, false, 0, 0, true},
      {"present", "absent even, present 90/10", 0.1, 0.1, 0, false, 1, 0.9, false}};
  return all;
}

struct Settings {
  Shape shape;
  std::string options;  // of the spec
  uint64_t lookups_per_flush = 0;
  Asking asking;
  double budget = 10;
};

struct Result {
  double bits = 0;   // per entry, on average over the measured time
  double reads = 0;  // false-positive reads per 1,000 lookups of absent keys
  uint64_t lookups = 0;
};

std::string KeyAt(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// Where lookups go at the moment.
class Asker {
 public:
  explicit Asker(const Workload& workload)
      : workload_(workload), begin_(std::min(0.37, 1 - workload.hot_space)) {}

  // The tree has grown to so many keys.
  void Grow(uint64_t keys) {
    const auto now = static_cast<double>(keys);
    if (workload_.dwell == 0 || now < moved_at_ * (1 + workload_.dwell)) return;
    if (moved_at_ != 0) {
      const double step = workload_.wanders ? workload_.hot_space : 0.1 + 0.8 * Draw();
      begin_ = begin_ + step;
      if (begin_ + workload_.hot_space > 1) begin_ -= static_cast<int>(begin_ + 0.999);
      begin_ = std::clamp(begin_, 0.0, 1 - workload_.hot_space);
    }
    moved_at_ = now;
  }

  std::string AbsentKey() {
    return KeyAt(static_cast<uint64_t>(Place(workload_.hot_lookups) * 0x1p64));
  }

  std::string PresentKeyBelow(uint64_t keys) {
    const bool hot = Draw() < workload_.hot_present;
    for (;;) {
      const std::string key = PresentKey(random_() % keys);
      const double place = static_cast<double>(std::stoull(key, nullptr, 16)) / 0x1p64;
      if (!hot || (place >= begin_ && place < begin_ + workload_.hot_space)) return key;
    }
  }

 private:
  double Draw() { return static_cast<double>(random_() >> 11) / 0x1p53; }
  double Place(double hot_share) {
    if (Draw() < hot_share) return begin_ + workload_.hot_space * Draw();
    const double cold = Draw() * (1 - workload_.hot_space);
    return std::min(cold < begin_ ? cold : cold + workload_.hot_space, 0.9999999);
  }

  const Workload& workload_;
  Random random_{7};
  double begin_;
  double moved_at_ = 0;
};

// Lookups after a flush. Those of absent keys are counted if they are asked for by themselves:
// otherwise batches have present keys, too.
void LookUp(const Settings& settings, const Workload& workload, uint64_t keys, Asker* asker,
            Client* absent, Client* present) {
  for (uint64_t i = 0; i < settings.lookups_per_flush; i++) {
    for (int j = 0; j < workload.present; j++) present->Ask(asker->PresentKeyBelow(keys), true);
    absent->Ask(asker->AbsentKey(), false);
  }
  present->Finish();
  absent->Finish();
}

Result Run(const Settings& settings, const Workload& workload, const std::string& spec,
           const std::string& path, Progress* progress) {
  rocksdb::BlockBasedTableOptions table;
  const rocksdb::Status made = NewFilterPolicy(spec, &table.filter_policy);
  if (!made.ok()) throw std::runtime_error(made.ToString());
  const Shape& shape = settings.shape;
  const size_t tree_bytes = 45 * shape.keys;
  table.block_cache = rocksdb::NewLRUCache(workload.fills_cache ? tree_bytes * 4 / 10 : 1 << 30);
  std::filesystem::remove_all(path);
  DbPtr db = Open(OptionsFor(shape, table, true), path);
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  Asker asker(workload);
  rocksdb::ReadOptions read;
  read.fill_cache = workload.fills_cache;
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  Result result;
  uint64_t reads = 0, keys = 0, looked = 0;
  progress->Begin(workload.description + ", " + spec, shape.keys);
  while (keys < shape.keys) {
    for (uint64_t i = 0; i < shape.keys_per_flush; i++) {
      Must(db->Put(write, PresentKey(keys++), std::string(20, 'v')));
    }
    Must(db->Flush(rocksdb::FlushOptions()));
    WaitForCompactions(db.get());
    asker.Grow(keys);
    const bool measures = keys > shape.keys / 2;
    // Where batches are of absent and present keys, those after every tenth flush are apart.
    const bool looks = measures && keys / shape.keys_per_flush % 10 == 0;
    const bool apart = settings.asking.batch == 1 || workload.present == 0 || looks;
    Client absent(db.get(), read, settings.asking), present(db.get(), read, settings.asking);
    LookUp(settings, workload, keys, &asker, &absent, apart ? &present : &absent);
    if (measures && apart) {
      reads += absent.data_blocks_read();
      result.lookups += settings.lookups_per_flush;
    }
    if (looks) {
      result.bits += MemoryOf(db.get()).bits();
      looked++;
    }
    if (!progress->Advance(shape.keys_per_flush)) throw std::runtime_error("interrupted");
  }
  result.bits /= static_cast<double>(std::max<uint64_t>(looked, 1));
  result.reads = 1000 * static_cast<double>(reads) / static_cast<double>(result.lookups);
  db.reset();
  std::filesystem::remove_all(path);
  return result;
}

struct Flags {
  bool smoke = false, check = false, cost = false, learning = false;
  Asking asking;
  double scale = 0, budget = 10;
  uint64_t lookups = 0;
  std::string tree = "ratio_10_live", options, work_dir;
  std::vector<std::string> workloads;
};

std::string AskedBy(const Asking& asking) {
  if (asking.batch == 1) return "";
  return ", " + std::to_string(asking.batch) + " keys at once" +
         (asking.mixed ? ", every other time one by one" : "");
}

std::unique_ptr<WorkDir> NewWorkDir(const Flags& flags) {
  std::unique_ptr<WorkDir> work;
  const rocksdb::Status status = WorkDir::Create(flags.work_dir, "skewed_lookups", &work);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return work;
}

int Measure(const Flags& flags) {
  Progress progress("bench skew");
  const InterruptGuard guard;
  const std::unique_ptr<WorkDir> work = NewWorkDir(flags);
  Settings settings;
  for (const Shape& shape : Shapes(flags.scale)) {
    if (shape.name == flags.tree) settings.shape = shape;
  }
  if (settings.shape.name.empty() || settings.shape.one_run) {
    throw std::runtime_error("--tree: " + flags.tree + " is none of the trees that grow");
  }
  settings.lookups_per_flush = flags.lookups;
  settings.asking = flags.asking;
  char text[160];
  std::snprintf(text, sizeof(text), "rocksieve.auto:%g", flags.budget);
  const std::string spec = text + (flags.options.empty() ? "" : ":" + flags.options);
  std::cout << "False-positive reads of 1,000 lookups of absent keys, "
            << settings.shape.description << ", " << spec << AskedBy(flags.asking) << "\n\n"
            << "| lookups | bits, even | bits, heard | reads, even | reads, heard | ratio |\n"
            << "|---|---|---|---|---|---|\n";
  bool as_promised = true;
  for (const Workload& workload : Workloads()) {
    if (!Wants(flags.workloads, workload.name)) continue;
    const std::string path = work->path().string() + "/db";
    const Result even = Run(settings, workload, spec + ":even", path, &progress);
    const Result heard = Run(settings, workload, spec, path, &progress);
    progress.Clear();
    const double ratio = heard.reads / even.reads;
    std::snprintf(text, sizeof(text), " | %.2f | %.2f | %.3f | %.3f | %.2f |", even.bits,
                  heard.bits, even.reads, heard.reads, ratio);
    std::cout << "| " << workload.description << text << std::endl;
    as_promised = as_promised && ratio <= workload.most;
  }
  if (flags.check && !as_promised) {
    std::cout << "FAILED: a ratio is larger than promised\n";
    return 1;
  }
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "False-positive reads of rocksieve.auto, which hears where lookups of absent keys go, "
      "beside\n"
      "the same with the option even, which takes them to be distributed like the live keys. Both\n"
      "trees grow by the same keys, and are asked the same; counted is the second half.\n",
      "bench skew");
  app.add_flag("--smoke", flags.smoke, "tiny trees, only to see that it works");
  app.add_flag("--cost", flags.cost, "what listening costs a query instead");
  app.add_flag("--learning", flags.learning, "what learning costs a flush or compaction instead");
  app.add_flag("--check", flags.check, "exit with 1 if a ratio is not as promised");
  std::string names;
  for (const Workload& workload : Workloads()) {
    names += (names.empty() ? "only these: " : ", ") + workload.name;
  }
  app.add_option("--workloads", flags.workloads, names)->delimiter(',');
  app.add_option("--tree", flags.tree,
                 "ratio_10_live, ratio_10, ratio_4_live, ratio_4 or universal [ratio_10_live]");
  app.add_option("--bits", flags.budget, "budget, bits per live entry [10]");
  app.add_option("--options", flags.options, "of the spec, such as bloom");
  app.add_option("--scale", flags.scale, "times the usual 400,000 to 900,000 keys [1]");
  app.add_option("--lookups", flags.lookups,
                 "of absent keys after each flush of 1,000 keys [1000]");
  app.add_option("--batch", flags.asking.batch, "keys of a MultiGet(); 1: Get() [1]")
      ->check(CLI::PositiveNumber);
  app.add_flag("--mixed", flags.asking.mixed, "every other batch by Get()");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: ./run bench skew --workloads=80_20,90_10");
  CLI11_PARSE(app, argc, argv);
  if (flags.cost) {
    std::cout << SampleCosts(flags.smoke, {1, 4, 32});
    return 0;
  }
  if (flags.learning) {
    std::cout << LearningCosts(flags.smoke, NewWorkDir(flags)->path().string());
    return 0;
  }
  if (flags.scale == 0) flags.scale = flags.smoke ? 0.02 : 1;
  if (flags.lookups == 0) flags.lookups = flags.smoke ? 100 : 1000;
  return Measure(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench skew", rocksieve::bench::Main, argc, argv);
}
