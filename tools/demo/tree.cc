// SPDX-License-Identifier: Apache-2.0
#include "support/return_if_error.h"
#include "tools/demo/demo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/table.h>
#include <rocksieve/listener.h>

#include "plugin/database/policy_spec.h"
#include "plugin/database/rocksdb_open.h"
#include "plugin/tables/decoded_filter.h"
#include "support/parallel.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// What is compared: the settings that most installations have of RocksDB's filters, and ours.
constexpr struct {
  const char *name, *directory, *spec;
} kVariants[] = {
    {"none", "none", "none"},
    {"RocksDB Bloom 10", "rocksdb_bloom_10", "bloomfilter:10:false"},
    // Makes Bloom filters after all in flushed files, and in small ones.
    {"RocksDB Ribbon 10", "rocksdb_ribbon_10", "ribbonfilter:10"},
    {"rocksieve.bloom:10", "rocksieve_bloom_10", "rocksieve.bloom:10"},
    {"rocksieve.cuckoo:12", "rocksieve_cuckoo_12", "rocksieve.cuckoo:12"},
    {"rocksieve.ribbon:10", "rocksieve_ribbon_10", "rocksieve.ribbon:10"},
    {"rocksieve.auto:10", "rocksieve_auto_10", "rocksieve.auto:10"},
};

// The variance of the rate of a Bloom filter, over the square of its mean: keys are thrown at
// random into lines, all probes of a key into the same one. A line more crowded than others passes
// more, but the others are emptier for it, so that only the bend of a line's rate counts. Lines of
// RocksDB stand for ours too, which deviate 5 % less at 10 bits per key.
double VarianceOfLines(double lines, double keys_per_line, int probes) {
  if (lines <= 0 || keys_per_line <= 0) return 0;
  // The number of keys in a line follows a Poisson law, whose variance is its mean.
  const double spread = 8 * std::sqrt(keys_per_line) + 8;
  const int from = static_cast<int>(std::max(0.0, keys_per_line - spread));
  const int to = static_cast<int>(keys_per_line + spread);
  double mean = 0, square = 0, product = 0;
  for (int keys = from; keys <= to; keys++) {
    const double probability =
        std::exp(keys * std::log(keys_per_line) - keys_per_line - std::lgamma(keys + 1.0));
    const double rate = BuiltinBloomLineRate(probes, keys);
    mean += probability * rate;
    square += probability * rate * rate;
    product += probability * rate * (keys - keys_per_line);
  }
  // All lines together have a fixed number of keys, so what depends on it linearly cancels out.
  const double of_line = square - mean * mean - product * product / keys_per_line;
  return std::max(of_line, 0.0) / (mean * mean) / lines;
}

constexpr int kLevels = 4;
constexpr int kNever = std::numeric_limits<int>::max();

// Flushed before RocksDB would by itself: into how many files that is would depend on how fast
// flushes are, and on these files what rocksieve.auto decides.
constexpr size_t kWriteBufferBytes = 32 << 20, kFlushedBytes = kWriteBufferBytes / 2;

std::string Remedy(const Status& status) {
  const std::string text = status.ToString();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  if (status.IsNoSpace() || says("No space left") || says("quota exceeded")) {
    return "\nThe disk is full. Free some space, or name a directory on another one with "
           "--db-dir=DIR:\nthe demonstration needs about 800 MB for its own keys, or about 8 times "
           "the keys and values\nof others (values: 250 bytes each).";
  }
  if (says("Too many open files")) return "\nAllow more open files, for example: ulimit -n 4096";
  if (says("Permission denied") || says("Read-only file system")) {
    return "\nName a directory where you may write with --db-dir=DIR.";
  }
  return "";
}

