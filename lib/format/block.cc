// SPDX-License-Identifier: Apache-2.0
#include "lib/format/block.h"

#include <cstring>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHeadMagic = "\x8ARKS"sv;
constexpr std::string_view kTailMagic = "SKR\x8A"sv;
constexpr std::string_view kTrailer = "\xFFR\0S1"sv;
constexpr uint8_t kFormatVersion = 1;
constexpr uint8_t kFlagSalted = 1;
constexpr uint8_t kLargestCut = 0x80;
constexpr size_t kCheckFromEnd = 17;

uint64_t CheckWord(const char* block, size_t bytes) { return XXH3_64bits(block, bytes); }

bool AnyMarkIsOurs(std::string_view block) {
  if (block.substr(0, kHeadMagic.size()) == kHeadMagic) return true;
  const size_t end = block.size();
  if (end >= kTrailer.size() && block.substr(end - kTrailer.size()) == kTrailer) return true;
  const size_t both = kTailMagic.size() + kTrailer.size();
  return end >= both && block.substr(end - both, kTailMagic.size()) == kTailMagic;
}

bool AllMarksAreOurs(std::string_view block) {
  const size_t both = kTailMagic.size() + kTrailer.size();
  return block.size() >= kBlockHeaderBytes + kBlockTailBytes &&
         block.substr(0, kHeadMagic.size()) == kHeadMagic &&
         block.substr(block.size() - both, kTailMagic.size()) == kTailMagic &&
         block.substr(block.size() - kTrailer.size()) == kTrailer;
}

}  // namespace

BlockState ParseBlock(std::string_view block, bool (*knows)(Family family), FilterBlockInfo* info) {
  if (!AnyMarkIsOurs(block)) return BlockState::kForeign;
  if (!AllMarksAreOurs(block)) return BlockState::kDamaged;

  const size_t check_at = block.size() - kCheckFromEnd;
  if (LoadLittleEndian64(block.data() + check_at) != CheckWord(block.data(), check_at)) {
    return BlockState::kDamaged;
  }
  const uint8_t flags = ByteAt(block, 6);
  if (ByteAt(block, 4) != kFormatVersion || !knows(static_cast<Family>(ByteAt(block, 5))) ||
      (flags & ~kFlagSalted) != 0) {
    return BlockState::kFutureVersion;
  }

  info->family = static_cast<Family>(ByteAt(block, 5));
  info->salted = (flags & kFlagSalted) != 0;
  info->parameter = ByteAt(block, 7);
  info->key_count = LoadLittleEndian64(block.data() + 8);

  const size_t smallest_bytes = ByteAt(block, block.size() - 19);
  const uint8_t largest_byte = ByteAt(block, block.size() - 18);
  const size_t largest_bytes = largest_byte & ~kLargestCut;
  const size_t around = FrameBytesWithoutRange(info->salted) + smallest_bytes + largest_bytes;
  if (smallest_bytes > kMaxRangeKeyBytes || largest_bytes > kMaxRangeKeyBytes ||
      around > block.size()) {
    return BlockState::kDamaged;
  }
  const size_t payload_bytes = block.size() - around;
  info->payload = block.substr(kBlockHeaderBytes, payload_bytes);
  size_t at = kBlockHeaderBytes + payload_bytes;
  info->salt = kDefaultSalt;
  if (info->salted) {
    info->salt = LoadLittleEndian64(block.data() + at);
    at += kBlockSaltBytes;
  }
  info->smallest = block.substr(at, smallest_bytes);
  info->largest = block.substr(at + smallest_bytes, largest_bytes);
  info->largest_cut = (largest_byte & kLargestCut) != 0;
  return BlockState::kIntact;
}

size_t FrameBytesWithoutRange(bool salted) {
  return kBlockHeaderBytes + (salted ? kBlockSaltBytes : 0) + kBlockTailBytes;
}

size_t FrameBytes(bool salted, const KeyRange& range) {
  return FrameBytesWithoutRange(salted) + range.smallest().size() + range.largest().size();
}

size_t SealBlock(const FilterBlockInfo& info, const KeyRange& range, char* block) {
  std::memcpy(block, kHeadMagic.data(), kHeadMagic.size());
  block[4] = static_cast<char>(kFormatVersion);
  block[5] = static_cast<char>(info.family);
  block[6] = static_cast<char>(info.salted ? kFlagSalted : 0);
  block[7] = static_cast<char>(info.parameter);
  StoreLittleEndian64(block + 8, info.key_count);

  char* at = block + kBlockHeaderBytes + info.payload.size();
  if (info.salted) {
    StoreLittleEndian64(at, info.salt);
    at += kBlockSaltBytes;
  }
  at += range.smallest().copy(at, kMaxRangeKeyBytes);
  at += range.largest().copy(at, kMaxRangeKeyBytes);
  *at++ = static_cast<char>(range.smallest().size());
  *at++ = static_cast<char>(range.largest().size() | (range.largest_cut() ? kLargestCut : 0));
  StoreLittleEndian64(at, CheckWord(block, static_cast<size_t>(at - block)));
  at += 8;
  at += kTailMagic.copy(at, kTailMagic.size());
  at += kTrailer.copy(at, kTrailer.size());
  return static_cast<size_t>(at - block);
}

}  // namespace rocksieve
