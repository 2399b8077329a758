// SPDX-License-Identifier: Apache-2.0
#include "plugin/unshared/shared_files.h"

#include <algorithm>
#include <utility>

#include "plugin/tables/table_file.h"

namespace rocksieve {

SharedFiles::SharedFiles(std::vector<StateFile> files, rocksdb::Env* env,
                         const ColumnFamily* family)
    : env_(env), family_(family) {
  std::map<int, Run> levels;
  for (StateFile& file : files) {
    if (file.level == 0) {
      runs_.push_back({{std::move(file)}, 0});
    } else {
      levels[file.level].files.push_back(std::move(file));
    }
  }
  for (auto& [level, run] : levels) {
    std::sort(run.files.begin(), run.files.end(),
              [](const StateFile& a, const StateFile& b) { return a.smallest < b.smallest; });
    runs_.push_back(std::move(run));
  }
}

bool SharedFiles::MayContain(std::string_view key, uint64_t smallest_sequence,
                             uint64_t largest_sequence) {
  for (Run& run : runs_) {
    for (; run.first < run.files.size() && run.files[run.first].largest < key; run.first++) {
      filters_.erase(run.files[run.first].path);
    }
    for (size_t i = run.first; i < run.files.size() && run.files[i].smallest <= key; i++) {
      const StateFile& file = run.files[i];
      if (file.largest >= key && file.smallest_sequence <= largest_sequence &&
          file.largest_sequence >= smallest_sequence && MayContain(file, key)) {
        return true;
      }
    }
  }
  return false;
}

bool SharedFiles::MayContain(const StateFile& file, std::string_view key) {
  const auto [found, is_new] = filters_.try_emplace(file.path);
  Filter& known = found->second;
  std::unique_ptr<TableFile> table;
  if (is_new && TableFile::Open(env_, file.path, &table).ok()) {
    known.deletes_ranges = table->properties().range_deletions > 0;
    if (!known.deletes_ranges) known.filter = std::make_unique<FileFilter>(*table);
  }
  return known.deletes_ranges || known.filter == nullptr || known.filter->MayContain(*family_, key);
}

}  // namespace rocksieve
