// SPDX-License-Identifier: Apache-2.0
// Goes through the entries of a block of keys and values, or of an index.
//
// Sources: RocksDB 7.8 and 11.8, table/block_based/{block_builder,block,data_block_footer}.cc: each
// entry shares the first bytes of its key with the one before, but at the restart points, whose
// places stand at the block's end.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/env.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>

namespace rocksieve {

// A number of a variable length, at the front of *bytes, which is shortened. False if there is
// none.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

rocksdb::Status UnreadableEntry();

// What a status says, without its kind.
std::string MessageOf(const rocksdb::Status& status);

class BlockCursor {
 public:
  BlockCursor() = default;
  explicit BlockCursor(std::string_view block, bool has_value_sizes = true) {
    Reset(block, has_value_sizes);
  }

  // To before the first entry of another block, which must outlive what is read of it. NotSupported
  // if its last bytes name a feature that is not known, or a hash index: status().
  // `has_value_sizes` is false for an index that stores its values as differences: value() is then
  // empty, and rest() begins with it.
  void Reset(std::string_view block, bool has_value_sizes = true);

  // False at the end, and after an error: Corruption if the block cannot be taken apart.
  bool Next() {
    const auto left = static_cast<size_t>(end_ - next_);
    // Mostly, the three sizes before an entry take a byte each.
    constexpr size_t kSizes = 3;
    if (left < kSizes || !has_value_sizes_) return NextSlowly();
    const auto shared = static_cast<uint8_t>(next_[0]), own = static_cast<uint8_t>(next_[1]),
               value_bytes = static_cast<uint8_t>(next_[2]);
    if (((shared | own | value_bytes) & 0x80) != 0) return NextSlowly();
    if (shared > key_bytes_ || left < kSizes + own + value_bytes) return NextSlowly();
    TakeKey(next_ + kSizes, shared, own);
    value_ = std::string_view(next_ + kSizes + own, value_bytes);
    next_ += kSizes + own + value_bytes;
    return true;
  }
  const rocksdb::Status& status() const { return status_; }

  // To before a restart point such that all entries before it are smaller than `key`, to which all
  // keys, without so many bytes at their end, are compared bytewise. Next() goes on from there.
  // False after an error.
  bool SeekBefore(std::string_view key, size_t ignored_key_bytes);

  // To before the first entry that is not below `key`, compared so. False after an error.
  bool Seek(std::string_view key, size_t ignored_key_bytes);

  // Until the next call.
  std::string_view key() const { return {key_, key_bytes_}; }
  std::string_view value() const { return value_; }
  // Whether the key has bytes of the one before.
  bool shares() const { return shares_; }

  // What follows the entry's key, of which so many bytes belong to the entry.
  std::string_view rest() const { return {next_, static_cast<size_t>(end_ - next_)}; }
  void Skip(size_t bytes) { next_ += bytes; }

 private:
  // Shorter copies may take as many bytes, of the block and into the key's own ones.
  static constexpr size_t kCopied = 32;

  bool NextSlowly();
  bool Fail(rocksdb::Status status);
  void Grow(size_t key_bytes);

  void TakeKey(const char* from, size_t shared, size_t own) {
    shares_ = shared != 0;
    key_bytes_ = shared + own;
    if (shared == 0) {
      key_ = from;
      return;
    }
    if (own_capacity_ < key_bytes_ + kCopied) Grow(key_bytes_ + kCopied);
    if (key_ != own_key_.get()) {
      std::memcpy(own_key_.get(), key_, shared);
      key_ = own_key_.get();
    }
    if (own <= kCopied && static_cast<size_t>(block_end_ - from) >= kCopied) {
      std::memcpy(own_key_.get() + shared, from, kCopied);
    } else {
      std::memcpy(own_key_.get() + shared, from, own);
    }
  }

