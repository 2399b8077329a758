// SPDX-License-Identifier: Apache-2.0
// An ending: a side sends rateless symbols of its candidates, and the other one asks for more of
// them until it knows the difference, and says which of the sender's candidates are not matched.
//
// After the second layer of a sketch, a list of the candidates that the sender set aside comes
// first; the answer says which of them are matched after all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/candidates.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/sketch_step.h"
#include "lib/sketch/rateless_iblt.h"

namespace rocksieve::join {

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