// Nothing happens by itself: TreeBuilder alone decides the shape of the tree, so that it is the
// same whatever the filter. No block cache and no compression, so that each data block that is
// looked at is one read of one size; filters and indexes stay in memory.
rocksdb::Options MakeOptions(const Variant& variant) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = variant.policy;
  table.no_block_cache = true;
  table.cache_index_and_filter_blocks = false;
  // RocksDB's filters get the bits that they are named after, with every release.
  table.optimize_filters_for_memory = false;

  rocksdb::Options options;
  options.prefix_extractor = variant.prefix_extractor;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.num_levels = kLevels;
  options.disable_auto_compactions = true;
  // In the style of levels, the sizes of the files of the level below, filters included, would tell
  // where to cut.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_slowdown_writes_trigger = kNever;
  options.level0_stop_writes_trigger = kNever;
  options.soft_pending_compaction_bytes_limit = 0;
  options.hard_pending_compaction_bytes_limit = 0;
  options.max_compaction_bytes = std::numeric_limits<uint64_t>::max() / 2;
  options.write_buffer_size = kWriteBufferBytes;
  options.allow_concurrent_memtable_write = false;
  options.max_open_files = -1;
  options.listeners = {NewListener()};  // so that rocksieve.auto knows the tree
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

struct LevelPlan {
  int level;
  double share;  // of the keys; the last level, which is the first here, has the rest
  int files;     // about so many
};
constexpr LevelPlan kPlan[kLevels] = {{3, 0.80, 16}, {2, 0.15, 8}, {1, 0.04, 4}, {0, 0.01, 4}};

// The keys with numbers from `first` on.
struct Part {
  size_t first = 0;
  size_t count = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(rocksdb::DB* db, const std::vector<std::string_view>& keys, Progress* progress)
      : db_(db), keys_(keys), progress_(progress) {}

  // From the last level upwards, as compactions only ever move keys down.
  Status Build() {
    Status status;
    size_t end = keys_.size(), others = 0;
    std::array<Part, kLevels> parts;
    for (size_t i = 1; i < kLevels; i++) {
      const auto share = std::lround(kPlan[i].share * static_cast<double>(end));
      parts[i] = {others, std::min(std::max<size_t>(share, 1), end - 1 - others)};
      others += parts[i].count;
    }
    parts[0] = {others, end - others};
    for (size_t i = 0; i < kLevels && status.ok(); i++) status = BuildLevel(kPlan[i], parts[i]);
    // Once all of the tree is there, as compactions do all the time: rocksieve.auto decides for the
    // tree that it sees.
    for (size_t i = 0; i + 1 < kLevels && status.ok(); i++) {
      status = Compact(kPlan[i].level, kPlan[i]);
    }
    return status;
  }

 private:
  Status BuildLevel(const LevelPlan& plan, Part part) {
    if (plan.level > 0) {
      const Status status = Write(part);
      return status.ok() ? Compact(0, plan) : status;
    }
    const size_t per_file = (part.count + plan.files - 1) / plan.files;
    while (part.count > 0) {
      const size_t count = std::min(per_file, part.count);
      RETURN_IF_ERROR(Write({part.first, count}));
      part = {part.first + count, part.count - count};
    }
    return Status::OK();
  }

  // Writes and flushes, so that the keys are in files of level 0.
  Status Write(Part part) {
    if (part.count == 0) return Status::OK();
    rocksdb::WriteOptions no_log;
    no_log.disableWAL = true;
    std::string value;
    size_t buffered_bytes = 0;
    for (size_t i = 0; i < part.count; i++) {
      RETURN_IF_ERROR(Advanced(progress_));
      MakeValue(part.first + i, &value);
      RETURN_IF_ERROR(db_->Put(no_log, keys_[part.first + i], value));
      const size_t bytes = keys_[part.first + i].size() + value.size();
      bytes_written_ += bytes;
      buffered_bytes += bytes;
      if (buffered_bytes < kFlushedBytes) continue;
      RETURN_IF_ERROR(db_->Flush({}));
      buffered_bytes = 0;
    }
    return db_->Flush({});
  }

