#include "tools/demo/options.h"

#include <limits>
#include <string_view>
#include <utility>

#include <rocksdb/table.h>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

constexpr int kNever = std::numeric_limits<int>::max();

std::string Remedy(const Status& status) {
  const std::string text = status.ToString();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  if (status.IsNoSpace() || says("No space left") || says("quota exceeded")) {
    return "\nThe disk is full. Free some space, or name a directory on another one with "
           "--db-dir=DIR:\nthe demonstration needs about 600 MB for its own keys, or about 6 times "
           "the keys and values\nof others (values: 250 bytes each).";
  }
  if (says("Too many open files")) return "\nAllow more open files, for example: ulimit -n 4096";
  if (says("Permission denied") || says("Read-only file system")) {
    return "\nName a directory where you may write with --db-dir=DIR.";
  }
  return "";
}

}  // namespace

rocksdb::Options MakeOptions(std::shared_ptr<const rocksdb::FilterPolicy> policy) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = std::move(policy);
  table.no_block_cache = true;
  table.cache_index_and_filter_blocks = false;

  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.num_levels = kLevels;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = kNever;
  options.level0_stop_writes_trigger = kNever;
  options.soft_pending_compaction_bytes_limit = 0;
  options.hard_pending_compaction_bytes_limit = 0;
  // Else the sizes of the files of the level below, filters included, would tell where to cut.
  options.level_compaction_dynamic_file_size = false;
  options.max_compaction_bytes = std::numeric_limits<uint64_t>::max() / 2;
  options.write_buffer_size = 16 << 20;
  options.allow_concurrent_memtable_write = false;
  options.max_open_files = -1;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

Status Explained(const Status& status, const std::string& task) {
  if (status.ok() || status.IsAborted()) return status;
  return Status::IOError("cannot " + task + ": " + status.ToString() + Remedy(status));
}

}  // namespace rocksieve::tools
