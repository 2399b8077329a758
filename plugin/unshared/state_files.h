// SPDX-License-Identifier: Apache-2.0
// The table files and logs of two states of a database: which files are the same ones in both,
// which were written between them, and what may be known of keys in them.
//
// Two checkpoints of a database, or a checkpoint and the database, have most of their files in
// common: hard links of the same bytes. What differs between the two states is in the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/column_family.h"
#include "plugin/database/tree.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/tables/table_entries.h"
#include "plugin/tables/table_file.h"

namespace rocksieve {

struct StateFiles {
  std::vector<LiveTable> shared, first_only, second_only;
  uint64_t shared_bytes = 0, first_only_bytes = 0, second_only_bytes = 0;
  // `second_only` are files that were written between the states, whatever compactions have made of
  // them since, and of what only the first state has (FindWrittenFiles()).
  bool are_written = false;
};

// A file is shared if both states have the same file of the file system (device and inode), and
// give the same sequence numbers to its entries. A file that its owner has deleted meanwhile counts
// as not shared.
StateFiles CompareFiles(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second);

// What write-ahead logs have written that may be in no table file yet: keys, and ranges that were
// deleted.
struct LogKeys {
  std::set<std::string> keys;
  std::vector<DeletedRange> deleted_ranges;

  // Adds those of a state, more than its memtables hold, maybe. NotSupported if the logs cannot be
  // read so, do not have all that the memtables have, or have keys of more than so many bytes.
  rocksdb::Status Add(const ReadOnlySnapshot& state, size_t most_bytes);
};

// Whether files that both states share may have something to say of a key, by what the MANIFEST and
// their filters say.
class SharedFiles {
 public:
  // `env` and `family` must outlive it. REQUIRES: bytewise order.
  SharedFiles(std::vector<LiveTable> files, rocksdb::Env* env, const ColumnFamily* family);

  // True if an entry of the key, or a deleted range with it, may have a sequence number within
  // these, both included. REQUIRES: keys come in rising order.
  bool MayContain(std::string_view key, uint64_t smallest_sequence, uint64_t largest_sequence);

 private:
  struct Run {
    std::vector<LiveTable> files;
    size_t first = 0;  // before it, all end below the key
  };
  struct Filter {
    bool deletes_ranges = true;          // or it cannot be known
    std::unique_ptr<FileFilter> filter;  // null if there is none that can be read
  };

  bool MayContain(const LiveTable& file, std::string_view key);

  rocksdb::Env* const env_;
  const ColumnFamily* const family_;
  std::vector<Run> runs_;
  std::map<std::string, Filter> filters_;  // by path, of the files where the key is
};

// What was written between two states, by the database's journal (how that is proven:
// written_files.cc). Of a column family: `files` are those of two states of the database in the
// directory, and become those that were written (StateFiles::are_written), without their keys.
// NotFound, and why, if the journal does not tell, or there is none; then nothing is changed.
rocksdb::Status FindWrittenFiles(const std::string& database, const ReadOnlySnapshot& earlier,
                                 const ReadOnlySnapshot& later, StateFiles* files);

}  // namespace rocksieve
