// SPDX-License-Identifier: Apache-2.0
// Where the data blocks of a table file are, by the file's index, which may be in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rocksdb/status.h>

#include "plugin/tables/table_file.h"

namespace rocksieve {

// Whatever checksum it has. NotSupported if the block is compressed and cannot be uncompressed.
rocksdb::Status ReadWholeBlock(const TableFile& table, BlockPlace place, std::string* block);

class TableIndex {
 public:
  // `table` must outlive it. Reads the index, or that of its parts, and stands before the first
  // block. NotSupported if it is of a kind that is not known here.
  rocksdb::Status Open(const TableFile* table);

  // The next data block, in the order of their keys. False at the end, and after an error.
  bool Next(BlockPlace* place);
  const rocksdb::Status& status() const { return status_; }

  void SeekToFirst();
  // To before the first block that may have this user key, or a larger one, in bytewise order.
  void Seek(std::string_view user_key);

 private:
  // A block of places, whole.
  struct Level {
    std::string block;
    BlockCursor cursor;
    BlockPlace place;
    bool is_read = false;  // the cursor stands at `place`, which was not given yet
  };

  void Reset(Level* level) const;
  bool NextOf(Level* level, BlockPlace* place);
  bool SeekIn(Level* level, std::string_view user_key);
  bool ReadPart(BlockPlace place);
  bool Fail(const rocksdb::Status& status);

  const TableFile* table_ = nullptr;
  bool has_parts_ = false, delta_values_ = false;
  size_t ignored_key_bytes_ = 0;
  Level top_, part_;
  bool has_part_ = false;
  uint64_t bytes_left_ = 0;  // that blocks may have which are yet to be named
  rocksdb::Status status_;
};

}  // namespace rocksieve
