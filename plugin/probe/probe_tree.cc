// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/probe_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include <rocksdb/perf_context.h>

#include "support/parallel.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr size_t kMostReadKeys = 2000, kMostReadRanges = 500;

auto OrderOf(const ColumnFamily& family) {
  return [&family](const std::string& a, const std::string& b) { return family.Compare(a, b) < 0; };
}

// Fills in all that is of one lookup.
void SumUp(TreeProbes* probes) {
  ProbeSums sums;
  double variance = 0;
  for (const std::vector<FileProbes>& level : probes->levels) {
    for (const FileProbes& file : level) {
      sums.Add(file);
      const auto met = static_cast<double>(file.lookups), passed = static_cast<double>(file.passes);
      // Files without filters pass all, which is no matter of chance.
      if (met > 0) variance += passed * (1 - passed / met);
    }
  }
  const bool some_rejected = sums.passes < sums.lookups;
  const auto count = static_cast<double>(probes->keys);
  // The score interval of a Poisson distribution's mean, which Wilson's is for few passes: it is
  // sound for none of them too.
  constexpr double kZ = 1.959964;  // 97.5 % of a normal distribution lie below
  const double middle = some_rejected ? sums.passes + kZ * kZ / 2 : sums.passes;
  const double reach = some_rejected ? kZ * std::sqrt(variance + kZ * kZ / 4) : 0;
  probes->files_met = sums.lookups / count;
  probes->passes = sums.passes / count;
  // No rounding at none.
  probes->passes_low_95 = sums.passes == 0 ? 0 : std::max(0.0, middle - reach) / count;
  probes->passes_high_95 = std::min(sums.lookups, middle + reach) / count;
}

// Those that come to a file of a level, and what its filter says of them.
using Meet = std::function<KeySpan(const TreeLevel& level, size_t file)>;
using Ask = std::function<void(const TreeFile& file, const FileFilter& filter, KeySpan part,
                               FileProbes* probes)>;

Status ProbeFile(const TreeFile& file, KeySpan part, const Ask& ask, FileProbes* probes) {
  probes->lookups = probes->passes = part.size();
  probes->predicted = static_cast<double>(part.size());
  if (!file.filter.exists() || !file.filter_is_asked || part.size() == 0) return Status::OK();
  std::shared_ptr<const TableFile> table;
  const Status status = OpenTable(file, &table);
  if (status.ok()) {
    ask(file, FileFilter(*table), part, probes);
    return status;
  }
  return Status::TryAgain("the database deleted " + file.path +
                          " while it was looked at.\nTry again; let the command have more files "
                          "open (ulimit -n), or look at a checkpoint of the database.");
}

Status ProbeFiles(const Tree& tree, size_t count, const std::string& step, const Meet& meet,
                  const Ask& ask, Progress* progress, TreeProbes* probes) {
  *probes = TreeProbes();
  probes->keys = count;
  std::vector<std::pair<size_t, size_t>> tasks;  // level and file
  for (size_t i = 0; i < tree.levels.size(); i++) {
    probes->levels.emplace_back(tree.levels[i].files.size());
    for (size_t j = 0; j < tree.levels[i].files.size(); j++) tasks.emplace_back(i, j);
  }
  progress->Begin("asking filters of column family " + tree.family.name + step, tasks.size());
  const Status status = RunAll(tasks.size(), [&](size_t i) {
    const auto [level, file] = tasks[i];
    const TreeLevel& files = tree.levels[level];
    const Status probed =
        ProbeFile(files.files[file], meet(files, file), ask, &probes->levels[level][file]);
    return probed.ok() ? Advanced(progress) : probed;
  });
  if (status.ok() && count > 0) SumUp(probes);
  return status;
}

// look(i, &found) reads one of them in the database, and met(i) counts the files that it comes to.
template <typename Look, typename Met>
BlockReads MeasureReads(size_t count, size_t most, const Look& look, const Met& met) {
  BlockReads result;
  double files = 0, blocks = 0;
  const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  for (size_t i = 0; i < count; i += count / most + 1) {
    bool found = false;
    Status status;
    // The first time also opens files, whose blocks do not count.
    for (int round = 0; round < 2; round++) {
      rocksdb::get_perf_context()->Reset();
      status = look(i, &found);
    }
    if (!status.ok()) {
      result.error = MessageOf(status);
      continue;
    }
    result.keys_tried++;
    result.keys_found += found ? 1 : 0;
    if (found) continue;
    files += static_cast<double>(met(i));
    blocks += static_cast<double>(perf.block_read_count - perf.index_block_read_count -
                                  perf.filter_block_read_count);
  }
  if (files > 0) result.per_pass = blocks / files;
  return result;
}

}  // namespace

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

