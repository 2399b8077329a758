// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/table_entries.h"

#include <algorithm>

#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "plugin/tables/sst_block.h"
#include "support/return_if_error.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr char kIndexBlockName[] = "rocksdb.index";
constexpr char kDictionaryName[] = "rocksdb.compression_dict",
               kRangeDeletionsName[] = "rocksdb.range_del";
constexpr uint32_t kFirstFormatVersion = 2;  // before, sizes do not stand before compressed bytes
// From the one on in which applications may bring their own compression.
constexpr uint32_t kFormatVersionOfOwnCompression = 7;
// What is read first after a seek: twice as much each time from there on.
constexpr size_t kFirstReadBytes = 64 << 10;

// A block without entries.
constexpr std::string_view kNoEntries("\0\0\0\0", 4);

Status ShortKey() { return Status::Corruption("a key is shorter than its sequence number"); }

Status CheckFormat(const TableFooter& footer) {
  if (footer.format_version >= kFirstFormatVersion &&
      footer.format_version < kFormatVersionOfOwnCompression) {
    return Status::OK();
  }
  return Status::NotSupported("format_version " + std::to_string(footer.format_version));
}

Status Named(const std::string& path, const Status& status) {
  const std::string text = path + ": " + MessageOf(status);
  if (status.IsNotSupported()) return Status::NotSupported(text);
  return status.IsCorruption() ? Status::Corruption(text) : Status::IOError(text);
}

}  // namespace

Status ReadWholeBlock(const TableFile& table, BlockPlace place, std::string* block) {
  std::string stored;
  uint8_t compression = 0;
  const Status status = ReadStoredBlock(table.file(), table.bytes(), table.footer(), place,
                                        /*check=*/true, &stored, &compression);
  return status.ok() ? Uncompress(compression, stored, "", block) : status;
}

Status TableIndex::Open(const TableFile* table) {
  using Options = rocksdb::BlockBasedTableOptions;
  table_ = table;
  const TableProperties& properties = table->properties();
  if (properties.index_type > Options::kTwoLevelIndexSearch) {
    return Status::NotSupported("index type " + std::to_string(properties.index_type));
  }
  has_parts_ = properties.index_type == Options::kTwoLevelIndexSearch;
  delta_values_ = properties.index_value_is_delta_encoded;
  ignored_key_bytes_ = properties.index_key_is_user_key ? 0 : kSequenceAndTypeBytes;
  const BlockPlace* const named = table->MetaBlock(kIndexBlockName);
  RETURN_IF_ERROR(
      ReadWholeBlock(*table, named != nullptr ? *named : table->footer().index, &top_.block));
  SeekToFirst();
  return status_;
}

bool TableIndex::Fail(const Status& status) {
  status_ = status;
  return false;
}

void TableIndex::Reset(Level* level) const {
  level->cursor.Reset(level->block, /*has_value_sizes=*/!delta_values_);
  level->is_read = false;
}

void TableIndex::SeekToFirst() {
  status_ = Status::OK();
  has_part_ = false;
  // An index names each block once: more bytes than the file has are of some that are named often.
  bytes_left_ = table_->bytes();
  Reset(&top_);
  if (!top_.cursor.status().ok()) Fail(top_.cursor.status());
}

bool TableIndex::NextOf(Level* level, BlockPlace* place) {
  if (!level->is_read) {
    if (!level->cursor.Next()) {
      return level->cursor.status().ok() ? false : Fail(level->cursor.status());
    }
    if (!TakeIndexValue(delta_values_, &level->cursor, &level->place)) {
      return Fail(Status::Corruption("its index cannot be taken apart"));
    }
  }
  level->is_read = false;
  *place = level->place;
  return true;
}

bool TableIndex::ReadPart(BlockPlace place) {
  const Status status = ReadWholeBlock(*table_, place, &part_.block);
  if (!status.ok()) return Fail(status);
  Reset(&part_);
  has_part_ = true;
  return part_.cursor.status().ok() || Fail(part_.cursor.status());
}

