// SPDX-License-Identifier: Apache-2.0
// The entries of a block-based table file, one after another: what RocksDB keeps of writes, with
// deletions, merge operands and old versions, which its iterators do not show.
//
// Every block's checksum is verified. Sources: RocksDB 7.8 and 9.10, db/dbformat.h (internal keys),
// table/block_based/block_based_table_builder.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>

#include "lib/format/coding.h"
#include "plugin/tables/sst_block.h"
#include "plugin/tables/table_file.h"

namespace rocksieve {

// Where the data blocks of a table file are, by the file's index, which may be in parts.
//
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

// ValueType of RocksDB's db/dbformat.h, as far as these are told apart. Files may have others.
enum class EntryType : uint8_t {
  kDeletion = 0x0,
  kValue = 0x1,
  kSingleDeletion = 0x7,
  kBlobIndex = 0x11,
  kWideColumns = 0x16,
};

// Views until the next entry.
struct TableEntry {
  std::string_view user_key;
  uint64_t sequence = 0;  // 0 in the files of an SstFileWriter: the MANIFEST has theirs
  EntryType type = EntryType::kValue;
  std::string_view value;
};

// User keys from the first one up to but without the second one.
using DeletedRange = std::pair<std::string, std::string>;

class TableEntries {
 public:
  // Reads up to so many bytes at once, within what the limiter (may be null) allows with priority
  // IO_LOW. NotSupported if the file, intact as it may be, has an index that is not known here.
  // Errors name the file.
  static rocksdb::Status Open(rocksdb::Env* env, const std::string& path, size_t readahead_bytes,
                              rocksdb::RateLimiter* limiter,
                              std::unique_ptr<TableEntries>* entries);

  // NotSupported if the first block's compression is not known here, which is mostly that of the
  // others. REQUIRES: nothing was read yet.
  rocksdb::Status CheckFirstBlock();

  // In the order of user keys by the file's comparator, newest versions of a key first. False at
  // the end, and after an error: status().
  bool Next() {
    if (!cursor_.Next() && !NextInNextBlock()) return false;
    const std::string_view key = cursor_.key();
    if (key.size() < kSequenceAndTypeBytes) return FailForShortKey();
    const size_t key_bytes = key.size() - kSequenceAndTypeBytes;
    const uint64_t packed = LoadLittleEndian64(key.data() + key_bytes);
    entry_.user_key = key.substr(0, key_bytes);
    entry_.sequence = packed >> 8;
    entry_.type = static_cast<EntryType>(packed & 0xFF);
    entry_.value = cursor_.value();
    entries_++;
    return true;
  }
  // Next() then gives the first entry whose user key is not below this one, in bytewise order.
  void Seek(std::string_view user_key);
  const TableEntry& entry() const { return entry_; }
  const rocksdb::Status& status() const { return status_; }

  // What DeleteRange() left in the file.
  const std::vector<DeletedRange>& deleted_ranges() const { return deleted_ranges_; }
  const TableFile& table() const { return *table_; }

 private:
  TableEntries() = default;
  rocksdb::Status ReadDictionary();
  rocksdb::Status ReadDeletedRanges();
  bool NextInNextBlock();
  rocksdb::Status ReadBlockAt(BlockPlace place);
  rocksdb::Status Fill(BlockPlace place);
  bool Fail(const rocksdb::Status& status);
  bool FailForShortKey();

  std::unique_ptr<TableFile> table_;
  TableIndex index_;
  size_t readahead_bytes_ = 0;
  size_t next_read_bytes_ = 0;
  rocksdb::RateLimiter* limiter_ = nullptr;
  std::string dictionary_;
  std::unique_ptr<char[]> buffer_;
  size_t buffer_bytes_ = 0;
  std::string_view read_ahead_;  // of the file, from this offset on
  uint64_t read_ahead_offset_ = 0;
  std::string uncompressed_;
  BlockCursor cursor_;
  TableEntry entry_;
  std::vector<DeletedRange> deleted_ranges_;
  uint64_t entries_ = 0;
  bool counts_all_ = true;  // entries_ is to be what the file says: no entry was left out
  rocksdb::Status status_;
};

}  // namespace rocksieve
