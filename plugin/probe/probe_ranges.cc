// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/probe_ranges.h"

#include <algorithm>
#include <memory>
#include <string>

#include <rocksdb/perf_context.h>

#include "plugin/database/file_filter.h"
#include "plugin/database/open_errors.h"
#include "support/parallel.h"

namespace rocksieve {
namespace {

using rocksdb::Status;
using Ranges = std::vector<EmptyRange>;

constexpr size_t kMostReadRanges = 500;

Status ProbeFile(const ColumnFamily& family, const TreeFile& file, const Ranges& ranges,
                 KeySpan part, FileProbes* probes) {
  probes->lookups = probes->passes = part.size();
  probes->predicted = static_cast<double>(part.size());
  if (!file.filter.exists() || !file.filter_is_asked || part.size() == 0) return Status::OK();
  std::shared_ptr<const TableFile> table;
  const Status status = OpenTable(file, &table);
  if (!status.ok()) return DeletedMeanwhile(file);
  const FileFilter filter(*table);
  if (!filter.IsAskedForRanges(family)) return Status::OK();
  probes->filter_answers = true;
  probes->passes = 0;
  probes->predicted = 0;
  for (size_t i = part.begin; i < part.end; i++) {
    probes->predicted += filter.PredictedRangeRate(family, ranges[i]);
    probes->passes += filter.MayContainRange(family, ranges[i].begin, ranges[i].end) ? 1 : 0;
  }
  return status;
}

}  // namespace

KeySpan RangesThatMeet(const TreeLevel& level, size_t file, const Ranges& ranges) {
  const auto behind = [&](const TreeFile& passed) {
    const auto found = std::upper_bound(
        ranges.begin(), ranges.end(), passed.largest,
        [](const std::string& key, const EmptyRange& range) { return key < range.begin; });
    return static_cast<size_t>(found - ranges.begin());
  };
  const bool is_sought_alone = file == 0 || level.level == 0;
  return {is_sought_alone ? 0 : behind(level.files[file - 1]), behind(level.files[file])};
}

Status ProbeRanges(const Tree& tree, Ranges* ranges, Progress* progress, TreeProbes* probes) {
  std::sort(ranges->begin(), ranges->end(),
            [](const EmptyRange& a, const EmptyRange& b) { return a.begin < b.begin; });
  *probes = TreeProbes();
  probes->keys = ranges->size();
  struct Task {
    size_t level, file;
  };
  std::vector<Task> tasks;
  for (size_t i = 0; i < tree.levels.size(); i++) {
    probes->levels.emplace_back(tree.levels[i].files.size());
    for (size_t j = 0; j < tree.levels[i].files.size(); j++) tasks.push_back({i, j});
  }
  progress->Begin("asking filters of column family " + tree.family.name + " for ranges",
                  tasks.size());
  const Status status = RunAll(tasks.size(), [&](size_t i) {
    const auto [level, file] = tasks[i];
    const KeySpan part = RangesThatMeet(tree.levels[level], file, *ranges);
    const Status probed = ProbeFile(tree.family, tree.levels[level].files[file], *ranges, part,
                                    &probes->levels[level][file]);
    return probed.ok() ? Advanced(progress) : probed;
  });
  if (status.ok() && !ranges->empty()) SumUp(probes);
  return status;
}

BlockReads MeasureRangeReads(const Database& database, size_t family, const Tree& tree,
                             const Ranges& ranges) {
  BlockReads result;
  uint64_t met = 0, blocks = 0;
  const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  const size_t step = ranges.size() / kMostReadRanges + 1;
  for (size_t i = 0; i < ranges.size(); i += step) {
    const rocksdb::Slice end(ranges[i].end);
    rocksdb::ReadOptions read;
    read.total_order_seek = true;
    read.fill_cache = false;
    read.iterate_upper_bound = &end;
    bool found = false;
    Status status;
    // The first time also opens files, whose blocks do not count.
    for (int round = 0; round < 2; round++) {
      const std::unique_ptr<rocksdb::Iterator> keys(
          database.db()->NewIterator(read, database.handle(family)));
      rocksdb::get_perf_context()->Reset();
      keys->Seek(ranges[i].begin);
      found = keys->Valid();
      status = keys->status();
    }
    if (!status.ok()) {
      result.error = MessageOf(status);
      continue;
    }
    result.keys_tried++;
    result.keys_found += found ? 1 : 0;
    if (found) continue;
    for (const TreeLevel& level : tree.levels) {
      const auto is_met = [&](const TreeFile& file) { return file.largest >= ranges[i].begin; };
      const auto files = std::count_if(level.files.begin(), level.files.end(), is_met);
      met += static_cast<uint64_t>(level.level == 0 ? files : std::min<ptrdiff_t>(files, 1));
    }
    blocks += perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  }
  if (met > 0) result.per_pass = static_cast<double>(blocks) / static_cast<double>(met);
  return result;
}

}  // namespace rocksieve
