// The smallest and the largest entry of a filter, each cut to kMaxRangeKeyBytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include <rocksieve/filter.h>

namespace rocksieve {

// Keeps at most kMaxRangeKeyBytes of a key, without allocating.
class CutKey {
 public:
  void Assign(std::string_view key) {
    size_ = std::min(key.size(), kMaxRangeKeyBytes);
    // An empty key may come with a null pointer, which memcpy must not be given.
    if (size_ != 0) std::memcpy(bytes_, key.data(), size_);
    cut_ = key.size() > kMaxRangeKeyBytes;
  }
  std::string_view view() const { return {bytes_, size_}; }
  bool cut() const { return cut_; }

 private:
  char bytes_[kMaxRangeKeyBytes];
  size_t size_ = 0;
  bool cut_ = false;
};

// Grows to cover every key that it is shown; in bytewise order.
class KeyRange {
 public:
  void Cover(std::string_view key) {
    const std::string_view head = key.substr(0, kMaxRangeKeyBytes);
    if (empty_) {
      smallest_.Assign(key);
      largest_.Assign(key);
      empty_ = false;
    } else if (head > largest_.view() || (head == largest_.view() && !largest_.cut())) {
      largest_.Assign(key);
    } else if (head < smallest_.view()) {
      smallest_.Assign(key);
    }
  }
  void Clear() { *this = KeyRange(); }
  std::string_view smallest() const { return smallest_.view(); }
  std::string_view largest() const { return largest_.view(); }
  bool largest_cut() const { return largest_.cut(); }

 private:
  bool empty_ = true;
  CutKey smallest_, largest_;
};

}  // namespace rocksieve