  // Compacts all files of a level into the planned one.
  Status Compact(int level, const LevelPlan& plan) {
    rocksdb::ColumnFamilyMetaData tree;
    db_->GetColumnFamilyMetaData(&tree);
    std::vector<std::string> names;
    for (const auto& file : tree.levels[level].files) names.push_back(file.name);
    if (names.empty()) return Status::OK();
    // Not from the files' sizes: they hold filters, and the cuts are to be the same with any.
    if (level == 0) level_bytes_[plan.level] = std::exchange(bytes_written_, 0);
    rocksdb::CompactionOptions options;
    options.compression = rocksdb::kNoCompression;
    options.output_file_size_limit = std::max<uint64_t>(level_bytes_[plan.level] / plan.files, 1);
    options.max_subcompactions = 1;
    return db_->CompactFiles(options, names, plan.level);
  }

  rocksdb::DB* const db_;
  const std::vector<std::string_view>& keys_;
  Progress* const progress_;
  uint64_t bytes_written_ = 0;  // keys and values that are in level 0
  std::array<uint64_t, kLevels> level_bytes_{};
};

std::string Task(const std::string& verb, const Variant& variant,
                 const std::filesystem::path& directory) {
  return verb + " the database with filter " + variant.name + " in " + directory.string();
}

}  // namespace

Status MakeVariants(std::vector<Variant>* variants) {
  for (const auto& [name, directory, spec] : kVariants) {
    Variant& variant = variants->emplace_back();
    variant.name = name;
    variant.directory = directory;
    RETURN_IF_ERROR(NewPolicy(spec, &variant.policy));
  }
  return Status::OK();
}

FileRate ExpectedRate(const Tree& tree, std::vector<std::string_view> keys) {
  std::sort(keys.begin(), keys.end());  // bytewise, as RocksDB does
  FileRate sum;
  double lookups = 0;
  for (const TreeFile* file : tree.files()) {
    const auto first = std::lower_bound(keys.begin(), keys.end(), file->smallest);
    const auto end = std::upper_bound(first, keys.end(), file->largest);
    const auto weight = static_cast<double>(end - first);
    const double passes = weight * file->filter.predicted_rate;
    lookups += weight;
    sum.mean += passes;
    // Others have no variance: their fingerprints match at the same rate wherever they lie.
    if (file->filter.setting.unit != "probes") continue;
    const auto lines = static_cast<double>(
        std::max<uint64_t>(file->properties.filter_bytes / kBuiltinBloomLineBytes, 1));
    sum.variance += passes * passes *
                    VarianceOfLines(lines, static_cast<double>(file->properties.entries) / lines,
                                    static_cast<int>(file->filter.setting.value));
  }
  if (lookups == 0) return {};
  return {sum.mean / lookups, sum.variance / (lookups * lookups)};
}

Status Explained(const Status& status, const std::string& task) {
  if (status.ok() || status.IsAborted()) return status;
  return Status::IOError("cannot " + task + ": " + status.ToString() + Remedy(status));
}

Status BuildTree(const std::filesystem::path& directory, const Variant& variant,
                 const std::vector<std::string_view>& keys, Progress* progress) {
  std::unique_ptr<rocksdb::DB> db;
  Status status = rocksdb::DB::Open(MakeOptions(variant), directory.string(), Into(&db));
  if (status.ok()) {
    status = WithoutException([&] { return TreeBuilder(db.get(), keys, progress).Build(); });
  }
  return Explained(status, Task("build", variant, directory));
}

Status OpenTree(const std::filesystem::path& directory, const Variant& variant, bool for_ranges,
                std::unique_ptr<rocksdb::DB>* db) {
  const rocksdb::Options options = MakeOptions(variant);
  const std::string path = directory.string();
  const Status status = for_ranges ? rocksdb::DB::Open(options, path, Into(db))
                                   : rocksdb::DB::OpenForReadOnly(options, path, Into(db));
  return Explained(status, Task("open", variant, directory));
}

}  // namespace rocksieve::tools
