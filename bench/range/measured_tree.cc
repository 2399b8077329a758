// SPDX-License-Identifier: Apache-2.0
#include "bench/range/figures.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/range.h>

#include "plugin/database/policy_spec.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

constexpr size_t kValueBytes = 40;

rocksdb::Options TreeOptions(const std::string& policy, size_t prefix_bytes,
                             const Workload& workload) {
  uint64_t bytes = 0;
  for (const std::string& key : workload.keys) bytes += key.size() + kValueBytes + 8;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = UnsyncedEnv();
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 1 << 30;  // flushed by hand
  options.num_levels = 8;               // that ShapeOf() asks for
  options.level_compaction_dynamic_level_bytes = false;
  options.max_bytes_for_level_base = bytes / 6;
  options.max_bytes_for_level_multiplier = 4;
  options.target_file_size_base = bytes / 18;
  options.max_background_jobs = 1;  // the same compactions for every filter
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;  // so that each block needed counts as a read
  table.optimize_filters_for_memory = false;
  PolicySpec spec;
  Must(PolicySpec::Parse(policy, &spec));
  if (spec.answers_ranges()) {
    Must(ConfigureRangeFilters(policy, &options, &table));
  } else {
    Must(spec.NewPolicy(&table.filter_policy));
  }
  if (prefix_bytes > 0) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(prefix_bytes));
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

double DataBlocks() { return static_cast<double>(CostSince(0).data_block_reads); }

}  // namespace

MeasuredTree::MeasuredTree(const Workload& workload, const std::string& spec, size_t prefix_bytes,
                           const std::string& name, RangeRun* run)
    : workload_(workload),
      has_rocksdb_prefixes_(prefix_bytes > 0),
      name_(name),
      path_(run->settings.directory + "/db"),
      run_(*run),
      options_(TreeOptions(spec, prefix_bytes, workload)) {}

MeasuredTree::~MeasuredTree() {
  if (wrong_ > 0) run_.Fail(name_ + ": " + Counted(wrong_, "wrong answer"));
  db_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void MeasuredTree::Build() {
  db_.reset();
  std::filesystem::remove_all(path_);
  run_.Begin(name_ + ": writing", workload_.keys.size());
  db_ = Open(options_, path_);
  constexpr size_t kFlushes = 32, kTail = 60;
  const size_t count = workload_.keys.size(), tail = count - count / kTail;
  for (size_t i = 0; i < kFlushes; i++) {
    Flush(tail * i / kFlushes, tail * (i + 1) / kFlushes);
    WaitForCompactions(db_.get());
  }
  Must(db_->SetOptions({{"disable_auto_compactions", "true"}}));
  Flush(tail, tail + (count - tail) / 2);
  Flush(tail + (count - tail) / 2, count);
}

nlohmann::json MeasuredTree::AskRanges(const QueryKind& kind) {
  if (kind.ranges.empty()) return nullptr;
  Begin(kind.name, kind.ranges.size());
  for (const RangeQuery& range : kind.ranges) AskRange(range, kind.reading);
  return DataBlocks() / static_cast<double>(kind.ranges.size());
}

nlohmann::json MeasuredTree::AskAbsentKeys() {
  if (workload_.absent_keys.empty()) return nullptr;
  Begin("absent keys", workload_.absent_keys.size());
  for (const std::string& key : workload_.absent_keys) AskAbsentKey(key);
  return 1000 * DataBlocks() / static_cast<double>(workload_.absent_keys.size());
}

void MeasuredTree::AskPresentKeys(uint64_t count) {
  Begin("present keys", count);
  std::string value;
  for (size_t i = 0; i < std::min<size_t>(count, workload_.keys.size()); i++) {
    Note(db_->Get(rocksdb::ReadOptions(), workload_.keys[i], &value).ok());
  }
}

double MeasuredTree::AskMix(const QueryKind& kind, double lookup_share, uint64_t count) {
  Begin(kind.name + " and lookups", count);
  size_t lookups = 0, ranges = 0;
  while (lookups + ranges < count) {
    if (static_cast<double>(lookups) <= lookup_share * static_cast<double>(lookups + ranges) &&
        lookup_share > 0) {
      AskAbsentKey(workload_.absent_keys[lookups++ % workload_.absent_keys.size()]);
    } else {
      AskRange(kind.ranges[ranges++ % kind.ranges.size()], kind.reading);
    }
  }
  return 1000 * DataBlocks() / static_cast<double>(count);
}

double MeasuredTree::BitsPerKey() const { return MemoryOf(db_.get()).bits(); }

std::string MeasuredTree::FilesPerLevel() const {
  std::string shape = ShapeOf(db_.get());
  while (shape.size() > 2 && shape.substr(shape.size() - 2) == " 0") {
    shape.resize(shape.size() - 2);
  }
  return shape;
}

void MeasuredTree::Flush(size_t begin, size_t end) {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  for (size_t i = begin; i < end; i++) {
    Must(db_->Put(write, workload_.keys[i], std::string(kValueBytes, 'v')));
    run_.Advance();
  }
  Must(db_->Flush(rocksdb::FlushOptions()));
}

void MeasuredTree::Begin(const std::string& step, uint64_t queries) {
  run_.Begin(name_ + ": " + step, queries);
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  rocksdb::get_perf_context()->Reset();
}

void MeasuredTree::Note(bool right) {
  wrong_ += right ? 0 : 1;
  run_.Advance();
}

void MeasuredTree::AskRange(const RangeQuery& range, Reading reading) {
  Note(IsRight(range, reading));
}

void MeasuredTree::AskAbsentKey(const std::string& key) {
  std::string value;
  Note(db_->Get(rocksdb::ReadOptions(), key, &value).IsNotFound());
}

// Whether an iterator gives just the keys of the range.
bool MeasuredTree::IsRight(const RangeQuery& range, Reading reading) const {
  const rocksdb::Slice begin = range.begin, end = range.end;
  rocksdb::ReadOptions read;
  if (reading != Reading::kUnbounded) read.iterate_upper_bound = &end;
  if (reading == Reading::kBackwards) read.iterate_lower_bound = &begin;
  read.auto_prefix_mode = has_rocksdb_prefixes_;  // ours need nothing of the kind
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
  std::vector<std::string> found;
  if (reading == Reading::kBackwards) {
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      found.insert(found.begin(), iterator->key().ToString());
    }
  } else {
    for (iterator->Seek(begin); iterator->Valid(); iterator->Next()) {
      if (reading == Reading::kUnbounded && iterator->key().compare(end) >= 0) break;
      found.push_back(iterator->key().ToString());
    }
  }
  const auto& sorted = workload_.sorted;
  const auto first = std::lower_bound(sorted.begin(), sorted.end(), range.begin);
  const auto last = std::lower_bound(first, sorted.end(), range.end);
  return iterator->status().ok() && std::equal(found.begin(), found.end(), first, last);
}

}  // namespace rocksieve::bench
