// SPDX-License-Identifier: Apache-2.0
// Where a key's bits stand: the steered ribbon filter (STR). docs/formats/ribbon.md has every byte;
// docs/design/ribbon.md says why it works, and what is new against Dietzfelbinger and Walzer,
// "Efficient Gauss Elimination for Near-Quadratic Matrices with One Short Random Block per Row",
// 2019, and Dillinger, Huebschle-Schneider, Sanders, Walzer, "Fast Succinct Retrieval and
// Approximate Membership Using Ribbon", 2022.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"
#include "lib/format/payload.h"

namespace rocksieve::ribbon {

inline constexpr int kMinColumns = 1, kMaxColumns = 32;
inline constexpr int kMaxReseed = 3;

inline constexpr int kSlotsPerGroup = 8;
inline constexpr int kGroupsPerRow = 8;  // the coefficients of a key lie within so many groups
// Groups of a bucket of the usual length: the directory stores what differs.
inline constexpr int kNominalGroups = 32;

inline constexpr uint64_t kPayloadHeadBytes = 8;
inline constexpr uint64_t kCompactHeadBytes = 2;  // without the first wide group
inline constexpr uint64_t kCompactWideBytes = 2;
inline constexpr uint8_t kCompactWideFlag = 128;
inline constexpr uint64_t kSmallHeadBytes = 2;
inline constexpr uint32_t kNoWideGroups = 0xFFFFFFFF;

inline constexpr uint64_t kRowFactor = 0x9FB21C651E98DF25;
inline constexpr uint64_t kFingerprintFactor = 0xD6E8FEB86659FD93;
inline constexpr uint64_t kReseedFactor = 0x9E3779B97F4A7C15;

// The block's parameter byte. Of 32 columns, a head is never compact.
inline constexpr int kColumnsBits = 6;
inline constexpr int kCompactBit = 32;
inline bool HasCompactHead(uint8_t parameter) {
  const int low = parameter & ((1 << kColumnsBits) - 1);
  return low > kCompactBit;
}
inline int ColumnsOf(uint8_t parameter) {
  const int low = parameter & ((1 << kColumnsBits) - 1);
  return low > kCompactBit ? low - kCompactBit : low;
}
inline int ReseedOf(uint8_t parameter) { return parameter >> kColumnsBits; }

// The hash that the family works on: another one-to-one image of the key hash for each reseed.
// Needed only if keys were chosen so that their own hashes cannot be solved.
inline uint64_t Reseeded(uint64_t hash, int reseed) {
  if (reseed == 0) return hash;
  hash = (hash ^ (hash >> 32) ^ static_cast<uint64_t>(reseed)) * kReseedFactor;
  hash = (hash ^ (hash >> 32)) * kReseedFactor;
  return hash ^ (hash >> 32);
}

// Bit j is what column j must give.
inline uint32_t Fingerprint(uint64_t hash) {
  return static_cast<uint32_t>((hash * kFingerprintFactor) >> 32);
}

inline uint64_t BucketIndex(uint64_t hash, uint64_t buckets) {
  return MultiplyHigh64(hash, buckets);
}

// A key's row in a bucket of so many groups. All that is read of it lies in the upper half of the
// product and the two bits below: of the lower bits, hashes with many zeros would make zeros.
class Row {
 public:
  Row(uint64_t hash, uint64_t groups_of_bucket)
      : product_(hash * (kRowFactor + 2 * groups_of_bucket)) {}

  // Groups, counted from the bucket's first.
  uint64_t FirstGroup(uint64_t groups_of_bucket) const {
    return ((product_ >> 32) * groups_of_bucket) >> 32;
  }
  // The second group follows the first; the third comes so many groups after the first: 4 to 7.
  uint64_t ThirdGroupDistance() const { return 4 + (product_ >> 30 & 3); }

