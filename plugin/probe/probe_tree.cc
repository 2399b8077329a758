// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/probe_tree.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <rocksdb/perf_context.h>

#include "plugin/tables/table_file.h"
#include "support/parallel.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

auto OrderOf(const ColumnFamily& family) {
  return [&family](const std::string& a, const std::string& b) { return family.Compare(a, b) < 0; };
}

Status ProbeFile(const ColumnFamily& family, const TreeFile& file, const Keys& keys, KeySpan part,
                 FileProbes* probes) {
  probes->lookups = probes->passes = part.end - part.begin;
  if (!file.filter.exists() || !file.filter_is_asked || !file.filter.can_be_asked) {
    return Status::OK();
  }
  std::shared_ptr<const TableFile> table;
  const Status status = OpenTable(file, &table);
  if (!status.ok()) return DeletedMeanwhile(file);
  const FileFilter filter(*table);
  std::string_view ignored;
  probes->passes = 0;
  for (size_t i = part.begin; i < part.end; i++) {
    probes->filter_answers |= family.EntryToAsk(table->properties(), keys[i], &ignored);
    probes->passes += filter.MayContain(family, keys[i]) ? 1 : 0;
  }
  return status;
}

constexpr uint64_t kKeys = 2000;

}  // namespace

Status DeletedMeanwhile(const TreeFile& file) {
  return Status::TryAgain("the database deleted " + file.path +
                          " while it was looked at.\nTry again; let the command have more files "
                          "open (ulimit -n), or look at a checkpoint of the database.");
}

void SortKeys(const ColumnFamily& family, Keys* keys) {
  std::sort(keys->begin(), keys->end(), OrderOf(family));
}

KeySpan KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys) {
  if (!tree.family.comparator_known) return {0, keys.size()};
  const auto before = OrderOf(tree.family);
  const auto begin = tree.ChecksRanges()
                         ? std::lower_bound(keys.begin(), keys.end(), file.smallest, before)
                         : keys.begin();
  const auto end = std::upper_bound(begin, keys.end(), file.largest, before);
  return {static_cast<size_t>(begin - keys.begin()), static_cast<size_t>(end - keys.begin())};
}

void SumUp(TreeProbes* probes) {
  double lookups = 0, passes = 0, variance = 0;
  bool some_rejected = false;
  for (const std::vector<FileProbes>& level : probes->levels) {
    for (const FileProbes& file : level) {
      const auto met = static_cast<double>(file.lookups);
      const auto passed = static_cast<double>(file.passes);
      lookups += met;
      passes += passed;
      // Files without filters pass all, which is no matter of chance.
      if (met > 0) variance += passed * (1 - passed / met);
      some_rejected |= passed < met;
    }
  }
  const auto count = static_cast<double>(probes->keys);
  // The score interval of a Poisson distribution's mean, which Wilson's is for few passes: it is
  // sound for none of them too.
  constexpr double kZ = 1.959964;  // 97.5 % of a normal distribution lie below
  const double middle = some_rejected ? passes + kZ * kZ / 2 : passes;
  const double reach = some_rejected ? kZ * std::sqrt(variance + kZ * kZ / 4) : 0;
  probes->files_met = lookups / count;
  probes->passes = passes / count;
  // No rounding at none.
  probes->passes_low_95 = passes == 0 ? 0 : std::max(0.0, middle - reach) / count;
  probes->passes_high_95 = std::min(lookups, middle + reach) / count;
}

Status ProbeTree(const Tree& tree, Keys* keys, Progress* progress, TreeProbes* probes) {
  SortKeys(tree.family, keys);
  *probes = TreeProbes();
  probes->keys = keys->size();
  struct Task {
    const TreeFile* file;
    FileProbes* result;
  };
  std::vector<Task> tasks;
  for (const TreeLevel& level : tree.levels) {
    probes->levels.emplace_back(level.files.size());
  }
  for (size_t i = 0; i < tree.levels.size(); i++) {
    for (size_t j = 0; j < tree.levels[i].files.size(); j++) {
      tasks.push_back({&tree.levels[i].files[j], &probes->levels[i][j]});
    }
  }
  progress->Begin("asking filters of column family " + tree.family.name, tasks.size());
  const Status status = RunAll(tasks.size(), [&](size_t i) {
    const KeySpan part = KeysThatMeet(tree, *tasks[i].file, *keys);
    const Status probed = ProbeFile(tree.family, *tasks[i].file, *keys, part, tasks[i].result);
    return probed.ok() ? Advanced(progress) : probed;
  });
  if (!status.ok() || keys->empty()) return status;

  SumUp(probes);
  return status;
}

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
  uint64_t met = 0, blocks = 0;
  const std::vector<const TreeFile*> files = tree.files();
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
    met += static_cast<uint64_t>(std::count_if(files.begin(), files.end(), [&](const auto* file) {
      return tree.LookupComesTo(*file, keys[i]);
    }));
    blocks += perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  }
  if (met > 0) result.per_pass = static_cast<double>(blocks) / static_cast<double>(met);
  return result;
}

namespace {

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