void ProbeSums::Add(const FileProbes& file) {
  const auto met = static_cast<double>(file.lookups), passed = static_cast<double>(file.passes);
  lookups += met;
  passes += passed;
  predicted += file.predicted;
  if (!file.filter_answers) return;
  filter_lookups += met;
  filter_passes += passed;
  filter_predicted += file.predicted;
}

Status ProbeTree(const Tree& tree, Keys* keys, Progress* progress, TreeProbes* probes) {
  const ColumnFamily& family = tree.family;
  SortKeys(family, keys);
  return ProbeFiles(
      tree, keys->size(), "",
      [&](const TreeLevel& level, size_t file) {
        return KeysThatMeet(tree, level.files[file], *keys);
      },
      [&](const TreeFile& file, const FileFilter& filter, KeySpan part, FileProbes* found) {
        if (!filter.can_be_asked) return;
        std::string_view ignored;
        found->passes = 0;
        for (size_t i = part.begin; i < part.end; i++) {
          const std::string& key = (*keys)[i];
          found->filter_answers |= family.EntryToAsk(filter.properties(), key, &ignored);
          found->passes += filter.MayContain(family, key) ? 1 : 0;
        }
        if (found->filter_answers) found->predicted *= file.filter.predicted_rate;
      },
      progress, probes);
}

Status ProbeRanges(const Tree& tree, Ranges* ranges, Progress* progress, TreeProbes* probes) {
  const ColumnFamily& family = tree.family;
  std::sort(ranges->begin(), ranges->end(),
            [](const EmptyRange& a, const EmptyRange& b) { return a.begin < b.begin; });
  return ProbeFiles(
      tree, ranges->size(), " for ranges",
      [&](const TreeLevel& level, size_t file) { return RangesThatMeet(level, file, *ranges); },
      [&](const TreeFile&, const FileFilter& filter, KeySpan part, FileProbes* found) {
        if (!filter.IsAskedForRanges(family)) return;
        *found = {part.size(), 0, /*filter_answers=*/true, 0};
        for (size_t i = part.begin; i < part.end; i++) {
          const EmptyRange& range = (*ranges)[i];
          found->predicted += filter.PredictedRangeRate(family, range);
          found->passes += filter.MayContainRange(family, range.begin, range.end) ? 1 : 0;
        }
      },
      progress, probes);
}

BlockReads MeasureBlockReads(const Tree& tree, const Keys& keys) {
  if (!tree.family.comparator_known) return {1, 0, 0, "the order of its keys is unknown here"};
  const std::string latest(tree.family.comparator->timestamp_size(), '\xFF');
  const rocksdb::Slice timestamp(latest);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  if (!latest.empty()) read.timestamp = &timestamp;
  const std::vector<const TreeFile*> files = tree.files();
  const rocksdb::SliceTransform* const extractor = tree.family.prefix_extractor.get();
  return MeasureReads(
      keys.size(), kMostReadKeys,
      [&](size_t i, bool* found) {
        // A hash index takes the prefix of any key, if it has one or not.
        read.total_order_seek = extractor != nullptr && !extractor->InDomain(keys[i]);
        rocksdb::PinnableSlice value;
        const Status status = tree.database->db()->Get(read, tree.handle(), keys[i], &value);
        *found = status.ok();
        return status.IsNotFound() ? Status::OK() : status;
      },
      [&](size_t i) {
        return std::count_if(files.begin(), files.end(), [&](const TreeFile* file) {
          return tree.LookupComesTo(*file, keys[i]);
        });
      });
}

BlockReads MeasureRangeReads(const Tree& tree, const Ranges& ranges) {
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  return MeasureReads(
      ranges.size(), kMostReadRanges,
      [&](size_t i, bool* found) {
        const rocksdb::Slice end(ranges[i].end);
        read.iterate_upper_bound = &end;
        const std::unique_ptr<rocksdb::Iterator> keys(
            tree.database->db()->NewIterator(read, tree.handle()));
        rocksdb::get_perf_context()->Reset();  // of what it took to make it
        keys->Seek(ranges[i].begin);
        *found = keys->Valid();
        return keys->status();
      },
      [&](size_t i) {
        ptrdiff_t met = 0;
        for (const TreeLevel& level : tree.levels) {
          const auto files =
              std::count_if(level.files.begin(), level.files.end(),
                            [&](const TreeFile& file) { return file.largest >= ranges[i].begin; });
          met += level.level == 0 ? files : std::min<ptrdiff_t>(files, 1);
        }
        return met;
      });
}

}  // namespace rocksieve
