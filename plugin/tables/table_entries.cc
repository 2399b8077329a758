// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/table_entries.h"

#include <algorithm>

#include <rocksdb/table.h>

#include "lib/format/coding.h"
#include "plugin/tables/block_compression.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr char kIndexName[] = "rocksdb.index", kDictionaryName[] = "rocksdb.compression_dict",
               kRangeDeletionsName[] = "rocksdb.range_del";
constexpr uint32_t kFirstFormatVersion = 2;  // before, sizes do not stand before compressed bytes
// From the one on in which applications may bring their own compression.
constexpr uint32_t kFormatVersionOfOwnCompression = 7;
constexpr size_t kSequenceAndTypeBytes = 8;

bool TakeInternalKey(std::string_view internal_key, TableEntry* entry) {
  if (internal_key.size() < kSequenceAndTypeBytes) return false;
  const size_t key_bytes = internal_key.size() - kSequenceAndTypeBytes;
  const uint64_t packed = LoadLittleEndian64(internal_key.data() + key_bytes);
  entry->user_key = internal_key.substr(0, key_bytes);
  entry->sequence = packed >> 8;
  entry->type = static_cast<EntryType>(packed & 0xFF);
  return true;
}

Status BadKey() { return Status::Corruption("a key is shorter than its sequence number"); }

Status Named(const std::string& path, const Status& status) {
  const char* const state = status.getState();
  const std::string text = path + ": " + (state != nullptr ? state : status.ToString());
  if (status.IsNotSupported()) return Status::NotSupported(text);
  return status.IsCorruption() ? Status::Corruption(text) : Status::IOError(text);
}

}  // namespace

Status TableEntries::Open(rocksdb::Env* env, const std::string& path, size_t readahead_bytes,
                          rocksdb::RateLimiter* limiter, std::unique_ptr<TableEntries>* result) {
  std::unique_ptr<TableEntries> entries(new TableEntries);
  entries->readahead_bytes_ = readahead_bytes;
  entries->limiter_ = limiter;
  Status status = TableFile::Open(env, path, &entries->table_);
  if (status.ok()) status = entries->ReadIndex();
  if (status.ok()) status = entries->ReadDeletedRanges();
  // Its compression is that of the others, or one that is known.
  if (status.ok() && !entries->blocks_.empty()) {
    status = entries->NextBlock();
    entries->next_block_ = 0;
    entries->cursor_ = BlockCursor();
  }
  if (!status.ok()) return Named(path, status);
  *result = std::move(entries);
  return status;
}

Status TableEntries::ReadWhole(BlockPlace place, std::string* block) const {
  std::string stored;
  uint8_t compression = 0;
  const Status status = ReadStoredBlock(table_->file(), table_->bytes(), table_->footer(), place,
                                        /*check=*/true, &stored, &compression);
  return status.ok() ? Uncompress(compression, stored, "", block) : status;
}

Status TableEntries::AddBlocksOf(const std::string& index, std::vector<BlockPlace>* blocks) const {
  // An index names each block once: more bytes than the file has are of some that are named often.
  uint64_t bytes_left = table_->bytes();
  bool fits = true;
  const Status status = ForEachIndexEntry(index, table_->properties().index_value_is_delta_encoded,
                                          [&](std::string_view, BlockPlace place) {
                                            fits = place.size <= bytes_left;
                                            if (fits) bytes_left -= place.size;
                                            if (fits) blocks->push_back(place);
                                            return fits;
                                          });
  if (status.ok() && !fits) return Status::Corruption("its index names more bytes than it has");
  return status;
}

