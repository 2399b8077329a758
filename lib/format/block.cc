// SPDX-License-Identifier: Apache-2.0
#include "lib/format/block.h"

#include <algorithm>
#include <cstring>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHeadMagic = "\x8ARKS"sv;
constexpr std::string_view kTailMagic = "SKR\x8A"sv;
constexpr std::string_view kTrailer = "\xFFR\0S1"sv;
constexpr uint8_t kFlagSalted = 1;
constexpr uint8_t kLargestCut = 0x80;
constexpr uint8_t kFlagLargestCut = 2;  // of the compact frame
constexpr int kCommonShift = 2;
constexpr size_t kCheckFromEnd = 17;

uint64_t CheckWord(const char* block, size_t bytes) { return XXH3_64bits(block, bytes); }

// Of the three.
int OurMarks(std::string_view block) {
  const auto is_before_end = [block](std::string_view mark, size_t bytes) {
    return block.size() >= bytes && block.substr(block.size() - bytes, mark.size()) == mark;
  };
  return (block.substr(0, kHeadMagic.size()) == kHeadMagic ? 1 : 0) +
         (is_before_end(kTailMagic, kTailMagic.size() + kTrailer.size()) ? 1 : 0) +
         (is_before_end(kTrailer, kTrailer.size()) ? 1 : 0);
}

// What the compact frame stores of a range: both keys up to where they differ, and a few bytes
// more.
struct CompactRange {
  explicit CompactRange(const KeyRange& range) {
    const std::string_view smallest = range.smallest(), largest = range.largest();
    const auto end =
        std::mismatch(smallest.begin(), smallest.end(), largest.begin(), largest.end());
    common = largest.substr(0, static_cast<size_t>(end.first - smallest.begin()));
    smallest_rest = smallest.substr(common.size(), kCompactRangeBytes);
    largest_rest = largest.substr(common.size(), kCompactRangeBytes);
    largest_cut = range.largest_cut() || common.size() + largest_rest.size() < largest.size();
  }
  size_t bytes() const { return common.size() + smallest_rest.size() + largest_rest.size(); }

  std::string_view common, smallest_rest, largest_rest;
  bool largest_cut;
};

// What stands between a block's head and its check word, from its first byte to its last.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : rest_(bytes) {}
  bool has(size_t bytes) const { return bytes <= rest_.size(); }
  // REQUIRES: has(bytes).
  std::string_view TakeLast(size_t bytes) {
    const std::string_view last = rest_.substr(rest_.size() - bytes);
    rest_.remove_suffix(bytes);
    return last;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Salt and payload, when all that follows them is taken.
void TakeSaltAndPayload(Parts* parts, FilterBlockInfo* info) {
  info->salt = kDefaultSalt;
  if (info->salted) info->salt = LoadLittleEndian64(parts->TakeLast(kBlockSaltBytes).data());
  info->payload = parts->rest();
}

bool ParseFull(std::string_view head, Parts parts, FilterBlockInfo* info) {
  info->key_count = LoadLittleEndian64(head.data() + 8);
  const std::string_view lengths = parts.TakeLast(2);
  const size_t smallest_bytes = ByteAt(lengths, 0);
  const uint8_t largest_byte = ByteAt(lengths, 1);
  const size_t largest_bytes = largest_byte & ~kLargestCut;
  if (smallest_bytes > kMaxRangeKeyBytes || largest_bytes > kMaxRangeKeyBytes ||
      !parts.has(smallest_bytes + largest_bytes + (info->salted ? kBlockSaltBytes : 0))) {
    return false;
  }
  info->largest = parts.TakeLast(largest_bytes);
  info->smallest = parts.TakeLast(smallest_bytes);
  info->largest_cut = (largest_byte & kLargestCut) != 0;
  TakeSaltAndPayload(&parts, info);
  return true;
}

bool ParseCompact(std::string_view head, Parts parts, FilterBlockInfo* info) {
  const uint8_t lengths = ByteAt(parts.TakeLast(1), 0);
  info->key_count = LoadLittleEndian16(parts.TakeLast(2).data());
  const uint8_t flags = ByteAt(head, 6);
  const size_t common_bytes = flags >> kCommonShift;
  const size_t smallest_rest = lengths & 3, largest_rest = lengths >> 2;
  if (largest_rest > kCompactRangeBytes ||
      common_bytes + std::max(smallest_rest, largest_rest) > kMaxRangeKeyBytes ||
      !parts.has(common_bytes + smallest_rest + largest_rest +
                 (info->salted ? kBlockSaltBytes : 0))) {
    return false;
  }
  const std::string_view end_of_largest = parts.TakeLast(largest_rest);
  info->smallest = parts.TakeLast(common_bytes + smallest_rest);
  info->largest.assign(info->smallest.substr(0, common_bytes)).append(end_of_largest);
  info->largest_cut = (flags & kFlagLargestCut) != 0;
  TakeSaltAndPayload(&parts, info);
  return true;
}

char* SealTail(char* block, char* at) {
  StoreLittleEndian64(at, CheckWord(block, static_cast<size_t>(at - block)));
  at += 8;
  at += kTailMagic.copy(at, kTailMagic.size());
  return at + kTrailer.copy(at, kTrailer.size());
}

char* SealSalt(const FilterBlockInfo& info, char* at) {
  if (!info.salted) return at;
  StoreLittleEndian64(at, info.salt);
  return at + kBlockSaltBytes;
}

// From behind the payload to the check word.
char* SealFullRange(const FilterBlockInfo& info, const KeyRange& range, char* block, char* at) {
  block[6] = static_cast<char>(info.salted ? kFlagSalted : 0);
  StoreLittleEndian64(block + 8, info.key_count);
  at += range.smallest().copy(at, kMaxRangeKeyBytes);
  at += range.largest().copy(at, kMaxRangeKeyBytes);
  *at++ = static_cast<char>(range.smallest().size());
  *at++ = static_cast<char>(range.largest().size() | (range.largest_cut() ? kLargestCut : 0));
  return at;
}

char* SealCompactRange(const FilterBlockInfo& info, const KeyRange& range, char* block, char* at) {
  const CompactRange compact(range);
  block[6] = static_cast<char>((info.salted ? kFlagSalted : 0) |
                               (compact.largest_cut ? kFlagLargestCut : 0) |
                               compact.common.size() << kCommonShift);
  at += compact.common.copy(at, compact.common.size());
  at += compact.smallest_rest.copy(at, compact.smallest_rest.size());
  at += compact.largest_rest.copy(at, compact.largest_rest.size());
  StoreLittleEndian16(at, static_cast<uint16_t>(info.key_count));
  at += 2;
  *at++ = static_cast<char>(compact.smallest_rest.size() | compact.largest_rest.size() << 2);
  return at;
}

}  // namespace