  // Which slots of the first, second and third group are selected, in bytes 0, 1 and 2; the byte
  // above them means nothing.
  uint32_t Coefficients() const { return static_cast<uint32_t>(product_ >> 32); }

 private:
  uint64_t product_;
};

// A group beyond the last one stands for the one 8 before. REQUIRES: groups >= kGroupsPerRow.
inline int64_t Folded(int64_t group, int64_t groups) {
  return group < groups ? group : group - kGroupsPerRow;
}

// Where a group begins. Groups from the first wide one on have one column more.
inline uint64_t GroupByte(uint64_t group, int columns, uint64_t first_wide_group) {
  return group * static_cast<uint64_t>(columns) +
         (group > first_wide_group ? group - first_wide_group : 0);
}

// Where each bucket begins: of its first group the lowest byte is stored. As buckets are about
// equally long, that group is never farther than 255 above `anchor + kNominalGroups * bucket`. The
// first anchor is -255 to 0, since the first bucket begins at group 0.

inline constexpr uint64_t kBucketsPerAnchor = 128;
inline constexpr uint64_t kAnchorBytes = 4;

inline uint64_t AnchorCount(uint64_t buckets) {
  return (buckets + kBucketsPerAnchor - 1) / kBucketsPerAnchor;
}

inline uint64_t DirectoryBytes(uint64_t buckets) {
  return kAnchorBytes * AnchorCount(buckets) + buckets + 1;
}

struct Bucket {
  int64_t first_group;
  uint64_t groups;
};

// A directory that is read in place.
class Directory {
 public:
  Directory() = default;
  Directory(const uint8_t* bytes, uint64_t buckets)
      : anchors_(bytes), low_bytes_(bytes + kAnchorBytes * AnchorCount(buckets)) {}
  // That of a compact head: of one anchor, which is -minus_anchor.
  static Directory OfOneAnchor(uint8_t minus_anchor, const uint8_t* low_bytes);

  // REQUIRES: bucket < buckets.
  Bucket At(uint64_t bucket) const {
    const uint8_t low = low_bytes_[bucket];
    const auto groups = static_cast<uint8_t>(low_bytes_[bucket + 1] - low);
    const uint32_t least =
        LoadLittleEndian32(anchors_ + kAnchorBytes * (bucket / kBucketsPerAnchor)) +
        static_cast<uint32_t>(bucket) * kNominalGroups;
    // Of damaged bytes it may be anything.
    return {int64_t{static_cast<int32_t>(least)} + static_cast<uint8_t>(low - least), groups};
  }