  const char* next_ = nullptr;  // of the entries
  const char* end_ = nullptr;   // of them
  const char* block_end_ = nullptr;
  const char* begin_ = nullptr;
  uint32_t restarts_ = 0;  // whose places, of four bytes each, begin at end_
  bool has_value_sizes_ = true;
  bool shares_ = false;
  const char* key_ = nullptr;  // in the block if it shares nothing, else own_key_
  size_t key_bytes_ = 0;
  std::string_view value_;
  std::unique_ptr<char[]> own_key_;
  size_t own_capacity_ = 0;
  rocksdb::Status status_;
};

// Blocks of RocksDB's block-based table files, read without RocksDB.
//
// RocksDB's public interface gives neither the names of a file's meta blocks nor the key ranges of
// its filter partitions nor the place of a damaged block, and an older release refuses the files of
// a later one. The format is documented: a block is followed by one byte that names its
// compression, and a checksum of four bytes. format_version 0 to 7 are read, whatever release this
// is built with; a later one, or a feature that is not known, is said and never guessed at.
// Sources: RocksDB 7.8 and 11.8, table/format.cc, table/block_based/{block_builder,
// data_block_footer}.cc, and the wiki page "Rocksdb BlockBasedTable Format".

// Where a block stands in its file; size without the five bytes that follow it.
struct BlockPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
};

inline constexpr uint64_t kBlockTrailerBytes = 5;
inline constexpr size_t kSequenceAndTypeBytes = 8;  // after the user key, in keys of blocks

// What the last bytes of a file say.
struct TableFooter {
  uint32_t format_version = 0;
  rocksdb::ChecksumType checksum = rocksdb::kCRC32c;
  BlockPlace meta_index;
  BlockPlace index;  // of the data blocks; before format_version 6, later a meta block has it
  // From format_version 6 on: never 0, and the checksum of each block depends on it and on the
  // place of the block, so that a block that stands elsewhere does not match.
  uint32_t base_context_checksum = 0;
};

// The latest that is known: RocksDB 10.4 to 11.8.
inline constexpr uint32_t kLatestFormatVersion = 7;
inline constexpr uint32_t kContextFormatVersion = 6;  // the first with base_context_checksum

// Corruption if the file does not end as a block-based table does: other formats are named.
// NotSupported if it may be intact, but of a RocksDB later than those that are known.
rocksdb::Status ReadFooter(rocksdb::RandomAccessFile* file, uint64_t file_bytes,
                           TableFooter* footer);

// Reads a block that is not compressed, as all meta blocks are, and checks its checksum unless told
// otherwise. Corruption says what is wrong and where; *contents then holds what could be read.
rocksdb::Status ReadBlock(rocksdb::RandomAccessFile* file, uint64_t file_bytes,
                          const TableFooter& footer, BlockPlace place, bool check,
                          std::string* contents);

// The checksum that RocksDB stores behind a block at this offset: of its bytes and of the one that
// follows them and names the compression.
uint32_t BlockChecksum(const TableFooter& footer, uint64_t offset,
                       std::string_view block_and_compression);

// The same of any block, as it is stored, with the byte that names its compression.
rocksdb::Status ReadStoredBlock(rocksdb::RandomAccessFile* file, uint64_t file_bytes,
                                const TableFooter& footer, BlockPlace place, bool check,
                                std::string* stored, uint8_t* compression);

// Corruption if a block, with what stands behind it, does not match its checksum.
rocksdb::Status CheckBlock(const TableFooter& footer, BlockPlace place,
                           std::string_view block_and_trailer);

// The place that the entry names at which the cursor stands, of an index; *place is that of the
// entry before, if there is one. With `delta_values`, places are stored as differences
// (format_version 4 and later, index_value_is_delta_encoded). False if it cannot be taken apart.
bool TakeIndexValue(bool delta_values, BlockCursor* entries, BlockPlace* place);

// Blocks of RocksDB's table files as they were before they were compressed.
//
// Sources: RocksDB 7.8 and 9.10, util/compression.h and table/format.cc: since format_version 2 the
// size stands before the compressed bytes, as a varint32; Snappy has it in its own format.
//
// Larger blocks are not uncompressed here: RocksDB makes blocks of kilobytes, or of one large row.
inline constexpr uint64_t kMostBlockBytes = uint64_t{256} << 20;

// `compression`: a rocksdb::CompressionType, as it stands behind the block. `dictionary`: of the
// file, or empty. NotSupported: BZip2, Xpress, types of later releases, larger blocks. Corruption
// if the bytes cannot be uncompressed. Replaces *block.
rocksdb::Status Uncompress(uint8_t compression, std::string_view stored,
                           std::string_view dictionary, std::string* block);

}  // namespace rocksieve