BlockState ParseBlock(std::string_view block, bool (*knows)(Family family), FilterBlockInfo* info) {
  const int our_marks = OurMarks(block);
  if (our_marks == 0) return BlockState::kForeign;
  if (our_marks < 3 || block.size() < kLeastBlockBytes) return BlockState::kDamaged;

  const size_t check_at = block.size() - kCheckFromEnd;
  if (LoadLittleEndian64(block.data() + check_at) != CheckWord(block.data(), check_at)) {
    return BlockState::kDamaged;
  }
  const auto version = static_cast<FrameVersion>(ByteAt(block, 4));
  const bool is_full = version == FrameVersion::kFull;
  const uint8_t flags = ByteAt(block, 6);
  if ((!is_full && version != FrameVersion::kCompact) ||
      !knows(static_cast<Family>(ByteAt(block, 5))) || (is_full && (flags & ~kFlagSalted) != 0)) {
    return BlockState::kFutureVersion;
  }

  info->family = static_cast<Family>(ByteAt(block, 5));
  info->salted = (flags & kFlagSalted) != 0;
  info->parameter = ByteAt(block, 7);
  const std::string_view head = block.substr(0, HeaderBytes(version));
  const Parts parts(block.substr(head.size(), check_at - head.size()));
  const bool fits = is_full ? ParseFull(head, parts, info) : ParseCompact(head, parts, info);
  return fits ? BlockState::kIntact : BlockState::kDamaged;
}

size_t FrameBytesWithoutRange(FrameVersion version, bool salted) {
  const size_t tail_bytes = version == FrameVersion::kFull ? kBlockTailBytes : kCompactTailBytes;
  return HeaderBytes(version) + (salted ? kBlockSaltBytes : 0) + tail_bytes;
}

size_t FrameBytes(FrameVersion version, bool salted, const KeyRange& range) {
  return FrameBytesWithoutRange(version, salted) +
         (version == FrameVersion::kFull ? range.smallest().size() + range.largest().size()
                                         : CompactRange(range).bytes());
}

size_t SealBlock(FrameVersion version, const FilterBlockInfo& info, const KeyRange& range,
                 char* block) {
  std::memcpy(block, kHeadMagic.data(), kHeadMagic.size());
  block[4] = static_cast<char>(version);
  block[5] = static_cast<char>(info.family);
  block[7] = static_cast<char>(info.parameter);
  char* at = SealSalt(info, block + HeaderBytes(version) + info.payload.size());
  at = version == FrameVersion::kFull ? SealFullRange(info, range, block, at)
                                      : SealCompactRange(info, range, block, at);
  return static_cast<size_t>(SealTail(block, at) - block);
}

}  // namespace rocksieve
