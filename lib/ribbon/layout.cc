// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rocksieve::ribbon {
namespace {

// How much the first groups of the buckets under one anchor are above the nominal ones.
struct Surplus {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = std::numeric_limits<int64_t>::min();
};

Surplus SurplusUnder(size_t anchor, Span<const uint32_t> offsets) {
  Surplus surplus;
  const size_t end = std::min((anchor + 1) * kBucketsPerAnchor, offsets.size() - 1);
  for (size_t bucket = anchor * kBucketsPerAnchor; bucket < end; bucket++) {
    const int64_t above = int64_t{offsets[bucket]} - static_cast<int64_t>(bucket * kNominalGroups);
    surplus.least = std::min(surplus.least, above);
    surplus.most = std::max(surplus.most, above);
  }
  return surplus;
}

// All first anchors that there can be, as a payload has them, so that queries need not ask which
// head they have before them.
struct FirstAnchors {
  constexpr FirstAnchors() {
    for (uint32_t minus = 0; minus <= UINT8_MAX; minus++) {
      for (uint64_t i = 0; i < kAnchorBytes; i++) {
        bytes[minus * kAnchorBytes + i] = static_cast<uint8_t>(-minus >> (8 * i));
      }
    }
  }
  uint8_t bytes[kAnchorBytes * (UINT8_MAX + 1)] = {};
};
constexpr FirstAnchors kFirstAnchors;

}  // namespace

Directory Directory::OfOneAnchor(uint8_t minus_anchor, const uint8_t* low_bytes) {
  Directory directory;
  directory.anchors_ = kFirstAnchors.bytes + kAnchorBytes * minus_anchor;
  directory.low_bytes_ = low_bytes;
  return directory;
}

uint64_t CountGroups(const Directory& directory, uint64_t buckets) {
  int64_t groups = 0;
  for (uint64_t q = 0; q < buckets; q++) {
    const Bucket bucket = directory.At(q);
    if (bucket.first_group != groups || bucket.groups == 0) return 0;
    groups += static_cast<int64_t>(bucket.groups);
  }
  return static_cast<uint64_t>(groups);
}

bool DirectoryHolds(Span<const uint32_t> offsets) {
  for (size_t bucket = 0; bucket + 1 < offsets.size(); bucket++) {
    if (offsets[bucket + 1] <= offsets[bucket]) return false;
    if (offsets[bucket + 1] - offsets[bucket] > UINT8_MAX) return false;
  }
  for (size_t anchor = 0; anchor < AnchorCount(offsets.size() - 1); anchor++) {
    const Surplus surplus = SurplusUnder(anchor, offsets);
    if (surplus.most - surplus.least > UINT8_MAX) return false;
  }
  return true;
}

void WriteDirectory(Span<const uint32_t> offsets, uint8_t* to) {
  for (size_t anchor = 0; anchor < AnchorCount(offsets.size() - 1); anchor++, to += kAnchorBytes) {
    StoreLittleEndian32(to, static_cast<uint32_t>(SurplusUnder(anchor, offsets).least));
  }
  WriteLowBytes(offsets, to);
}

uint8_t MinusFirstAnchor(Span<const uint32_t> offsets) {
  return static_cast<uint8_t>(-SurplusUnder(0, offsets).least);
}

void WriteLowBytes(Span<const uint32_t> offsets, uint8_t* to) {
  for (uint32_t offset : offsets) *to++ = static_cast<uint8_t>(offset);
}

namespace {

constexpr int kSeeds = 256;

// Brings the system into echelon form with the row of pivot s in rows[s]. False if it is singular.
bool Eliminate(Span<const uint64_t> hashes, int seed, uint64_t* rows, uint32_t* results) {
  const int slots = static_cast<int>(hashes.size());
  std::fill(rows, rows + slots, 0);
  for (uint64_t hash : hashes) {
    uint64_t row = SmallRow(hash, seed, slots);
    uint32_t result = Fingerprint(hash);
    while (row != 0) {
      const int pivot = __builtin_ctzll(row);
      if (rows[pivot] == 0) {
        rows[pivot] = row;
        results[pivot] = result;
        break;
      }
      row ^= rows[pivot];
      result ^= results[pivot];
    }
    if (row == 0) return false;
  }
  return true;
}

}  // namespace

bool WriteSmall(Span<const uint64_t> hashes, int columns, uint8_t* payload) {
  const int slots = static_cast<int>(hashes.size());
  uint64_t rows[64];
  uint32_t results[64], values[64];  // bit j belongs to column j
  int seed = 0;
  while (!Eliminate(hashes, seed, rows, results)) {
    if (++seed == kSeeds) return false;
  }
  for (int slot = slots - 1; slot >= 0; slot--) {
    values[slot] = results[slot];
    for (uint64_t others = rows[slot] & (rows[slot] - 1); others != 0; others &= others - 1) {
      values[slot] ^= values[__builtin_ctzll(others)];
    }
  }
  std::fill_n(payload, SmallPayloadBytes(columns, slots), 0);
  payload[0] = static_cast<uint8_t>(slots);
  payload[1] = static_cast<uint8_t>(seed);
  for (int column = 0; column < columns; column++) {
    for (int slot = 0; slot < slots; slot++) {
      const int bit = column * slots + slot;
      const uint32_t value = values[slot] >> column & 1;
      payload[kSmallHeadBytes + bit / 8] |= static_cast<uint8_t>(value << (bit % 8));
    }
  }
  return true;
}

