// SPDX-License-Identifier: Apache-2.0
// Which of many ids are among a few?
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksieve::join {

// A map of some bits for each listed id answers for nearly all that are not listed.
class IdList {
 public:
  // Ids must be uniform in their low 32 bits. `sorted` must outlive it, and stay as it is.
  explicit IdList(const std::vector<uint64_t>& sorted)
      : sorted_(sorted),
        mask_(std::clamp(std::bit_ceil(sorted.size()) * kBitsPerId, kLeastBits, kMostBits) - 1),
        bits_((mask_ + 1) / 64) {
    for (const uint64_t id : sorted) bits_[(id & mask_) / 64] |= uint64_t{1} << (id % 64);
  }

  bool Has(uint64_t id) const {
    if ((bits_[(id & mask_) / 64] >> (id % 64) & 1) == 0) return false;
    return std::binary_search(sorted_.begin(), sorted_.end(), id);
  }

 private:
  static constexpr size_t kBitsPerId = 64, kLeastBits = 64, kMostBits = size_t{1} << 24;

  const std::vector<uint64_t>& sorted_;
  const size_t mask_;
  std::vector<uint64_t> bits_;
};

}  // namespace rocksieve::join
