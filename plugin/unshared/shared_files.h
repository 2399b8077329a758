// SPDX-License-Identifier: Apache-2.0
// Whether files that both states share may have something to say of a key, by what the MANIFEST and
// their filters say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/database/column_family.h"
#include "plugin/database/file_filter.h"
#include "plugin/unshared/state_files.h"

namespace rocksieve {

class SharedFiles {
 public:
  // `env` and `family` must outlive it. REQUIRES: bytewise order.
  SharedFiles(std::vector<StateFile> files, rocksdb::Env* env, const ColumnFamily* family);

  // True if an entry of the key, or a deleted range with it, may have a sequence number within
  // these, both included. REQUIRES: keys come in rising order.
  bool MayContain(std::string_view key, uint64_t smallest_sequence, uint64_t largest_sequence);

 private:
  // Files of a level, or one of level 0: they overlap in their first and last keys at most.
  struct Run {
    std::vector<StateFile> files;
    size_t first = 0;  // before it, all end below the key
  };
  struct Filter {
    bool deletes_ranges = true;          // or it cannot be known
    std::unique_ptr<FileFilter> filter;  // null if there is none that can be read
  };

  bool MayContain(const StateFile& file, std::string_view key);

  rocksdb::Env* const env_;
  const ColumnFamily* const family_;
  std::vector<Run> runs_;
  std::map<std::string, Filter> filters_;  // by path, of the files where the key is
};

}  // namespace rocksieve
