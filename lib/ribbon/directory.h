// SPDX-License-Identifier: Apache-2.0
// Where each bucket begins: one byte per bucket, and four bytes per 128 of them.
//
//   i32 anchor x ceil(buckets / 128) | u8 low byte x (buckets + 1)
//
// Of the number of a bucket's first group only the lowest byte is stored: the difference to that of
// the next one is the bucket's length. As buckets are about equally long, the first group itself
// is never farther than 255 above `anchor + kNominalGroups * bucket`. The first anchor is -255 to
// 0, since the first bucket begins at group 0: a compact head has it in one byte.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"
#include "lib/format/span.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

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

}  // namespace rocksieve::ribbon
