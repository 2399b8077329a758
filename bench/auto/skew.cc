// SPDX-License-Identifier: Apache-2.0
// skewed_lookups: what rocksieve.auto saves by listening where lookups of absent keys go, beside
// itself without: two trees of the same keys, operations and budget.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <CLI/CLI.hpp>

#include "bench/auto/tree.h"

namespace rocksieve::bench {
namespace {

// What asks a database for keys, one by one or in batches, and counts the data blocks that it
// reads.
struct Asking {
  size_t batch = 1;    // keys of a MultiGet(); 1: Get() asks for each
  bool mixed = false;  // every other batch is asked for by Get()
};

class Client {
 public:
  Client(rocksdb::DB* db, const rocksdb::ReadOptions& read, const Asking& asking)
      : db_(db), read_(read), asking_(asking) {}

  // Asks at once, or when a batch is full. Throws if the database says otherwise.
  void Ask(std::string key, bool is_present) {
    keys_.push_back(std::move(key));
    is_present_.push_back(is_present);
    if (keys_.size() >= asking_.batch) Finish();
  }

  // Asks for what is left.
  void Finish() {
    if (keys_.empty()) return;
    const uint64_t before = DataReads();
    const size_t count = keys_.size();
    std::vector<rocksdb::Status> statuses(count);
    if (asking_.batch == 1 || (asking_.mixed && batches_ % 2 == 1)) {
      std::string value;
      for (size_t i = 0; i < count; i++) statuses[i] = db_->Get(read_, keys_[i], &value);
    } else {
      const std::vector<rocksdb::Slice> keys(keys_.begin(), keys_.end());
      std::vector<rocksdb::PinnableSlice> values(count);
      db_->MultiGet(read_, db_->DefaultColumnFamily(), count, keys.data(), values.data(),
                    statuses.data());
    }
    for (size_t i = 0; i < count; i++) {
      if (is_present_[i] ? statuses[i].ok() : statuses[i].IsNotFound()) continue;
      throw std::runtime_error(is_present_[i] ? "a key is lost" : "an absent key was found");
    }
    batches_++;
    keys_.clear();
    is_present_.clear();
    data_blocks_read_ += DataReads() - before;
  }

  uint64_t data_blocks_read() const { return data_blocks_read_; }

 private:
  rocksdb::DB* const db_;
  const rocksdb::ReadOptions read_;
  const Asking asking_;
  std::vector<std::string> keys_;
  std::vector<bool> is_present_;
  uint64_t batches_ = 0, data_blocks_read_ = 0;
};

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

struct Flags {
  bool smoke = false, check = false, cost = false, learning = false;
  Asking asking;
  double scale = 0;
  uint64_t lookups = 0;
  std::string tree = "ratio_10_live", work_dir;
  std::vector<std::string> workloads;
};

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

  std::string AbsentKey() { return KeyAt(Place(workload_.hot_lookups)); }

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
    return cold < begin_ ? cold : cold + workload_.hot_space;
  }

  const Workload& workload_;
  Random random_{7};
  double begin_;
  double moved_at_ = 0;
};

