// SPDX-License-Identifier: Apache-2.0
// An ending: a side sends a list of its candidates, as short hashes or as the keys themselves, and
// the other one answers with flags, one per entry: it is matched.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/sketch_step.h"
#include "lib/memory/page_pool.h"
#include "lib/sketch/rateless_iblt.h"

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

// Reads keys of a range again: appends those with these ordinals, which rise, front-coded and
// compressed. ResourceExhausted if that takes clearly more than `most_bytes`.
using KeyReader =
    std::function<absl::Status(std::span<const uint32_t> ordinals, Compression compression,
                               uint64_t most_bytes, std::string* out)>;

// Either SendList() or SendKeys(), then Receive(); or ReceiveList() or ReceiveKeys(), then Send().
// After both, the candidates are the matched keys.
class ListStep {
 public:
  // `range` must outlive it.
  explicit ListStep(MatchingRange* range) : range_(range) {}
  uint64_t KeptBytes() const { return VectorBytes(order_) + VectorBytes(matched_); }

  void SendList(std::string* step);
  absl::Status SendKeys(const KeyReader& reader, std::string* step);
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

// An ending: a side sends rateless symbols of its candidates, and the other one asks for more of
// them until it knows the difference, and says which of the sender's candidates are not matched.
//
// After the second layer of a sketch, a list of the candidates that the sender set aside comes
// first; the answer says which of them are matched after all.

// Calls: SendFirst() or Receive(); then Send() and Receive() by turns until done(). Then the
// candidates are the matched keys.
class SymbolsStep {
 public:
  // `range` must outlive it. `sketch`: what came before, if anything did.
  explicit SymbolsStep(MatchingRange* range, std::optional<SketchOutcome> sketch = {});
  uint64_t KeptBytes() const;

  absl::Status SendFirst(std::string* step);
  absl::Status Send(std::string* step);
  absl::Status Receive(Part part, std::string_view body);

  bool has_symbols() const { return encoder_ != nullptr || decoder_ != nullptr; }
  bool done() const { return expected_ == Expected::kNothing; }

 private:
  // What the next part is about, whichever side sends it.
  enum class Expected { kDeferredKeys, kSymbols, kDifference, kMoreSymbols, kNothing };

  void SendDeferredKeys(std::string* step);
  absl::Status ReceiveDeferredKeys(std::string_view body);
  // At most so many as a message and the memory have room for.
  absl::Status SendSymbols(size_t symbols, std::string* step);
  absl::Status ReceiveSymbols(std::string_view body);
  void SendDifference(std::string* step);
  absl::Status ReceiveMore(std::string_view body);
  absl::Status ReceiveDifference(std::string_view body);
  size_t SymbolsWanted();

  uint64_t IdOf(const Candidate& candidate) const;
  // The candidates that are not among the symbols' sender's, but for those that it deferred: a flag
  // for each of these that is matched.
  // Those that only the other side has, it brings back, and takes off the difference.
  std::vector<uint8_t> DropOwnUnlessDeferred(SetDifference* difference);
  void BringBack(std::vector<uint64_t>* only_remote);
  // The candidates that are among the symbols, with one of these ids, unless is_kept(candidate).
  template <typename IsKept>
  void Drop(const std::vector<uint64_t>& sorted_ids, const RatelessEncoder& own, IsKept is_kept);

  MatchingRange* const range_;
  const std::optional<SketchOutcome> sketch_;
  Expected expected_;
  uint64_t salt_ = 0;  // of all parts with symbols
  RatelessFormat format_;
  uint64_t rateless_bytes_ = 0;  // of the encoder's, or the decoder's, keys and symbols
  // The sender's.
  PageVector<uint32_t> listed_;  // deferred candidates, in the order in which they were listed
  std::unique_ptr<RatelessEncoder> encoder_;
  std::vector<RatelessCell> cells_;
  size_t symbols_wanted_ = 0;
  // The receiver's.
  ShortHashes their_deferred_;
  std::unique_ptr<RatelessDecoder> decoder_;
  size_t enough_symbols_ = 0;
  int requests_ = 0;  // for more of them
};

}  // namespace rocksieve::join
