// SPDX-License-Identifier: Apache-2.0
// The frame that every filter block of ours has around its family's payload. The full one:
//
//        0  magic            8A 52 4B 53
//        4  format version   1
//        5  family           1 Bloom, 2 cuckoo, 3 ribbon
//        6  flags            bit 0: the salt is stored
//        7  parameter        the family's own
//        8  key count        u64
//       16  payload          the family's own
//        .  salt             u64, only with flag bit 0
//        .  smallest entry   at most 32 bytes
//        .  largest entry    at most 32 bytes
//     n-19  length of smallest
//     n-18  length of largest, plus 128 if it was cut
//     n-17  check word       u64: XXH3-64, seed 0, of the bytes 0 .. n-18
//      n-9  tail magic       53 4B 52 8A
//      n-5  trailer          FF 52 00 53 31
//
// The compact one, of filters of some thousand keys, where 30 bytes less are felt:
//
//        0  magic            8A 52 4B 53
//        4  format version   2
//        5  family
//        6  flags            bit 0: the salt is stored; bit 1: largest was cut; the others: c
//        7  parameter
//        8  payload
//        .  salt             u64, only with flag bit 0
//        .  c bytes that smallest and largest begin with, a that follow in smallest, b in largest
//     n-20  key count        u16
//     n-18  a + 4 b
//     n-17  check word, tail magic and trailer, as above
//
// The trailer makes every release of RocksDB's own reader answer "may match" (docs/formats/block.md
// says why), so a database with our filters stays readable without us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rocksieve/filter.h>

#include "lib/format/key_range.h"

namespace rocksieve {

enum class FrameVersion : uint8_t { kFull = 1, kCompact = 2 };

inline constexpr size_t kBlockHeaderBytes = 16;  // of the full frame
inline constexpr size_t kBlockTailBytes = 19;    // of the full frame, without salt and range keys
inline constexpr size_t kCompactHeaderBytes = 8;
inline constexpr size_t kCompactTailBytes = 20;
inline constexpr size_t kBlockSaltBytes = 8;
// What the compact frame keeps of the smallest and the largest entry, where they begin to differ.
inline constexpr size_t kCompactRangeBytes = 3;

// Readers of any version call shorter blocks damaged, so no writer makes one.
inline constexpr size_t kLeastBlockBytes = kBlockHeaderBytes + kBlockTailBytes;

// Payload readers may read this many bytes beyond the payload: the tail is always there.
inline constexpr size_t kReadableBytesPastPayload = kBlockTailBytes;
static_assert(kCompactTailBytes >= kReadableBytesPastPayload);

// Takes a block apart. Reads nothing outside of it. The payload is not looked at, but its bytes are
// covered by the check word. `knows`: whether this version has a family.
BlockState ParseBlock(std::string_view block, bool (*knows)(Family family), FilterBlockInfo* info);

inline constexpr size_t HeaderBytes(FrameVersion version) {
  return version == FrameVersion::kFull ? kBlockHeaderBytes : kCompactHeaderBytes;
}

// Bytes of a block around its payload, without the range or with it.
size_t FrameBytesWithoutRange(FrameVersion version, bool salted);
size_t FrameBytes(FrameVersion version, bool salted, const KeyRange& range);

// Writes everything around a payload that already stands at block + HeaderBytes(version).
// REQUIRES: `block` has room for info.payload.size() + FrameBytes(version, info.salted, range)
// bytes; if compact, the key count is below 2^16. Of `info`, the range fields are ignored: `range`
// is written. Returns the block's size.
size_t SealBlock(FrameVersion version, const FilterBlockInfo& info, const KeyRange& range,
                 char* block);

}  // namespace rocksieve
