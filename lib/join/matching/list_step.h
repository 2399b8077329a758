// SPDX-License-Identifier: Apache-2.0
// An ending: a side sends a list of its candidates, as short hashes or as the keys themselves, and
// the other one answers with flags, one per entry: it is matched.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/matching_range.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

// Which of many ids are among a few?

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

// Reads keys of a range again.
class KeyReader {
 public:
  virtual ~KeyReader() = default;
  // Appends the keys with these ordinals, which rise, front-coded and compressed. ResourceExhausted
  // if that takes clearly more than `most_bytes`.
  virtual absl::Status AppendKeys(std::span<const uint32_t> ordinals, Compression compression,
                                  uint64_t most_bytes, std::string* out) = 0;
};

// Either SendList() or SendKeys(), then Receive(); or ReceiveList() or ReceiveKeys(), then Send().
// After both, the candidates are the matched keys.
class ListStep {
 public:
  // `range` must outlive it.
  explicit ListStep(MatchingRange* range) : range_(range) {}
  uint64_t KeptBytes() const { return VectorBytes(order_) + VectorBytes(matched_); }

  void SendList(std::string* step);
  absl::Status SendKeys(KeyReader* reader, std::string* step);
  absl::Status ReceiveList(std::string_view body);
  absl::Status ReceiveKeys(std::string_view body);

  void Send(std::string* step);
  absl::Status Receive(Part part, std::string_view body);

 private:
  MatchingRange* const range_;
  bool sent_list_ = false;
  PageVector<uint32_t> order_;   // candidates in the order of the list that was sent
  PageVector<uint8_t> matched_;  // entries of a list that was received
};

}  // namespace rocksieve::join