 private:
  const uint8_t* anchors_ = nullptr;
  const uint8_t* low_bytes_ = nullptr;
};

// The number of groups of all buckets; 0 if they are not as a builder writes them, one after
// another from group 0 on and none of them empty.
uint64_t CountGroups(const Directory& directory, uint64_t buckets);

// `offsets` are the first groups of all buckets, and the number of groups. False if a directory
// cannot hold them: lengths are 1 to 255 groups, and may not stray far from the nominal one.
bool DirectoryHolds(Span<const uint32_t> offsets);

// REQUIRES: DirectoryHolds(offsets). Writes DirectoryBytes(offsets.size() - 1).
void WriteDirectory(Span<const uint32_t> offsets, uint8_t* to);
// What a compact head has of it: the first anchor, and one byte for each of `offsets`.
uint8_t MinusFirstAnchor(Span<const uint32_t> offsets);
void WriteLowBytes(Span<const uint32_t> offsets, uint8_t* to);

// The small form: up to 64 keys, one dense system of as many equations as there are keys.
//
// All slots stand in one word per column, so a row is any choice of slots and a column of the value
// is the parity of one AND. A random square system can be solved with probability 0.29; the seed
// stands for the attempt that could (about the fourth).

// `slots` is 1 to 64.
inline uint64_t SmallRow(uint64_t hash, int seed, int slots) {
  // Not a sum: a product that grows by equal steps from seed to seed leaves one hash in a few
  // hundred with nearly the same row under all of them.
  const uint64_t product = (hash ^ static_cast<uint64_t>(seed) * kReseedFactor) * kRowFactor;
  return (product ^ (product >> 32)) & (~uint64_t{0} >> (64 - slots));
}

// Column j: bits j * slots .. (j + 1) * slots - 1 of what follows the two bytes of the head. The
// bits above `slots` are those of other columns, or of what follows the payload: up to 8 bytes of
// that are read.
inline uint64_t SmallColumn(const uint8_t* columns, int column, int slots) {
  const int bit = column * slots;
  const uint8_t* from = columns + bit / 8;
  const int shift = bit % 8;
  const uint64_t low = LoadLittleEndian64(from) >> shift;
  return shift == 0 ? low : low | uint64_t{from[8]} << (64 - shift);
}

inline uint64_t SmallPayloadBytes(int columns, int slots) {
  return kSmallHeadBytes + static_cast<uint64_t>(columns * slots + 7) / 8;
}

// Solves and writes SmallPayloadBytes(), with one slot per hash. False if no seed can solve them.
// REQUIRES: 1 to 64 distinct hashes.
bool WriteSmall(Span<const uint64_t> hashes, int columns, uint8_t* payload);

// How many buckets a ribbon filter gets, and how many columns its slots have, under a budget; and
// the false-positive rate of the family as a function.
//
// The slots that a missing key selects give a value that has nothing to do with its fingerprint, so
// each column agrees with probability 1/2: the rate is 2^-F exactly, whatever the number of keys
// (Dillinger, Huebschle-Schneider, Sanders, Walzer 2022, section 2). Where a share of the keys is
// asked one column more, it is the mean of the two rates. Plans take the share of wide groups for
// that of keys, which is a few percent too low in filters of some hundred keys: RateOf().

inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 32;

// Up to so many distinct keys, one small dense system of equations is smaller than buckets.
inline constexpr uint64_t kMaxSmallKeys = 64;

// More distinct keys are not tried: the directory would not hold their offsets.
inline constexpr uint64_t kMaxKeys = uint64_t{1} << 32;

// A head can be compact up to so many keys, which take 128 buckets: one anchor.
inline constexpr uint64_t kMostCompactKeys = kBucketsPerAnchor * 256 - 1;

// Columns per slot: so many, and one more in a share of the groups.
struct Width {
  int columns = kMinColumns;
  double wide_share = 0;
};

// Of the two, one is 0. The number of slots follows from the keys, within a percent or so.
struct Plan {
  double width = 0;      // columns per slot, on average
  double slot_bits = 0;  // bits of all slots
  bool thorough = false;
  bool compact = false;  // the head, up to kMostCompactKeys
};

Plan PlanFor(uint64_t keys, const Budget& budget);

// What the plan means once it is known how many slots there are.
Width WidthFor(const Plan& plan, uint64_t slots);
// In the small form, all slots have the same number of columns.
int SmallColumnsFor(const Plan& plan, uint64_t slots);

// Buckets for so many distinct keys: 256 keys each, which fill the nominal groups. Fewer in filters
// of up to some thousand keys: the last bucket cannot pass surplus keys on, so it needs spare
// slots, the more of them the more keys it has.
uint64_t BucketsFor(uint64_t distinct_keys);

double ExpectedSlots(uint64_t keys);

// Expected payload, its directory included.
double ExpectedPayloadBits(uint64_t keys, const Plan& plan);
// Expected false-positive rate.
double ExpectedRate(uint64_t keys, const Plan& plan);

// REQUIRES: 0 <= wide_share <= 1.
double FalsePositiveRate(int columns, double wide_share);

// Columns per slot on average at which the rate is `rate`. REQUIRES: 0 < rate <= 1.
double WidthForRate(double rate);

}  // namespace rocksieve::ribbon
