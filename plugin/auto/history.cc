// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/history.h"

#include <algorithm>

#include "lib/budget/lookup_weights.h"
#include "plugin/auto/live_file_registry.h"

namespace rocksieve {
namespace {

// Beyond, the oldest are forgotten: trees of closed databases, files that nothing replaced.
constexpr size_t kMaxTrees = 256, kMaxFiles = 8192;

bool Overlap(const UserKeyRange& a, const UserKeyRange& b) {
  // Files that only meet in a key do not, as outputs of one compaction may; but those that are no
  // more than this key do.
  const std::string& from = std::max(a.smallest, b.smallest);
  const std::string& to = std::min(a.largest, b.largest);
  return from < to || (a.smallest == b.smallest && a.largest == b.largest);
}

// Sorts the other way round.
std::string Complement(std::string key) {
  for (char& byte : key) byte = static_cast<char>(~byte);
  return key;
}

RegisteredFile Numbered(RegisteredFile self, uint64_t number) {
  self.number = number;
  const UserKeyRange& range = *self.range;
  if (range.smallest > range.largest) {  // a comparator that turns the order round
    self.range = std::make_shared<const UserKeyRange>(
        UserKeyRange{Complement(range.smallest), Complement(range.largest)});
  }
  return self;
}

// What is left of the file beyond `end`. REQUIRES: it reaches beyond.
RegisteredFile TrimmedTo(const RegisteredFile& file, const std::string& end) {
  const UserKeyRange& range = *file.range;
  const KeyScale scale({range.smallest, range.largest, end});
  const double from = scale.PositionOf(range.smallest), to = scale.PositionOf(range.largest);
  const double share =
      to > from ? std::clamp((to - scale.PositionOf(end)) / (to - from), 0.0, 1.0) : 0.5;
  RegisteredFile rest = file;
  rest.range = std::make_shared<const UserKeyRange>(UserKeyRange{end + '\0', range.largest});
  rest.entries = static_cast<uint64_t>(share * static_cast<double>(file.entries));
  rest.filter_keys = static_cast<uint64_t>(share * static_cast<double>(file.filter_keys));
  rest.filter_bits *= share;
  return rest;
}

}  // namespace

FileTracker History::NewTracker(const rocksdb::FilterBuildingContext& context) {
  const TreeId id(context.info_log, context.column_family_name);
  const int level = std::max(context.level_at_creation, 0);
  const bool is_compaction = context.reason == rocksdb::TableFileCreationReason::kCompaction;
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t number = ++last_number_;
  return {[this, id, level, is_compaction, number](RegisteredFile self, bool complete) {
            return Look(id, level, is_compaction, Numbered(std::move(self), number), complete);
          },
          [this, id, level, number](RegisteredFile self) {
            Update(id, level, Numbered(std::move(self), number));
          }};
}

History::Tree* History::FindTreeLocked(const TreeId& id) {
  if (trees_.count(id) == 0 && trees_.size() >= kMaxTrees) {
    trees_.erase(std::min_element(trees_.begin(), trees_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    }));
  }
  Tree* tree = &trees_[id];
  tree->last_used = ++uses_;
  return tree;
}

Surroundings History::Look(const TreeId& id, int level, bool is_compaction,
                           const RegisteredFile& self, bool complete) {
  Surroundings around;
  std::vector<RegisteredFile> rests;  // of inputs of the compaction, beyond what it has written
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<File>& files = FindTreeLocked(id)->files;
  if (is_compaction) {
    // Compactions within level 0 take the newest files, not more than what came out.
    uint64_t replaced = 0;
    std::vector<File> kept;
    for (size_t i = files.size(); i-- > 0;) {
      File& file = files[i];
      const UserKeyRange& range = *file.file.range;
      const bool is_input =
          file.file.number != self.number && file.level <= level && Overlap(range, *self.range) &&
          (file.level == level || file.trimmed || range.smallest >= self.range->smallest) &&
          (level > 0 || replaced < self.entries);
      if (!is_input) {
        kept.push_back(std::move(file));
        continue;
      }
      replaced += file.file.entries;
      around.freed_bits += std::max(0.0, file.file.filter_bits);
      if (range.largest > self.range->largest) {
        kept.push_back({TrimmedTo(file.file, self.range->largest), file.level, true});
        around.freed_bits -= std::max(0.0, kept.back().file.filter_bits);
        rests.push_back(kept.back().file);
      }
    }
    std::reverse(kept.begin(), kept.end());
    files = std::move(kept);
  }
  // Only a compaction of everything is sure to rewrite them: of others, files that were moved since
  // may look like inputs.
  const auto beyond = std::count_if(files.begin(), files.end(), [&](const File& file) {
    return file.file.range->largest > self.range->largest;
  });
  const bool whole_tree = static_cast<size_t>(beyond) == rests.size();
  const auto is_rest = [&](const RegisteredFile& file) {
    return file.number == self.number || (whole_tree && file.range->largest > self.range->largest);
  };
  around.others.reserve(files.size());
  for (const File& file : files) {
    if (!is_rest(file.file)) around.others.push_back(file.file);
  }
  if (whole_tree) {
    const UserKeyRange& range = *self.range;
    AddPendingOutput(rests, {{range.smallest, range.largest, self.entries}}, false, self, complete,
                     &around);
  }
  return around;
}

void History::Update(const TreeId& id, int level, const RegisteredFile& self) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<File>& files = FindTreeLocked(id)->files;
  for (size_t i = files.size(); i-- > 0;) {
    if (files[i].file.number == self.number) {
      files[i].file = self;
      return;
    }
  }
  files.push_back({self, level, false});
  if (files.size() > kMaxFiles) files.erase(files.begin());
}

}  // namespace rocksieve
