// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/sst_block.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "lib/format/coding.h"

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr size_t kRestartBytes = 4;

Status UnknownBlockFeature(uint32_t last_bytes) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(last_bytes));
  return Status::NotSupported(std::string("its last bytes, ") + text +
                              ", name a feature that it cannot have: damaged, or from a RocksDB "
                              "later than 11.8, for which a later rocksieve is needed");
}

}  // namespace

Status UnreadableEntry() { return Status::Corruption("its entries cannot be taken apart"); }

std::string MessageOf(const Status& status) {
  return status.getState() != nullptr ? status.getState() : status.ToString();
}

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < 10 && i < bytes->size(); i++) {
    const auto byte = static_cast<uint8_t>((*bytes)[i]);
    *value |= uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      bytes->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool BlockCursor::Fail(Status status) {
  status_ = std::move(status);
  next_ = end_;
  return false;
}

void BlockCursor::Reset(std::string_view block, bool has_value_sizes) {
  // "The keys are uniformly distributed": a hint for searches (RocksDB 11.1).
  constexpr uint32_t kUniformKeysFlag = uint32_t{1} << 29;
  constexpr uint32_t kMostRestarts = (uint32_t{1} << 28) - 1;
  begin_ = next_ = end_ = block.data();
  block_end_ = block.data() + block.size();
  restarts_ = 0;
  has_value_sizes_ = has_value_sizes;
  key_bytes_ = 0;
  status_ = Status::OK();
  if (block.size() < kRestartBytes) {
    Fail(UnreadableEntry());
    return;
  }
  const uint32_t restarts = LoadLittleEndian32(block_end_ - kRestartBytes) & ~kUniformKeysFlag;
  // 31 and 28 are of data blocks only: a hash index, and values apart from the keys (11.0).
  if (restarts > kMostRestarts) {
    Fail(UnknownBlockFeature(restarts));
    return;
  }
  const uint64_t bytes = kRestartBytes + uint64_t{kRestartBytes} * restarts;
  if (bytes > block.size()) {
    Fail(UnreadableEntry());
    return;
  }
  restarts_ = restarts;
  end_ = block_end_ - bytes;
}

void BlockCursor::Grow(size_t key_bytes) {
  const size_t capacity = std::max<size_t>(2 * key_bytes, 64);
  std::unique_ptr<char[]> larger(new char[capacity]);
  if (key_ == own_key_.get() && key_ != nullptr) {
    std::memcpy(larger.get(), key_, own_capacity_);
    key_ = larger.get();
  }
  own_key_ = std::move(larger);
  own_capacity_ = capacity;
}

bool BlockCursor::NextSlowly() {
  if (next_ == end_) return false;
  std::string_view rest(next_, static_cast<size_t>(end_ - next_));
  uint64_t shared = 0, own = 0, value_bytes = 0;
  if (!TakeVarint(&rest, &shared) || !TakeVarint(&rest, &own) ||
      (has_value_sizes_ && !TakeVarint(&rest, &value_bytes)) || shared > key_bytes_ ||
      own > rest.size() || value_bytes > rest.size() - own) {
    return Fail(UnreadableEntry());
  }
  TakeKey(rest.data(), shared, own);
  value_ = rest.substr(own, value_bytes);
  next_ = rest.data() + own + value_bytes;
  return true;
}

bool BlockCursor::SeekBefore(std::string_view key, size_t ignored_key_bytes) {
  if (!status_.ok()) return false;
  const char* const entries_end = end_;
  // Of the restart points below `low`, all keys are smaller; of those from `high` on, none.
  uint32_t low = 0, high = restarts_;
  const auto go_to = [&](uint32_t point) {
    const uint32_t place = LoadLittleEndian32(entries_end + uint64_t{kRestartBytes} * point);
    if (place > static_cast<size_t>(entries_end - begin_)) return false;
    next_ = begin_ + place;
    key_bytes_ = 0;
    return true;
  };
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (!go_to(middle)) return Fail(UnreadableEntry());
    const bool there = Next();
    if (!status_.ok()) return false;
    if (there && key_bytes_ < ignored_key_bytes) return Fail(UnreadableEntry());
    if (there && std::string_view(key_, key_bytes_ - ignored_key_bytes) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) {
    next_ = begin_;
    key_bytes_ = 0;
    return true;
  }
  return go_to(low - 1) || Fail(UnreadableEntry());
}

bool BlockCursor::Seek(std::string_view key, size_t ignored_key_bytes) {
  if (!SeekBefore(key, ignored_key_bytes)) return false;
  for (const char* entry = next_; Next(); entry = next_) {
    if (key_bytes_ < ignored_key_bytes) return Fail(UnreadableEntry());
    if (std::string_view(key_, key_bytes_ - ignored_key_bytes) < key) continue;
    next_ = entry;  // What its key shares with the one before is in both.
    return true;
  }
  return status_.ok();
}

}  // namespace rocksieve
