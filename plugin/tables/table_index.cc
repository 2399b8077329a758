// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/table_index.h"

#include <rocksdb/table.h>

#include "plugin/tables/block_compression.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr char kIndexBlockName[] = "rocksdb.index";
constexpr size_t kSequenceBytes = 8;  // and type, after a user key

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
  ignored_key_bytes_ = properties.index_key_is_user_key ? 0 : kSequenceBytes;
  const BlockPlace* const named = table->MetaBlock(kIndexBlockName);
  const Status status =
      ReadWholeBlock(*table, named != nullptr ? *named : table->footer().index, &top_.block);
  if (!status.ok()) return status;
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

}  // namespace rocksieve
