// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/dynamic/cuckoo_filter.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/cuckoo_buckets.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

// The field, its range and the remedy; empty if all is well.
std::string WhatIsWrong(const CuckooFilterOptions& options) {
  if (options.buckets < 1 || options.buckets > CuckooFilterOptions::kMostBuckets) {
    return "CuckooFilter: buckets is " + std::to_string(options.buckets) +
           "; give 1 to 2^32, or let ForKeys() choose";
  }
  if (options.fingerprint_bits < CuckooFilterOptions::kLeastFingerprintBits ||
      options.fingerprint_bits > CuckooFilterOptions::kMostFingerprintBits) {
    return "CuckooFilter: fingerprint_bits is " + std::to_string(options.fingerprint_bits) +
           "; give 2 to 32, or let ForKeys() choose";
  }
  return "";
}

static_assert(kSlotsPerBucket == CuckooFilterOptions::kBucketSlots);

// Up to this width a bucket is at most 64 bits, of which a load at its first byte gets all: an odd
// width begins in the middle of a byte at most, and four slots of 15 bits and four bits are 64.
constexpr int kMostOneWordBits = 16;

// One of the four slots of `bits` bits in the bucket holds the value. A lane of the difference is 0
// where they are equal, and only then (or above such a lane) does subtracting 1 from it set its top
// bit where it was not set. Source: A. Mycroft, 1987; H. Warren, "Hacker's Delight", section 6-1.
bool AnySlotEquals(uint64_t bucket, int bits, uint64_t value) {
  const uint64_t ones =
      uint64_t{1} | uint64_t{1} << bits | uint64_t{1} << 2 * bits | uint64_t{1} << 3 * bits;
  const uint64_t difference = bucket ^ ones * value;
  return ((difference - ones) & ~difference & ones << (bits - 1)) != 0;
}

// What ForKeys() chooses at least. Narrower ones do not reach the load in large filters, and their
// rate of a third and more is of no use.
constexpr int kLeastPlannedBits = 5;

// In small filters chance makes keys crowd in some buckets. With so many slots more than the load
// asks for, no number of keys from 1 to 2,000 failed to fit in more than 5 of 100,000 filters with
// 5 bits, and 1.5 with 12; with 16 slots it was three times as many.
constexpr double kSpareSlots = 24;

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("CuckooFilterOptions::ForKeys: " + what);
}

}  // namespace

CuckooFilter::CuckooFilter(const CuckooFilterOptions& options) : options_(options) {
  const std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  slots_ = MakeSlots(options.buckets * kSlotsPerBucket, options.fingerprint_bits);
}

// The bucket is made of upper bits of the hash and the fingerprint of the lower half: independent,
// since there are at most 2^32 buckets.
CuckooFilter::Entry CuckooFilter::EntryOf(uint64_t key_hash) const {
  const uint64_t fingerprints = LowBitsMask(options_.fingerprint_bits);
  return {MultiplyHigh64(key_hash, options_.buckets),
          static_cast<uint32_t>(1 + ((key_hash & UINT32_MAX) * fingerprints >> 32))};
}

uint64_t CuckooFilter::AlternateBucket(uint64_t bucket, uint32_t fingerprint) const {
  return AlternateCuckooBucket(bucket, fingerprint, options_.buckets);
}

uint32_t CuckooFilter::FingerprintAt(uint64_t bucket, int slot) const {
  return static_cast<uint32_t>(GetSlot(
      slots_, bucket * kSlotsPerBucket + static_cast<uint64_t>(slot), options_.fingerprint_bits));
}

void CuckooFilter::SetFingerprint(uint64_t bucket, int slot, uint32_t fingerprint) {
  SetSlot(&slots_, bucket * kSlotsPerBucket + static_cast<uint64_t>(slot),
          options_.fingerprint_bits, fingerprint);
}

int CuckooFilter::FindSlot(uint64_t bucket, uint32_t fingerprint) const {
  for (int slot = 0; slot < kSlotsPerBucket; slot++) {
    if (FingerprintAt(bucket, slot) == fingerprint) return slot;
  }
  return -1;
}

bool CuckooFilter::Insert(const Entry& entry) {
  const uint64_t alternate = AlternateBucket(entry.bucket, entry.fingerprint);
  std::optional<SlotPlace> place = SlotPlace{entry.bucket, FindSlot(entry.bucket, 0)};
  if (place->slot < 0) place = SlotPlace{alternate, FindSlot(alternate, 0)};
  if (place->slot < 0) {
    place = MakeRoom(
        entry.bucket, alternate, [this](uint64_t bucket) { return FindSlot(bucket, 0); },
        [this](uint64_t bucket, int slot) {
          return AlternateBucket(bucket, FingerprintAt(bucket, slot));
        },
        [this](SlotPlace from, SlotPlace to) {
          SetFingerprint(to.bucket, to.slot, FingerprintAt(from.bucket, from.slot));
        });
  }
  if (!place) return false;
  SetFingerprint(place->bucket, place->slot, entry.fingerprint);
  size_++;
  return true;
}

bool CuckooFilter::AddHash(uint64_t key_hash) { return Insert(EntryOf(key_hash)); }

