// SPDX-License-Identifier: Apache-2.0
#include "lib/range/code_set.h"

#include <algorithm>

#include "lib/format/coding.h"

namespace rocksieve::range {
namespace {

constexpr int kMostEntryBits = 25;  // two of them lie in one load
constexpr int kMostLowBits = 50;

uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }

uint64_t BitsAt(const uint8_t* from, uint64_t bit, int bits) {  // up to 57
  return LoadLittleEndian64(from + bit / 8) >> (bit % 8) & Mask(bits);
}

}  // namespace

bool CodeSet::Parse(std::string_view payload, CodeSet* set, const Kernel& kernel) {
  if (payload.size() < kCodeSetHeadBytes) return false;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(payload.data());
  CodeSet parsed;
  parsed.buckets_ = LoadLittleEndian32(bytes);
  parsed.codes_ = LoadLittleEndian32(bytes + 4);
  parsed.units_ = uint64_t{bytes[8]} | uint64_t{bytes[9]} << 8;
  parsed.low_bits_ = bytes[10];
  parsed.entry_bits_ = bytes[11];
  parsed.least_deviation_ = static_cast<int32_t>(LoadLittleEndian32(bytes + 12));
  if (parsed.buckets_ == 0 || parsed.units_ < 2 || parsed.low_bits_ > kMostLowBits ||
      parsed.entry_bits_ > kMostEntryBits) {
    return false;
  }
  const uint64_t groups = (parsed.buckets_ + kBucketsPerGroup - 1) / kBucketsPerGroup;
  const uint64_t deviations_at = kCodeSetHeadBytes + 4 * (groups + 1);
  const uint64_t entries_bytes =
      ((parsed.buckets_ + 1) * static_cast<uint64_t>(parsed.entry_bits_) + 7) / 8;
  if (deviations_at + entries_bytes > payload.size()) return false;
  const uint64_t units = parsed.buckets_ * parsed.units_;
  if (units > kMaxUniverse >> parsed.low_bits_) return false;
  parsed.universe_ = units << parsed.low_bits_;
  parsed.reciprocal_ = UINT64_MAX / parsed.units_ + 1;
  parsed.last_group_at_ = (groups - 1) * kBucketsPerGroup;
  parsed.last_group_size_ = parsed.buckets_ - parsed.last_group_at_;
  parsed.group_ends_ = bytes + kCodeSetHeadBytes;
  parsed.deviations_ = bytes + deviations_at;
  parsed.data_ = parsed.deviations_ + entries_bytes;
  const uint64_t data_bytes = payload.size() - deviations_at - entries_bytes;
  if (LoadLittleEndian32(parsed.group_ends_ + 4 * groups) != data_bytes) return false;
  // A query trusts the directory.
  uint64_t last = 0;
  for (uint64_t bucket = 0; bucket <= parsed.buckets_; bucket++) {
    const uint64_t begin = parsed.BeginOfBucket(bucket);
    if (begin < last || begin > 8 * data_bytes) return false;
    last = begin;
  }
  parsed.first_from_ = kernel.first_from;
  *set = parsed;
  return true;
}

uint64_t CodeSet::BucketOf(uint64_t code) const {
  return MultiplyHigh64(code >> low_bits_, reciprocal_);
}

uint64_t CodeSet::BeginOfBucket(uint64_t bucket) const {
  const uint64_t group = bucket / kBucketsPerGroup, in_group = bucket % kBucketsPerGroup;
  const uint8_t* const ends = group_ends_ + 4 * group;
  const uint64_t begin = LoadLittleEndian32(ends);
  if (in_group == 0) return 8 * begin;
  const uint64_t bytes = LoadLittleEndian32(ends + 4) - begin;
  const uint64_t on_the_line = bucket < last_group_at_ ? 8 * bytes * in_group / kBucketsPerGroup
                                                       : 8 * bytes * in_group / last_group_size_;
  const uint64_t deviation =
      BitsAt(deviations_, bucket * static_cast<uint64_t>(entry_bits_), entry_bits_);
  return 8 * begin + on_the_line + deviation + static_cast<uint64_t>(least_deviation_);
}

bool CodeSet::AnyBetween(uint64_t first, uint64_t last) const {
  const uint64_t last_bucket = BucketOf(last);
  uint64_t bucket = BucketOf(first);
  BucketView view;
  view.data = data_;
  view.low_bits = static_cast<uint64_t>(low_bits_);
  view.begin = BeginOfBucket(bucket);
  while (bucket <= last_bucket) {
    view.first_value = (bucket * units_) << low_bits_;
    view.end = BeginOfBucket(bucket + 1);
    const uint64_t code = first_from_(view, first);
    if (code != kNoCode) return code <= last;
    view.begin = view.end;
    bucket++;
    if (bucket % kBucketsPerGroup == 0) bucket = EndOfEmptyGroups(bucket, last_bucket);
  }
  return false;
}

uint64_t CodeSet::EndOfEmptyGroups(uint64_t bucket, uint64_t last_bucket) const {
  const uint64_t most = std::min(last_bucket, last_group_at_);
  for (const uint8_t* ends = group_ends_ + 4 * (bucket / kBucketsPerGroup); bucket < most;
       bucket += kBucketsPerGroup, ends += 4) {
    if (LoadLittleEndian32(ends) != LoadLittleEndian32(ends + 4)) break;
  }
  return bucket;
}

}  // namespace rocksieve::range