bool TableIndex::Next(BlockPlace* place) {
  if (!status_.ok()) return false;
  Level* const level = has_parts_ ? &part_ : &top_;
  while (!(has_parts_ && !has_part_) || NextOf(&top_, place)) {
    if (has_parts_ && !has_part_ && !ReadPart(*place)) return false;
    if (NextOf(level, place)) {
      if (place->size > bytes_left_) {
        return Fail(Status::Corruption("its index names more bytes than it has"));
      }
      bytes_left_ -= place->size;
      return true;
    }
    if (!has_parts_ || !status_.ok()) return false;
    has_part_ = false;
  }
  return false;
}

// The cursor then stands at the first entry that is not below the key, or at the end.
bool TableIndex::SeekIn(Level* level, std::string_view user_key) {
  Reset(level);
  BlockPlace place;
  if (!level->cursor.SeekBefore(user_key, ignored_key_bytes_)) {
    return level->cursor.status().ok() || Fail(level->cursor.status());
  }
  while (NextOf(level, &place)) {
    const std::string_view key = level->cursor.key();
    if (key.size() < ignored_key_bytes_) return Fail(Status::Corruption("a key is too short"));
    if (key.substr(0, key.size() - ignored_key_bytes_) < user_key) continue;
    level->is_read = true;
    return true;
  }
  return status_.ok();
}

void TableIndex::Seek(std::string_view user_key) {
  SeekToFirst();
  if (!status_.ok() || !SeekIn(&top_, user_key) || !has_parts_) return;
  BlockPlace place;
  if (NextOf(&top_, &place) && ReadPart(place)) SeekIn(&part_, user_key);
}

Status TableEntries::Open(rocksdb::Env* env, const std::string& path, size_t readahead_bytes,
                          rocksdb::RateLimiter* limiter, std::unique_ptr<TableEntries>* result) {
  std::unique_ptr<TableEntries> entries(new TableEntries);
  entries->readahead_bytes_ = readahead_bytes;
  entries->limiter_ = limiter;
  entries->next_read_bytes_ = readahead_bytes;
  Status status = TableFile::Open(env, path, &entries->table_);
  if (status.ok()) status = CheckFormat(entries->table_->footer());
  if (status.ok()) status = entries->index_.Open(entries->table_.get());
  if (status.ok()) status = entries->ReadDictionary();
  if (status.ok()) status = entries->ReadDeletedRanges();
  if (!status.ok()) return Named(path, status);
  *result = std::move(entries);
  return status;
}

Status TableEntries::CheckFirstBlock() {
  BlockPlace first;
  Status status;
  if (index_.Next(&first)) status = ReadBlockAt(first);
  if (status.ok()) status = index_.status();
  index_.SeekToFirst();
  cursor_.Reset(kNoEntries);
  return status.ok() ? status : Named(table_->path(), status);
}

Status TableEntries::ReadDictionary() {
  const BlockPlace* const place = table_->MetaBlock(kDictionaryName);
  return place == nullptr ? Status::OK() : ReadWholeBlock(*table_, *place, &dictionary_);
}

Status TableEntries::ReadDeletedRanges() {
  const BlockPlace* const place = table_->MetaBlock(kRangeDeletionsName);
  if (place == nullptr) return Status::OK();
  std::string block;
  RETURN_IF_ERROR(ReadWholeBlock(*table_, *place, &block));
  BlockCursor ranges(block);
  while (ranges.Next()) {
    const std::string_view begin = ranges.key();
    if (begin.size() < kSequenceAndTypeBytes) return ShortKey();
    deleted_ranges_.emplace_back(begin.substr(0, begin.size() - kSequenceAndTypeBytes),
                                 ranges.value());
    entries_++;
  }
  return ranges.status();
}

