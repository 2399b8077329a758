// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/list_step.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lib/format/bit_coder.h"
#include "lib/join/matching/candidates.h"
#include "lib/join/rows/compression.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerFlag = 2;  // of a vector that grows

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
  std::vector<std::pair<uint64_t, uint32_t>> mine;
  mine.reserve(candidates.size());
  for (uint32_t i = 0; i < candidates.size(); i++) {
    mine.emplace_back(list.ValueOf(candidates[i]), i);
  }
  std::sort(mine.begin(), mine.end());
  matched_.assign(list.values.size(), 0);
  std::vector<uint8_t> keep(candidates.size());
  size_t next = 0;
  for (const auto& [value, candidate] : mine) {
    while (next < list.values.size() && list.values[next] < value) next++;
    for (size_t i = next; i < list.values.size() && list.values[i] == value; i++) {
      matched_[i] = keep[candidate] = 1;
    }
  }
  range_->candidates.Keep(keep);
  range_->counts.their_candidates = list.values.size();
  return absl::OkStatus();
}

//   the keys of the candidates, as in key_list.h
absl::Status ListStep::SendKeys(KeyReader* reader, std::string* step) {
  const Candidates& candidates = range_->candidates.all();
  std::vector<uint32_t> ordinals(candidates.size());
  order_.resize(candidates.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates[i].ordinal;
  std::string body;
  const absl::Status status =
      reader->AppendKeys(ordinals, range_->options.most_message_bytes, &body);
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
  std::unordered_map<uint64_t, uint32_t> by_low;
  by_low.reserve(candidates.size());
  for (uint32_t i = 0; i < candidates.size(); i++) by_low.emplace(candidates[i].hash.low, i);
  std::vector<uint8_t> keep(candidates.size());
  const auto find = [&](std::string_view key) {
    const KeyHash128 theirs = HashKey128(key, options.salt);
    const auto found = by_low.find(theirs.low);
    const bool is_matched = found != by_low.end() && candidates[found->second].hash == theirs;
    if (is_matched) keep[found->second] = 1;
    return is_matched;
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
  std::vector<uint8_t> bitmap;
  if (!DecodeFlags(&in, order_.size(), &bitmap) || !in.Finished())
    return Nonsense("a damaged match bitmap");
  std::vector<uint8_t> keep(range_->candidates.size());
  for (size_t i = 0; i < bitmap.size(); i++) keep[order_[i]] = bitmap[i];
  range_->candidates.Keep(keep);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
