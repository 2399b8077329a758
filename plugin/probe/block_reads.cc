#include "plugin/probe/block_reads.h"

#include <rocksdb/perf_context.h>

#include "plugin/database/open_errors.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 2000;

uint64_t FilesMet(const Tree& tree, std::string_view key) {
  uint64_t met = 0;
  for (const TreeLevel& level : tree.levels) {
    for (const TreeFile& file : level.files) met += tree.LookupComesTo(file, key) ? 1 : 0;
  }
  return met;
}

}  // namespace

BlockReads MeasureBlockReads(const Database& database, size_t family, const Tree& tree,
                             const std::vector<std::string>& keys) {
  BlockReads result;
  if (!tree.family.comparator_known) {
    result.error = "the order of its keys is unknown here";
    return result;
  }
  const std::string latest(tree.family.comparator->timestamp_size(), '\xFF');
  const rocksdb::Slice timestamp(latest);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  if (!latest.empty()) read.timestamp = &timestamp;
  uint64_t files = 0, blocks = 0;
  const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  const size_t step = keys.size() / kKeys + 1;
  for (size_t i = 0; i < keys.size(); i += step) {
    rocksdb::Status status;
    // The first time also opens files, whose blocks do not count.
    for (int round = 0; round < 2; round++) {
      rocksdb::get_perf_context()->Reset();
      rocksdb::PinnableSlice value;
      status = database.db()->Get(read, database.handle(family), keys[i], &value);
    }
    if (!status.ok() && !status.IsNotFound()) {
      result.error = MessageOf(status);
      continue;
    }
    result.keys_tried++;
    if (status.ok()) {
      result.keys_found++;
      continue;
    }
    files += FilesMet(tree, keys[i]);
    blocks += perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  }
  if (files > 0) result.per_pass = static_cast<double>(blocks) / static_cast<double>(files);
  return result;
}

}  // namespace rocksieve
