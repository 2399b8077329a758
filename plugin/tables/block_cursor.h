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
#include <string_view>

#include <rocksdb/status.h>

namespace rocksieve {

// A number of a variable length, at the front of *bytes, which is shortened. False if there is
// none.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

class BlockCursor {
 public:
  BlockCursor() = default;
  explicit BlockCursor(std::string_view block) { Reset(block); }

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

}  // namespace rocksieve
