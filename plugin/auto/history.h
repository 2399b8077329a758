// SPDX-License-Identifier: Apache-2.0
// What a policy believes of a tree that nobody tells it about.
//
// Without a listener, a builder knows its column family, its level and why it is built, and the
// policy remembers what it has built before. A compaction's output at some level replaces what it
// overlaps at this level and above, as far as it overlaps it. That is not quite true (files of
// level 0 survive a compaction of deeper levels), but errs to the side of a smaller tree, and heals
// with the next compaction. Of a compaction of the whole tree, what is left of its inputs is known
// to be rewritten by it as well. What is deleted without a compaction stays believed in until one
// comes along.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/filter_policy.h>

#include "plugin/auto/live_file_registry.h"

namespace rocksieve {

class History {
 public:
  // For a file that is built in this context. Must not outlive the history.
  FileTracker NewTracker(const rocksdb::FilterBuildingContext& context);

 private:
  // A database is known by the address of its log, which is all that a builder is told of it.
  using TreeId = std::pair<const void*, std::string>;

  struct File {
    RegisteredFile file;
    int level = 0;
    bool trimmed = false;  // an output has taken the beginning of it
  };
  struct Tree {
    std::vector<File> files;  // in the order in which they were built
    uint64_t last_used = 0;
  };

  Tree* FindTreeLocked(const TreeId& id);
  Surroundings Look(const TreeId& id, int level, bool is_compaction, const RegisteredFile& self,
                    bool complete);
  void Update(const TreeId& id, int level, const RegisteredFile& self);

  std::mutex mutex_;
  std::map<TreeId, Tree> trees_;  // guarded by mutex_
  uint64_t uses_ = 0;             // guarded by mutex_
  uint64_t last_number_ = 0;      // guarded by mutex_; numbers are its own, not the files'
};

}  // namespace rocksieve