bool CuckooFilter::MayContainHash(uint64_t key_hash) const {
  const Entry entry = EntryOf(key_hash);
  const uint64_t alternate = AlternateBucket(entry.bucket, entry.fingerprint);
  const int bits = options_.fingerprint_bits;
  if (bits > kMostOneWordBits) {
    return FindSlot(entry.bucket, entry.fingerprint) >= 0 ||
           FindSlot(alternate, entry.fingerprint) >= 0;
  }
  // Both are read before either is looked at, so that the memory accesses overlap.
  const int bucket_bits = bits * kSlotsPerBucket;
  const auto bucket_word = [&](uint64_t bucket) {
    const uint64_t at = bucket * static_cast<uint64_t>(bucket_bits);
    return LoadLittleEndian64(slots_.data() + at / 8) >> (at % 8) & LowBitsMask(bucket_bits);
  };
  const uint64_t first = bucket_word(entry.bucket), second = bucket_word(alternate);
  return AnySlotEquals(first, bits, entry.fingerprint) ||
         AnySlotEquals(second, bits, entry.fingerprint);
}

bool CuckooFilter::RemoveHash(uint64_t key_hash) {
  const Entry entry = EntryOf(key_hash);
  SlotPlace place{entry.bucket, FindSlot(entry.bucket, entry.fingerprint)};
  if (place.slot < 0) {
    place.bucket = AlternateBucket(entry.bucket, entry.fingerprint);
    place.slot = FindSlot(place.bucket, entry.fingerprint);
  }
  if (place.slot < 0) return false;
  SetFingerprint(place.bucket, place.slot, 0);
  size_--;
  return true;
}

uint64_t CuckooFilter::CountHash(uint64_t key_hash) const {
  const Entry entry = EntryOf(key_hash);
  const uint64_t alternate = AlternateBucket(entry.bucket, entry.fingerprint);
  uint64_t count = 0;
  for (int slot = 0; slot < kSlotsPerBucket; slot++) {
    count += FingerprintAt(entry.bucket, slot) == entry.fingerprint;
    count += alternate != entry.bucket && FingerprintAt(alternate, slot) == entry.fingerprint;
  }
  return count;
}

uint64_t CuckooFilter::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

bool CuckooFilter::Merge(const CuckooFilter& other) {
  if (options_ != other.options_) return false;
  CuckooFilter merged = *this;
  for (uint64_t bucket = 0; bucket < options_.buckets; bucket++) {
    for (int slot = 0; slot < kSlotsPerBucket; slot++) {
      const uint32_t fingerprint = other.FingerprintAt(bucket, slot);
      if (fingerprint != 0 && !merged.Insert({bucket, fingerprint})) return false;
    }
  }
  *this = std::move(merged);
  return true;
}

void CuckooFilter::Clear() {
  std::fill(slots_.begin(), slots_.end(), uint8_t{0});
  size_ = 0;
}

double CuckooFilter::Load() const {
  return static_cast<double>(size_) / static_cast<double>(options_.buckets * kSlotsPerBucket);
}

double CuckooFilter::ExpectedFalsePositiveRate() const {
  return CuckooFalsePositiveRate(options_.fingerprint_bits, Load());
}

double CuckooFalsePositiveRate(int fingerprint_bits, double load) {
  const double match = 1 / (std::ldexp(1.0, fingerprint_bits) - 1);
  return -std::expm1(2 * CuckooFilterOptions::kBucketSlots * load * std::log1p(-match));
}

CuckooFilterOptions CuckooFilterOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) Refuse("keys is 0; give the number of keys to be held, at least 1");
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    Refuse("false_positive_rate is " + NumberText(false_positive_rate) +
           "; give a share between 0 and 1, such as 0.01");
  }
  const double keys_wanted = static_cast<double>(keys);
  const double buckets = std::ceil((keys_wanted / kLoad + kSpareSlots) / kBucketSlots);
  if (buckets > static_cast<double>(kMostBuckets)) {
    Refuse("keys is " + std::to_string(keys) +
           "; give at most 16 billion, or divide them among several filters");
  }
  CuckooFilterOptions options;
  options.buckets = static_cast<uint64_t>(buckets);
  const double load = keys_wanted / (buckets * kBucketSlots);
  options.fingerprint_bits = kLeastPlannedBits;
  while (CuckooFalsePositiveRate(options.fingerprint_bits, load) > false_positive_rate) {
    if (++options.fingerprint_bits > kMostFingerprintBits) {
      Refuse(
          "false_positive_rate is too small for fingerprints of 32 bits; give at least "
          "0.000000002");
    }
  }
  return options;
}

std::string CuckooFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.buckets);
  out.U8(static_cast<uint8_t>(options_.fingerprint_bits));
  out.U64(options_.seed);
  WriteSlots(slots_, &out);
  return WriteEnvelope(EnvelopeType::kCuckoo, payload);
}

std::optional<CuckooFilter> CuckooFilter::Deserialize(std::string_view bytes, std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kCuckoo, error);
  CuckooFilterOptions options;
  options.buckets = in.U64();
  options.fingerprint_bits = in.U8();
  options.seed = in.U64();
  if (!in.ok()) return in.Refuse("the head is cut off");
  std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) return in.Refuse(wrong);
  const uint64_t slots = options.buckets * CuckooFilterOptions::kBucketSlots;
  CuckooFilter filter;
  filter.options_ = options;
  wrong = ReadSlots(&in, slots, options.fingerprint_bits, &filter.slots_);
  if (!wrong.empty()) return in.Refuse(wrong);
  for (uint64_t i = 0; i < slots; i++) {
    filter.size_ += GetSlot(filter.slots_, i, options.fingerprint_bits) != 0;
  }
  return filter;
}

}  // namespace rocksieve