Status TableEntries::ReadIndex() {
  using Options = rocksdb::BlockBasedTableOptions;
  const TableFooter& footer = table_->footer();
  const uint32_t index_type = table_->properties().index_type;
  if (footer.format_version < kFirstFormatVersion ||
      footer.format_version >= kFormatVersionOfOwnCompression) {
    return Status::NotSupported("format_version " + std::to_string(footer.format_version));
  }
  if (index_type > Options::kTwoLevelIndexSearch) {
    return Status::NotSupported("index type " + std::to_string(index_type));
  }
  const BlockPlace* const named = table_->MetaBlock(kIndexName);
  std::string index;
  Status status = ReadWhole(named != nullptr ? *named : footer.index, &index);
  std::vector<BlockPlace> places;
  if (status.ok()) status = AddBlocksOf(index, &places);
  if (!status.ok() || index_type != Options::kTwoLevelIndexSearch) {
    blocks_ = std::move(places);
  } else {
    for (const BlockPlace& part : places) {
      status = ReadWhole(part, &index);
      if (status.ok()) status = AddBlocksOf(index, &blocks_);
      if (!status.ok()) return status;
    }
  }
  const BlockPlace* const dictionary = table_->MetaBlock(kDictionaryName);
  return status.ok() && dictionary != nullptr ? ReadWhole(*dictionary, &dictionary_) : status;
}

Status TableEntries::ReadDeletedRanges() {
  const BlockPlace* const place = table_->MetaBlock(kRangeDeletionsName);
  if (place == nullptr) return Status::OK();
  std::string block;
  const Status status = ReadWhole(*place, &block);
  if (!status.ok()) return status;
  BlockCursor ranges(block);
  TableEntry begin;
  while (ranges.Next()) {
    if (!TakeInternalKey(ranges.key(), &begin)) return BadKey();
    deleted_ranges_.emplace_back(begin.user_key, ranges.value());
    entries_++;
  }
  return ranges.status();
}

bool TableEntries::Fail(const Status& status) {
  status_ = Named(table_->path(), status);
  return false;
}

bool TableEntries::Next() {
  if (!status_.ok()) return false;
  while (!cursor_.Next()) {
    if (!cursor_.status().ok()) return Fail(cursor_.status());
    if (next_block_ == blocks_.size()) {
      if (entries_ == table_->properties().entries) return false;
      return Fail(Status::Corruption("it has " + std::to_string(entries_) + " entries, and says " +
                                     std::to_string(table_->properties().entries)));
    }
    const Status status = NextBlock();
    if (!status.ok()) return Fail(status);
  }
  if (!TakeInternalKey(cursor_.key(), &entry_)) return Fail(BadKey());
  entry_.value = cursor_.value();
  entries_++;
  return true;
}

Status TableEntries::NextBlock() {
  const BlockPlace place = blocks_[next_block_++];
  Status status = Fill(place);
  if (!status.ok()) return status;
  const std::string_view bytes =
      std::string_view(read_ahead_)
          .substr(place.offset - read_ahead_offset_, place.size + kBlockTrailerBytes);
  status = CheckBlock(table_->footer(), place, bytes);
  if (!status.ok()) return status;
  status = Uncompress(static_cast<uint8_t>(bytes[place.size]), bytes.substr(0, place.size),
                      dictionary_, &block_);
  cursor_ = BlockCursor(block_);
  return status;
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
  const BlockPlace last = blocks_.back();
  const uint64_t data_end =
      std::clamp(last.offset + last.size + kBlockTrailerBytes, end, file_bytes);
  const uint64_t wanted =
      std::max(end, std::min(place.offset + readahead_bytes_, data_end)) - place.offset;
  for (uint64_t asked = 0; limiter_ != nullptr && asked < wanted;) {
    const auto part =
        std::min<int64_t>(static_cast<int64_t>(wanted - asked), limiter_->GetSingleBurstBytes());
    limiter_->Request(part, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kRead);
    asked += static_cast<uint64_t>(part);
  }
  std::string bytes(wanted, '\0');
  rocksdb::Slice read;
  const Status status = table_->file()->Read(place.offset, wanted, &read, bytes.data());
  if (!status.ok()) return status;
  if (read.size() < wanted) return Status::Corruption("it ends too early");
  if (read.data() != bytes.data()) bytes.assign(read.data(), read.size());
  read_ahead_ = std::move(bytes);
  read_ahead_offset_ = place.offset;
  return status;
}

}  // namespace rocksieve
