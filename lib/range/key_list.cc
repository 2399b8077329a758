// SPDX-License-Identifier: Apache-2.0
#include "lib/range/key_list.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rocksieve::range {

void KeyList::Add(std::string_view key) {
  const size_t shared = size_ == 0 ? 0 : CommonPrefix(last_, key);
  if (size_ != 0) {
    if (shared == key.size() && shared == last_.size()) return;
    const bool ascends = shared == last_.size() ||
                         (shared < key.size() && ByteAt(last_, shared) < ByteAt(key, shared));
    sorted_ = sorted_ && ascends;
    differ_at_[std::min(shared, kMaxDepth)]++;
  } else {
    first_ = key;
  }
  AppendLength(shared);
  AppendLength(key.size() - shared);
  bytes_.append(key.substr(shared));
  last_.resize(shared);
  last_.append(key.substr(shared));
  shortest_ = std::min(shortest_, key.size());
  longest_ = std::max(longest_, key.size());
  size_++;
}

void KeyList::Sort() {
  if (sorted_) return;
  std::vector<std::string> keys;
  keys.reserve(size_);
  ForEach([&](std::string_view key, size_t) { keys.emplace_back(key); });
  std::sort(keys.begin(), keys.end());
  Clear();
  for (const std::string& key : keys) Add(key);
}

uint64_t KeyList::DistinctAt(size_t depth) const {
  uint64_t distinct = size_ == 0 ? 0 : 1;
  for (size_t shared = 0; shared < depth; shared++) distinct += differ_at_[shared];
  return distinct;
}

void KeyList::AppendLength(size_t length) {
  for (; length >= 0x80; length >>= 7) bytes_.push_back(static_cast<char>(length | 0x80));
  bytes_.push_back(static_cast<char>(length));
}

size_t KeyList::ReadLength(size_t* at) const {
  size_t length = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = ByteAt(bytes_, (*at)++);
    length |= size_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return length;
  }
}

}  // namespace rocksieve::range