// A tree that grows, and is asked after each flush: bits per entry, on average over the measured
// time, and false-positive reads of 1,000 lookups of absent keys.
nlohmann::json Run(const Flags& flags, const Shape& shape, const Workload& workload,
                   const std::string& spec, const std::string& path, Report* report) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = PolicyFor(spec);
  const size_t tree_bytes = 45 * shape.keys;
  table.block_cache = rocksdb::NewLRUCache(workload.fills_cache ? tree_bytes * 4 / 10 : 1 << 30);
  std::filesystem::remove_all(path);
  const DbPtr db = Open(OptionsFor(shape, table, true), path);
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  Asker asker(workload);
  rocksdb::ReadOptions read;
  read.fill_cache = workload.fills_cache;
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  double bits = 0;
  uint64_t reads = 0, lookups = 0, keys = 0, looked = 0;
  report->Begin(workload.description + ", " + spec, shape.keys);
  while (keys < shape.keys) {
    for (uint64_t i = 0; i < shape.keys_per_flush; i++) {
      Must(db->Put(write, PresentKey(keys++), std::string(20, 'v')));
    }
    Must(db->Flush(rocksdb::FlushOptions()));
    WaitForCompactions(db.get());
    asker.Grow(keys);
    const bool measures = keys > shape.keys / 2;
    // Where batches are of absent and present keys, those after every tenth flush are apart, so
    // that reads of absent keys can be counted.
    const bool looks = measures && keys / shape.keys_per_flush % 10 == 0;
    const bool apart = flags.asking.batch == 1 || workload.present == 0 || looks;
    Client absent(db.get(), read, flags.asking), present(db.get(), read, flags.asking);
    for (uint64_t i = 0; i < flags.lookups; i++) {
      for (int j = 0; j < workload.present; j++) {
        (apart ? present : absent).Ask(asker.PresentKeyBelow(keys), true);
      }
      absent.Ask(asker.AbsentKey(), false);
    }
    present.Finish();
    absent.Finish();
    if (measures && apart) {
      reads += absent.data_blocks_read();
      lookups += flags.lookups;
    }
    if (looks) {
      bits += MemoryOf(db.get()).bits();
      looked++;
    }
    report->Advance(shape.keys_per_flush);
  }
  return {{"bits", bits / static_cast<double>(std::max<uint64_t>(looked, 1))},
          {"reads", 1000 * static_cast<double>(reads) / static_cast<double>(lookups)}};
}

Table MeasureSkew(const Flags& flags, const std::string& directory, Report* report) {
  Shape shape;
  for (const Shape& one : Shapes(flags.scale)) {
    if (one.name == flags.tree) shape = one;
  }
  if (shape.name.empty() || shape.one_run) {
    throw std::runtime_error("--tree: " + flags.tree + " is none of the trees that grow");
  }
  const std::string spec = "rocksieve.auto:10";
  std::string asked;
  if (flags.asking.batch > 1) {
    asked = ", " + std::to_string(flags.asking.batch) + " keys at once" +
            (flags.asking.mixed ? ", every other time one by one" : "");
  }
  Table table;
  table.name = "skew";
  table.title = "SKEW";
  table.explanation = "False-positive reads of 1,000 lookups of absent keys, " + shape.description +
                      ", " + spec + asked;
  table.columns = {{"lookups", "", "lookups", Column::Kind::kText},
                   {"/even/bits", "bits,", "even"},
                   {"/heard/bits", "", "heard"},
                   {"/even/reads", "reads,", "even", Column::Kind::kFixed, 3},
                   {"/heard/reads", "", "heard", Column::Kind::kFixed, 3},
                   {"ratio", "", "ratio"}};
  bool as_promised = true;
  for (const Workload& workload : Workloads()) {
    if (!Wants(flags.workloads, workload.name)) continue;
    nlohmann::json row = {{"lookups", workload.description}};
    row["even"] = Run(flags, shape, workload, spec + ":even", directory + "/db", report);
    row["heard"] = Run(flags, shape, workload, spec, directory + "/db", report);
    const double ratio = row["heard"]["reads"].get<double>() / row["even"]["reads"].get<double>();
    row["ratio"] = ratio;
    table.rows.push_back(row);
    as_promised = as_promised && ratio <= workload.most;
  }
  if (flags.check && !as_promised) report->Fail("a ratio is larger than promised");
  return table;
}

int Measure(const Flags& flags) {
  Report report("bench skew", "");
  const InterruptGuard guard;
  const std::unique_ptr<WorkDir> work = NewWorkDir(flags.work_dir, "skewed_lookups");
  const std::string directory = work->path().string();
  report.Add(flags.cost       ? SampleCosts(flags.smoke, {1, 4, 32})
             : flags.learning ? LearningCosts(flags.smoke, directory)
                              : MeasureSkew(flags, directory, &report));
  return report.Finish();
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
  app.add_option("--scale", flags.scale, "times the usual 400,000 to 900,000 keys [1]");
  app.add_option("--lookups", flags.lookups,
                 "of absent keys after each flush of 1,000 keys [1000]");
  app.add_option("--batch", flags.asking.batch, "keys of a MultiGet(); 1: Get() [1]")
      ->check(CLI::PositiveNumber);
  app.add_flag("--mixed", flags.asking.mixed, "every other batch by Get()");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: ./run bench skew --workloads=80_20,90_10");
  CLI11_PARSE(app, argc, argv);
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
