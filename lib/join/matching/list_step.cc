// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/list_step.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/format/bit_coder.h"
#include "lib/join/matching/candidates.h"
#include "lib/join/rows/compression.h"
#include "lib/join/rows/row_batch.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerFlag = 2;  // of a vector that grows

// Candidates by their hashes: 16 to 32 bytes for each. A slot has a part of the hash beside the
// index, so that a hash that is not there is hardly ever looked up in the candidates; those that
// are, in the order of keys, lie next to each other.
class HashIndex {
 public:
  explicit HashIndex(const Candidates& candidates)
      : candidates_(candidates),
        slots_(std::bit_ceil(2 * candidates.size() + 1), 0),
        mask_(slots_.size() - 1) {
    for (uint32_t i = 0; i < candidates.size(); i++) {
      const uint64_t low = candidates[i].hash.low;
      uint64_t at = low & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = (low & kTag) | (uint64_t{i} + 1);
    }
  }
  std::optional<uint32_t> Find(const KeyHash128& hash) const {
    for (uint64_t at = hash.low & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
      if ((slots_[at] & kTag) != (hash.low & kTag)) continue;
      const auto index = static_cast<uint32_t>((slots_[at] & ~kTag) - 1);
      if (candidates_[index].hash == hash) return index;
    }
    return std::nullopt;
  }

 private:
  static constexpr uint64_t kTag = ~uint64_t{UINT32_MAX};

  const Candidates& candidates_;
  PageVector<uint64_t> slots_;
  const uint64_t mask_;
};

}  // namespace

//   the candidates, as in candidates.h
void ListStep::SendList(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  WriteHashList(range_->candidates.all(), ListBitsFor(range_->their_count) + range_->MoreHashBits(),
                range_->PartSalt(), &out, &order_);
  range_->Append(Part::kList, body, step);
  sent_list_ = true;
}

absl::Status ListStep::ReceiveList(std::string_view body) {
  const absl::Status room = range_->HoldForWork(KeptBytes() + HashListMemoryBytes(body));
  if (!room.ok()) return room;
  ByteReader in(body);
  ShortHashes list;
  if (!ReadHashList(&in, range_->options.most_list_entries, range_->PartSalt(), &list) ||
      !in.Finished()) {
    return Nonsense("a damaged list");
  }
  const Candidates& candidates = range_->candidates.all();
  matched_.assign(list.values.size(), 0);
  PageVector<uint8_t> keep(candidates.size(), 0);
  size_t next = 0;
  for (const auto& [value, candidate] : SortedShortHashes(candidates, list)) {
    while (next < list.values.size() && list.values[next] < value) next++;
    for (size_t i = next; i < list.values.size() && list.values[i] == value; i++) {
      matched_[i] = keep[candidate] = 1;
    }
  }
  range_->candidates.Keep(keep);
  range_->counts.their_candidates = list.values.size();
  return absl::OkStatus();
}

//   the keys of the candidates, as in row_batch.h
absl::Status ListStep::SendKeys(KeyReader* reader, std::string* step) {
  const Candidates& candidates = range_->candidates.all();
  PageVector<uint32_t> ordinals(candidates.size());
  order_.resize(candidates.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates[i].ordinal;
  std::string body;
  const PlannerOptions& planner = range_->options.planner;
  const absl::Status status = reader->AppendKeys(
      ordinals, BestCompression(range_->estimate(), planner.keys, planner.weights),
      range_->options.most_message_bytes, &body);
  range_->Append(Part::kKeys, body, step);
  sent_list_ = true;
  return status;
}

absl::Status ListStep::ReceiveKeys(std::string_view body) {
  const MatchingOptions& options = range_->options;
  const uint64_t own_longest = std::min(options.longest_key_bytes, kMostKeyBytes);
  const absl::Status room =
      range_->HoldForWork(KeptBytes() + UncompressMemoryBytes(body) + own_longest +
                          kBytesPerFlag * options.most_list_entries);
  if (!room.ok()) return room;
  const Candidates& candidates = range_->candidates.all();
  const HashIndex index(candidates);
  PageVector<uint8_t> keep(candidates.size(), 0);
  const auto find = [&](std::string_view key) {
    const std::optional<uint32_t> found = index.Find(HashKey128(key, options.salt));
    if (found) keep[*found] = 1;
    return found.has_value();
  };
  const absl::Status status = ReadKeyList(
      body, options.most_list_entries, options.longest_key_bytes,
      [&](std::optional<std::string_view> key) { matched_.push_back(key && find(*key)); });
  range_->candidates.Keep(keep);
  range_->counts.their_candidates = matched_.size();
  return status;
}

//   flags, one per entry of the list
void ListStep::Send(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  EncodeFlags(matched_, &out);
  range_->Append(Part::kMatchBitmap, body, step);
}

absl::Status ListStep::Receive(Part part, std::string_view body) {
  if (part != Part::kMatchBitmap || !sent_list_) return OutOfTurn(part);
  ByteReader in(body);
  PageVector<uint8_t> bitmap;
  if (!DecodeFlags(&in, order_.size(), &bitmap) || !in.Finished())
    return Nonsense("a damaged match bitmap");
  PageVector<uint8_t> keep(range_->candidates.size(), 0);
  for (size_t i = 0; i < bitmap.size(); i++) keep[order_[i]] = bitmap[i];
  range_->candidates.Keep(keep);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
