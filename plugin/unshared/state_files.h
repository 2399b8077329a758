// SPDX-License-Identifier: Apache-2.0
// The table files of two states of a database, and which of them are the same files.
//
// Two checkpoints of a database, or a checkpoint and the database, have most of their files in
// common: hard links of the same bytes. What differs between the two states is in the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/database/read_only_snapshot.h"

namespace rocksieve {

struct StateFile {
  std::string path;
  int level = 0;
  uint64_t bytes = 0;
  uint64_t smallest_sequence = 0, largest_sequence = 0;  // of its entries, as the MANIFEST has them
  std::string smallest, largest;                         // user keys
};

struct StateFiles {
  std::vector<StateFile> shared, first_only, second_only;
  uint64_t shared_bytes = 0, first_only_bytes = 0, second_only_bytes = 0;
  // `second_only` are files that were written between the states, whatever compactions have made of
  // them since, and of what only the first state has (written_files.h).
  bool are_written = false;
};

// A file is shared if both states have the same file of the file system (device and inode), and
// give the same sequence numbers to its entries. A file that its owner has deleted meanwhile counts
// as not shared.
StateFiles CompareFiles(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second);

}  // namespace rocksieve
