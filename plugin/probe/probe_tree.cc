#include "plugin/probe/probe_tree.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "plugin/database/file_filter.h"
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
  if (!status.ok()) {
    return Status::TryAgain("the database deleted " + file.path +
                            " while it was looked at.\nTry again; let the command have more files "
                            "open (ulimit -n), or look at a checkpoint of the database.");
  }
  const FileFilter filter(*table);
  std::string_view ignored;
  probes->passes = 0;
  for (size_t i = part.begin; i < part.end; i++) {
    probes->filter_answers |= family.EntryToAsk(table->properties(), keys[i], &ignored);
    probes->passes += filter.MayContain(family, keys[i]) ? 1 : 0;
  }
  return status;
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

  double lookups = 0, passes = 0, variance = 0;
  for (const Task& task : tasks) {
    const auto met = static_cast<double>(task.result->lookups);
    const auto passed = static_cast<double>(task.result->passes);
    lookups += met;
    passes += passed;
    // Files without filters pass all, which is no matter of chance.
    if (met > 0) variance += passed * (1 - passed / met);
  }
  const auto count = static_cast<double>(keys->size());
  const double deviation = 1.96 * std::sqrt(variance);
  probes->files_met = lookups / count;
  probes->passes = passes / count;
  probes->passes_low_95 = std::max(0.0, passes - deviation) / count;
  probes->passes_high_95 = (passes + deviation) / count;
  return status;
}

}  // namespace rocksieve
