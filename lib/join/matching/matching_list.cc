#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "lib/format/bit_coder.h"
#include "lib/format/byte_io.h"
#include "lib/format/golomb.h"
#include "lib/join/matching/hash_list.h"
#include "lib/join/matching/matching.h"
#include "lib/join/rows/compression.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerFlag = 2;  // of a vector that grows

}  // namespace

//   the candidates, as in hash_list.h
void Matching::SendList(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  WriteHashList(candidates_, ListBitsFor(their_count_) + MoreHashBits(), PartSalt(), &out, &order_);
  Append(Part::kList, body, turn);
  sent_list_ = true;
  ending_ = MoveKind::kList;
  expected_ = Expected::kHits;
}

absl::Status Matching::ReceiveList(std::string_view body) {
  const absl::Status room = Hold(StepBytes() + HashListMemoryBytes(body));
  if (!room.ok()) return room;
  ByteReader in(body);
  ShortHashes list;
  if (!ReadHashList(&in, options_.most_list_entries, PartSalt(), &list) || !in.Finished()) {
    return Nonsense("a damaged list");
  }
  std::vector<std::pair<uint64_t, uint32_t>> mine;
  mine.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) {
    mine.emplace_back(list.ValueOf(candidates_[i]), i);
  }
  std::sort(mine.begin(), mine.end());
  hits_.assign(list.values.size(), 0);
  std::vector<uint8_t> keep(candidates_.size());
  size_t next = 0;
  for (const auto& [value, candidate] : mine) {
    while (next < list.values.size() && list.values[next] < value) next++;
    for (size_t i = next; i < list.values.size() && list.values[i] == value; i++) {
      hits_[i] = keep[candidate] = 1;
    }
  }
  Keep(keep);
  counts_.their_candidates = list.values.size();
  ending_ = MoveKind::kList;
  expected_ = Expected::kHits;
  return absl::OkStatus();
}

//   the keys of the candidates, as in key_list.h
absl::Status Matching::SendKeys(std::string* turn) {
  std::vector<uint32_t> ordinals(candidates_.size());
  order_.resize(candidates_.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates_[i].ordinal;
  std::string body;
  const absl::Status status = reader_->AppendKeys(ordinals, options_.most_message_bytes, &body);
  Append(Part::kKeys, body, turn);
  sent_list_ = true;
  ending_ = MoveKind::kKeys;
  expected_ = Expected::kHits;
  return status;
}

absl::Status Matching::ReceiveKeys(std::string_view body) {
  const uint64_t own_longest = std::min(options_.longest_key_bytes, kMostKeyBytes);
  const absl::Status room = Hold(StepBytes() + UncompressMemoryBytes(body) + own_longest +
                                 kBytesPerFlag * options_.most_list_entries);
  if (!room.ok()) return room;
  std::unordered_map<uint64_t, uint32_t> by_low;
  by_low.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) by_low.emplace(candidates_[i].hash.low, i);
  std::vector<uint8_t> keep(candidates_.size());
  hits_.clear();
  const auto find = [&](std::string_view key) {
    const KeyHash128 theirs = HashKey128(key, options_.salt);
    const auto found = by_low.find(theirs.low);
    const bool hit = found != by_low.end() && candidates_[found->second].hash == theirs;
    if (hit) keep[found->second] = 1;
    return hit;
  };
  absl::Status status =
      ReadKeyList(body, options_.most_list_entries, options_.longest_key_bytes,
                  [&](std::optional<std::string_view> key) { hits_.push_back(key && find(*key)); });
  Keep(keep);
  counts_.their_candidates = hits_.size();
  ending_ = MoveKind::kKeys;
  expected_ = Expected::kHits;
  return status;
}

//   flags, one per entry of the list
void Matching::SendHits(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  EncodeFlags(hits_, &out);
  Append(Part::kHits, body, turn);
  SendSumIfAnswering(turn);
}

absl::Status Matching::ReceiveHits(std::string_view body) {
  ByteReader in(body);
  std::vector<uint8_t> hits;
  if (!DecodeFlags(&in, order_.size(), &hits) || !in.Finished()) return Nonsense("damaged hits");
  std::vector<uint8_t> keep(candidates_.size());
  for (size_t i = 0; i < hits.size(); i++) keep[order_[i]] = hits[i];
  Keep(keep);
  expected_ = Expected::kSum;
  turn_goes_on_ = options_.asks;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
