// SPDX-License-Identifier: Apache-2.0
#include "lib/range/code_set.h"

#include <algorithm>
#include <cmath>

#include "lib/format/bit_io.h"
#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::range {
namespace {

constexpr int kMostEntryBits = 25;  // two of them lie in one load
constexpr int kMostLowBits = 50;

uint64_t Mask(int bits) { return (uint64_t{1} << bits) - 1; }

uint64_t BitsAt(const uint8_t* from, uint64_t bit, int bits) {  // up to 57
  return LoadLittleEndian64(from + bit / 8) >> (bit % 8) & Mask(bits);
}

}  // namespace

bool CodeSet::Parse(std::string_view payload, CodeSet* set, FirstFrom first_from) {
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
  parsed.first_from_ = first_from;
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

namespace {

constexpr double kCodesPerBucket = 64;
// Longer ones are not tried for codes that could be hashed instead.
constexpr uint64_t kMostCodesPerBucket = 1024;
constexpr double kDirectoryBits = 0.2;
constexpr double kLeastLog2Gap = 1, kMostLog2Gap = 44;
// The mean gap over 2^low_bits lies between this and its double, where the codes are shortest.
constexpr double kLeastGapOverUnit = 1.04;

// Expected bits of a random gap whose mean is `ratio` times 2^low_bits, less low_bits and log2 of
// the ratio: a one, the zeros, of which there are 1 / (e^(1/ratio) - 1) of a geometric gap.
double BitsOverLog2Gap(double ratio) { return 1 + 1 / std::expm1(1 / ratio) - std::log2(ratio); }

int LowBitsFor(double log2_gap) {
  return std::max(0, static_cast<int>(std::floor(log2_gap - std::log2(kLeastGapOverUnit))));
}

// How the codes are stored.
struct Layout {
  uint64_t buckets = 0;
  uint64_t units = 0;
  int low_bits = 0;

  uint64_t universe() const { return (buckets * units) << low_bits; }
};

// A universe of at least `universe`, and buckets for so many codes.
Layout LayoutFor(double universe, uint64_t codes) {
  const auto count = static_cast<double>(codes);
  Layout layout;
  layout.low_bits = LowBitsFor(std::log2(universe / count));
  const double unit = std::ldexp(1, layout.low_bits);
  const double units = std::ceil(universe / unit);
  layout.units =
      static_cast<uint64_t>(std::clamp(kCodesPerBucket * universe / count / unit, 2.0, 65535.0));
  layout.buckets = static_cast<uint64_t>(std::ceil(units / static_cast<double>(layout.units)));
  return layout;
}

// The codes of each bucket, as bits.
class Coder {
 public:
  explicit Coder(const Layout& layout) : layout_(layout), bits_of_bucket_(layout.buckets) {}

  // Adds up the sizes. False if a bucket has too many codes.
  bool Measure(const std::vector<uint64_t>& codes) {
    const uint64_t width = layout_.units << layout_.low_bits;
    uint64_t bucket = UINT64_MAX, last = 0, end = 0, in_bucket = 0;
    bool all_short = true;
    for (const uint64_t code : codes) {
      if (bucket == UINT64_MAX || code >= end) {
        bucket = code / width;
        last = bucket * width;
        end = last + width;
        in_bucket = 0;
      }
      all_short = all_short && ++in_bucket <= kMostCodesPerBucket;
      bits_of_bucket_[bucket] +=
          ((code - last) >> layout_.low_bits) + 1 + static_cast<uint64_t>(layout_.low_bits);
      last = code;
    }
    Direct();
    return all_short;
  }

  double total_bits() const {
    return 8.0 *
           static_cast<double>(kCodeSetHeadBytes + 4 * group_ends_.size() +
                               (deviations_.size() * entry_bits_ + 7) / 8 + group_ends_.back());
  }

  // REQUIRES: Measure() of the same codes.
  void Append(const std::vector<uint64_t>& codes, std::string* payload) const {
    ByteWriter out(payload);
    out.U32(static_cast<uint32_t>(layout_.buckets));
    out.U32(static_cast<uint32_t>(codes.size()));
    out.U8(static_cast<uint8_t>(layout_.units));
    out.U8(static_cast<uint8_t>(layout_.units >> 8));
    out.U8(static_cast<uint8_t>(layout_.low_bits));
    out.U8(static_cast<uint8_t>(entry_bits_));
    out.U32(static_cast<uint32_t>(least_deviation_));
    for (const uint64_t end : group_ends_) out.U32(static_cast<uint32_t>(end));
    BitWriter deviations(payload);
    for (const int64_t deviation : deviations_) {
      deviations.Put(static_cast<uint64_t>(deviation - least_deviation_),
                     static_cast<int>(entry_bits_));
    }
    deviations.Finish();
    const size_t data_at = payload->size();
    payload->resize(data_at + group_ends_.back() + 8);  // a code is written as a word
    WriteData(codes, reinterpret_cast<uint8_t*>(payload->data()) + data_at);
    payload->resize(data_at + group_ends_.back());
  }

 private:
  // The directory, once the sizes are known.
  void Direct() {
    const uint64_t buckets = layout_.buckets;
    group_ends_.assign(1, 0);
    deviations_.clear();
    begins_.clear();
    for (uint64_t first = 0; first < buckets; first += kBucketsPerGroup) {
      const uint64_t count = std::min(kBucketsPerGroup, buckets - first);
      uint64_t bits = 0;
      for (uint64_t i = 0; i < count; i++) bits += bits_of_bucket_[first + i];
      const uint64_t begin = group_ends_.back(), bytes = (bits + 7) / 8;
      uint64_t at = 0;
      for (uint64_t i = 0; i < count; i++) {
        begins_.push_back(8 * begin + at);
        const auto line = static_cast<int64_t>(8 * bytes * i / count);
        deviations_.push_back(static_cast<int64_t>(at) - line);
        at += bits_of_bucket_[first + i];
      }
      group_ends_.push_back(begin + bytes);
    }
    begins_.push_back(8 * group_ends_.back());
    deviations_.push_back(0);  // the end, which lies on the line
    const auto [least, most] = std::minmax_element(deviations_.begin(), deviations_.end());
    least_deviation_ = *least;
    entry_bits_ = 0;
    while ((*most - *least) >> entry_bits_ != 0) entry_bits_++;
  }

  void WriteData(const std::vector<uint64_t>& codes, uint8_t* data) const {
    const uint64_t width = layout_.units << layout_.low_bits;
    const auto low_bits = static_cast<uint64_t>(layout_.low_bits);
    const uint64_t mask = (uint64_t{1} << low_bits) - 1;
    uint64_t last = 0, end = 0, one_at = 0, low_at = 0;
    for (const uint64_t code : codes) {
      if (code >= end) {
        const uint64_t bucket = code / width;
        last = bucket * width;
        end = last + width;
        one_at = begins_[bucket];
        low_at = begins_[bucket + 1];
      }
      const uint64_t gap = code - last;
      last = code;
      one_at += gap >> low_bits;
      data[one_at / 8] |= static_cast<uint8_t>(1 << (one_at % 8));
      one_at++;
      low_at -= low_bits;
      uint8_t* const word = data + low_at / 8;
      StoreLittleEndian64(word, LoadLittleEndian64(word) | (gap & mask) << (low_at % 8));
    }
  }

  const Layout layout_;
  std::vector<uint64_t> bits_of_bucket_, begins_, group_ends_;
  std::vector<int64_t> deviations_;
  int64_t least_deviation_ = 0;
  uint64_t entry_bits_ = 0;
};

// The codes of sorted places, sorted and without duplicates. Blocks may overlap, but by no more
// than their length, so hardly anything is out of order.
void CodesOf(const std::vector<uint64_t>& places, uint64_t universe, std::vector<uint64_t>* codes) {
  codes->clear();
  for (const uint64_t place : places) {
    const uint64_t code = CodeOfBlock(place, universe) + place % kBlockValues;
    size_t at = codes->size();
    codes->push_back(code);
    for (; at > 0 && (*codes)[at - 1] > code; at--) (*codes)[at] = (*codes)[at - 1];
    (*codes)[at] = code;
  }
  codes->erase(std::unique(codes->begin(), codes->end()), codes->end());
}

// Sorts and drops duplicates. Places are spread evenly, so that parts of a few are sorted.
void SortPlaces(std::vector<uint64_t>* places) {
  constexpr uint64_t kPlacesPerPart = 24;
  const uint64_t parts = places->size() / kPlacesPerPart + 1;
  PartitionedHashes partition = PartitionHashes(
      HashList(places->begin(), places->end()), parts,
      [parts](uint64_t place) { return static_cast<size_t>(MultiplyHigh64(place, parts)); });
  for (size_t part = 0; part < parts; part++) {
    const auto begin = partition.hashes.begin();
    std::sort(begin + static_cast<ptrdiff_t>(partition.begin_of_part[part]),
              begin + static_cast<ptrdiff_t>(partition.begin_of_part[part + 1]));
  }
  places->erase(std::unique_copy(partition.hashes.begin(), partition.hashes.end(), places->begin()),
                places->end());
}

}  // namespace

uint64_t CodeOfBlock(uint64_t place, uint64_t universe) {
  return MultiplyHigh64(place & ~(kBlockValues - 1), universe - kBlockValues);
}

double BitsPerCodeFor(double log2_gap) {
  const double ratio = std::exp2(log2_gap - LowBitsFor(log2_gap));
  return log2_gap + BitsOverLog2Gap(ratio) + kDirectoryBits;
}

double Log2GapFor(double bits_per_code) {
  double low = kLeastLog2Gap, high = kMostLog2Gap;
  for (int step = 0; step < 30; step++) {
    const double middle = (low + high) / 2;
    (BitsPerCodeFor(middle) <= bits_per_code ? low : high) = middle;
  }
  return low;
}

void BuildHashedCodes(std::vector<uint64_t> places, double bits, std::string* payload) {
  SortPlaces(&places);
  const auto count = static_cast<double>(places.size());
  // What does not grow with the number of codes is not taken from them where they are few.
  const double constant = 8.0 * (kCodeSetHeadBytes + 8);
  bits -= std::min(constant, 0.03 * bits);
  double log2_gap = Log2GapFor(bits / count);
  std::vector<uint64_t> codes;
  codes.reserve(places.size());
  // The size falls with the universe nearly in a straight line: one bit per code and halving.
  constexpr int kMostSteps = 6;
  for (int step = 0;; step++) {
    const double universe = std::clamp(std::exp2(log2_gap) * count, 4.0 * kBlockValues,
                                       static_cast<double>(kMaxUniverse / 2));
    const Layout layout = LayoutFor(universe, places.size());
    CodesOf(places, layout.universe(), &codes);
    Coder coder(layout);
    coder.Measure(codes);
    const double surplus = (coder.total_bits() - constant - bits) / count;
    const bool fits = surplus <= 0;
    if ((fits && surplus > -0.02) || step == kMostSteps || log2_gap <= kLeastLog2Gap ||
        log2_gap >= kMostLog2Gap || places.size() < 64) {
      coder.Append(codes, payload);
      return;
    }
    log2_gap = std::clamp(log2_gap - surplus - 0.005, kLeastLog2Gap, kMostLog2Gap);
  }
}

bool BuildExactCodes(const std::vector<uint64_t>& sorted_codes, uint64_t universe,
                     std::string* payload) {
  Layout layout = LayoutFor(static_cast<double>(universe), sorted_codes.size());
  // From 2^53 on, the nearest double may be smaller.
  if (layout.universe() < universe) layout.buckets++;
  Coder coder(layout);
  if (!coder.Measure(sorted_codes)) return false;
  coder.Append(sorted_codes, payload);
  return true;
}

}  // namespace rocksieve::range
