#include "join/matching.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "format/bit_coder.h"
#include "format/byte_io.h"
#include "format/golomb.h"
#include "join/key_list.h"
#include "join/matching_messages.h"

namespace rocksieve::join {
namespace {

constexpr int kMostListBits = 40;
constexpr uint64_t kMostRawKeyBytes = uint64_t{1} << 28;

// Of a list of `entries` with `bits` more than tell them apart.
uint64_t ListUniverse(uint64_t entries, int bits) { return std::max<uint64_t>(1, entries) << bits; }

uint64_t ListValue(const Candidate& candidate, uint64_t salt, uint64_t universe) {
  return MultiplyHigh64(HashForStep(candidate.hash, salt), universe);
}

}  // namespace

//   u8 bits | values of the candidates below entries * 2^bits, sorted and Golomb-coded
void Matching::SendList(std::string* message) {
  const int bits = ListBitsFor(their_count_);
  const uint64_t universe = ListUniverse(candidates_.size(), bits);
  const uint64_t salt = MessageSalt();
  std::vector<std::pair<uint64_t, uint32_t>> entries;
  entries.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) {
    entries.emplace_back(ListValue(candidates_[i], salt, universe), i);
  }
  std::sort(entries.begin(), entries.end());
  std::vector<uint64_t> values;
  values.reserve(entries.size());
  order_.clear();
  for (const auto& [value, candidate] : entries) {
    values.push_back(value);
    order_.push_back(candidate);
  }
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kList));
  out.U8(static_cast<uint8_t>(bits));
  EncodeSorted(values, {}, 0, &out);
}

absl::Status Matching::ReceiveList(std::string_view body) {
  ByteReader in(body);
  const int bits = in.U8();
  if (bits > kMostListBits) return Nonsense("a damaged list");
  SortedValues list;
  if (!DecodeSorted(&in, UINT64_MAX, 0, options_.most_list_entries, &list) || !in.Finished()) {
    return Nonsense("a damaged list");
  }
  const uint64_t universe = ListUniverse(list.values.size(), bits);
  const uint64_t salt = MessageSalt();
  std::vector<std::pair<uint64_t, uint32_t>> mine;
  mine.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) {
    mine.emplace_back(ListValue(candidates_[i], salt, universe), i);
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
absl::Status Matching::SendKeys(std::string* message) {
  std::vector<uint32_t> ordinals(candidates_.size());
  order_.resize(candidates_.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates_[i].ordinal;
  ByteWriter(message).U8(static_cast<uint8_t>(MoveKind::kKeys));
  return reader_->AppendKeys(ordinals, message);
}

absl::Status Matching::ReceiveKeys(std::string_view body) {
  std::unordered_map<uint64_t, uint32_t> by_low;
  by_low.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) by_low.emplace(candidates_[i].hash.low, i);
  std::vector<uint8_t> keep(candidates_.size());
  hits_.clear();
  absl::Status status = ReadKeyList(body, kMostRawKeyBytes, [&](std::string_view key) {
    const KeyHash128 theirs = HashKey128(key, options_.salt);
    const auto found = by_low.find(theirs.low);
    const bool hit = found != by_low.end() && candidates_[found->second].hash == theirs;
    if (hit) keep[found->second] = 1;
    hits_.push_back(hit);
  });
  Keep(keep);
  counts_.their_candidates = hits_.size();
  ending_ = MoveKind::kKeys;
  expected_ = Expected::kHits;
  return status;
}

//   sum of the matched keys | flags, one per entry of the list
void Matching::SendHits(std::string* message) {
  ByteWriter out(message);
  out.U8(kHitsMessage);
  SumOfCandidates().Write(&out);
  EncodeFlags(hits_, &out);
}

absl::Status Matching::ReceiveHits(std::string_view body) {
  ByteReader in(body);
  std::vector<uint8_t> hits;
  if (!their_sum_.Read(&in) || !DecodeFlags(&in, order_.size(), &hits) || !in.Finished()) {
    return Nonsense("damaged hits");
  }
  std::vector<uint8_t> keep(candidates_.size());
  for (size_t i = 0; i < hits.size(); i++) keep[order_[i]] = hits[i];
  Keep(keep);
  expected_ = Expected::kVerdict;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