void TableEntries::Seek(std::string_view user_key) {
  status_ = Status::OK();
  counts_all_ = false;
  cursor_.Reset(kNoEntries);
  next_read_bytes_ = std::min(kFirstReadBytes, readahead_bytes_);
  index_.Seek(user_key);
  BlockPlace place;
  if (!index_.Next(&place)) {
    if (!index_.status().ok()) Fail(index_.status());
    return;
  }
  Status status = ReadBlockAt(place);
  if (status.ok() && !cursor_.Seek(user_key, kSequenceAndTypeBytes)) status = cursor_.status();
  if (!status.ok()) Fail(status);
}

bool TableEntries::Fail(const Status& status) {
  status_ = Named(table_->path(), status);
  cursor_.Reset(kNoEntries);
  return false;
}

bool TableEntries::FailForShortKey() { return Fail(ShortKey()); }

// To the first entry after the end of a block.
bool TableEntries::NextInNextBlock() {
  if (!status_.ok()) return false;
  do {
    if (!cursor_.status().ok()) return Fail(cursor_.status());
    BlockPlace place;
    if (!index_.Next(&place)) {
      if (!index_.status().ok()) return Fail(index_.status());
      if (!counts_all_ || entries_ == table_->properties().entries) return false;
      return Fail(Status::Corruption("it has " + std::to_string(entries_) + " entries, and says " +
                                     std::to_string(table_->properties().entries)));
    }
    const Status status = ReadBlockAt(place);
    if (!status.ok()) return Fail(status);
  } while (!cursor_.Next());
  return true;
}

Status TableEntries::ReadBlockAt(BlockPlace place) {
  RETURN_IF_ERROR(Fill(place));
  const std::string_view bytes =
      read_ahead_.substr(place.offset - read_ahead_offset_, place.size + kBlockTrailerBytes);
  RETURN_IF_ERROR(CheckBlock(table_->footer(), place, bytes));
  const auto compression = static_cast<uint8_t>(bytes[place.size]);
  const std::string_view stored = bytes.substr(0, place.size);
  if (compression == rocksdb::kNoCompression) {
    cursor_.Reset(stored);
    return cursor_.status();
  }
  RETURN_IF_ERROR(Uncompress(compression, stored, dictionary_, &uncompressed_));
  cursor_.Reset(uncompressed_);
  return cursor_.status();
}

// Has all of the block in `read_ahead_`.
Status TableEntries::Fill(BlockPlace place) {
  const uint64_t file_bytes = table_->bytes();
  if (place.offset > file_bytes || place.size + kBlockTrailerBytes > file_bytes - place.offset) {
    return Status::Corruption("its index names a block beyond its end");
  }
  const uint64_t end = place.offset + place.size + kBlockTrailerBytes;
  if (place.offset >= read_ahead_offset_ && end <= read_ahead_offset_ + read_ahead_.size()) {
    return Status::OK();
  }
  // Data blocks stand one after another, and what comes after the last one is not wanted.
  const uint64_t data_end = std::clamp(table_->properties().data_bytes, end, file_bytes);
  const uint64_t wanted =
      std::max(end, std::min(place.offset + next_read_bytes_, data_end)) - place.offset;
  next_read_bytes_ = std::min(2 * next_read_bytes_, readahead_bytes_);
  for (uint64_t asked = 0; limiter_ != nullptr && asked < wanted;) {
    const auto part =
        std::min<int64_t>(static_cast<int64_t>(wanted - asked), limiter_->GetSingleBurstBytes());
    limiter_->Request(part, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kRead);
    asked += static_cast<uint64_t>(part);
  }
  read_ahead_ = {};
  if (buffer_bytes_ < wanted) {
    buffer_.reset(new char[wanted]);
    buffer_bytes_ = wanted;
  }
  rocksdb::Slice read;
  RETURN_IF_ERROR(table_->file()->Read(place.offset, wanted, &read, buffer_.get()));
  if (read.size() < wanted) return Status::Corruption("it ends too early");
  read_ahead_ = {read.data(), read.size()};  // which may be elsewhere, as long as the file is open
  read_ahead_offset_ = place.offset;
  return Status::OK();
}

}  // namespace rocksieve