namespace {

// Two widths make a query a nanosecond slower: not worth it for a few narrow groups.
double WithoutFewNarrowGroups(double width) {
  constexpr double kFew = 0.03;
  return std::ceil(width) - width < kFew ? std::ceil(width) : width;
}

bool IsSmall(uint64_t keys) { return keys <= kMaxSmallKeys; }

uint64_t HeadBytes(uint64_t keys, bool compact) {
  if (IsSmall(keys)) return kSmallHeadBytes;
  const uint64_t buckets = BucketsFor(keys);
  return compact ? kCompactHeadBytes + kCompactWideBytes + buckets + 1
                 : kPayloadHeadBytes + DirectoryBytes(buckets);
}

double OverheadBits(uint64_t keys, bool compact) {
  return 8.0 * static_cast<double>(HeadBytes(keys, compact));
}

}  // namespace

Plan PlanFor(uint64_t keys, const Budget& budget) {
  Plan plan;
  plan.thorough = budget.thorough;
  plan.compact = budget.compact;
  if (keys == 0) return plan;
  // A little below the limit, since the number of slots is not known exactly.
  const double most_bits = 0.99 * 8.0 * static_cast<double>(kMaxPayloadBytes);
  if (!budget.is_rate) {
    const double bits = budget.PayloadBits(keys);
    plan.slot_bits = std::min(
        bits - std::min(OverheadBits(keys, plan.compact), kLargestOverheadShare * bits), most_bits);
    return plan;
  }
  const double width = WithoutFewNarrowGroups(WidthForRate(budget.amount));
  const double bits = budget.factor * width * ExpectedSlots(keys);
  // A factor asks for an amount of memory, so that is what is promised then.
  if (budget.factor != 1 || bits > most_bits) {
    plan.slot_bits = std::min(bits, most_bits);
  } else {
    plan.width = width;
  }
  return plan;
}

Width WidthFor(const Plan& plan, uint64_t slots) {
  const double wanted = plan.width != 0 ? plan.width : plan.slot_bits / static_cast<double>(slots);
  const double width = std::clamp(wanted, double{kMinColumns}, double{kMaxColumns});
  const int columns = static_cast<int>(width);
  return {columns, width - columns};
}

int SmallColumnsFor(const Plan& plan, uint64_t slots) {
  const Width width = WidthFor(plan, slots);
  // A rate is a promise, bits per key are a budget.
  const bool wide = plan.width != 0 ? width.wide_share > 0 : width.wide_share >= 0.5;
  return width.columns + (wide ? 1 : 0);
}

uint64_t BucketsFor(uint64_t distinct_keys) {
  const auto keys = static_cast<double>(distinct_keys);
  return static_cast<uint64_t>(std::max(keys / 256, std::sqrt(keys) / 5) + 0.5);
}

double ExpectedSlots(uint64_t keys) {
  if (IsSmall(keys)) return static_cast<double>(keys);
  // As built: slots that stay empty in all buckets, and those to spare in the last.
  const auto count = static_cast<double>(keys);
  return 1.0012 * count + 4 + std::min(std::sqrt(count) / 10, 9.0);
}

double ExpectedPayloadBits(uint64_t keys, const Plan& plan) {
  if (keys == 0) return 0;
  const double slots = ExpectedSlots(keys);
  if (IsSmall(keys)) {
    return OverheadBits(keys, plan.compact) +
           8 * std::ceil(slots * SmallColumnsFor(plan, keys) / 8);
  }
  const Width width = WidthFor(plan, static_cast<uint64_t>(slots));
  return OverheadBits(keys, plan.compact) + slots * (width.columns + width.wide_share);
}

double ExpectedRate(uint64_t keys, const Plan& plan) {
  if (IsSmall(keys)) return FalsePositiveRate(SmallColumnsFor(plan, keys), 0);
  const Width width = WidthFor(plan, static_cast<uint64_t>(ExpectedSlots(keys)));
  return FalsePositiveRate(width.columns, width.wide_share);
}

double FalsePositiveRate(int columns, double wide_share) {
  return std::ldexp(1 - wide_share / 2, -columns);
}

double WidthForRate(double rate) {
  // The inverse of the above: rate * 2^columns = 1 - share / 2 lies between 1/2 and 1.
  const double columns = std::floor(-std::log2(rate));
  return columns + 2 * (1 - std::ldexp(rate, static_cast<int>(columns)));
}

}  // namespace rocksieve::ribbon
