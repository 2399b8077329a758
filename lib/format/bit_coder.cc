// SPDX-License-Identifier: Apache-2.0
#include "lib/format/bit_coder.h"

#include <algorithm>

namespace rocksieve {
namespace {

constexpr int kCodeBits = 56;
constexpr uint64_t kCodeMask = (uint64_t{1} << kCodeBits) - 1;
constexpr uint64_t kRangeOfAKnownByte = uint64_t{1} << (kCodeBits - 8);

uint64_t PartOfOne(uint64_t range, FlagProbability probability) {
  return (range >> 32) * probability;
}

}  // namespace

FlagProbability ProbabilityOf(uint64_t ones, uint64_t count) {
  if (count == 0) return uint32_t{1} << 31;
  const unsigned __int128 scaled = static_cast<unsigned __int128>(ones) << 32;
  const uint64_t nearest = static_cast<uint64_t>((scaled + count / 2) / count);
  return static_cast<uint32_t>(std::clamp<uint64_t>(nearest, 1, UINT32_MAX));
}

void FlagEncoder::Put(bool flag, FlagProbability probability_of_one) {
  const uint64_t part = PartOfOne(range_, probability_of_one);
  if (flag) {
    range_ = part;
  } else {
    low_ += part;
    range_ -= part;
  }
  while (range_ < kRangeOfAKnownByte) {
    range_ <<= 8;
    ShiftOut();
  }
}

// Takes the top byte from low_. It can still change by a carry, so it is held back, with all 0xff
// bytes after it.
void FlagEncoder::ShiftOut() {
  const bool carry = low_ > kCodeMask;
  const uint8_t top = static_cast<uint8_t>(low_ >> (kCodeBits - 8));
  low_ = (low_ << 8) & kCodeMask;
  if (!carry && top == 0xff && holds_byte_) {
    held_ff_bytes_++;
    return;
  }
  if (holds_byte_) {
    out_->push_back(static_cast<char>(held_byte_ + carry));
    out_->append(held_ff_bytes_, carry ? '\0' : '\xff');
  }
  held_ff_bytes_ = 0;
  held_byte_ = top;
  holds_byte_ = true;
}

void FlagEncoder::Finish() {
  // The number with the most zeros at its end within [low, low + range).
  const uint64_t end = low_ + range_;
  for (int zeros = kCodeBits; zeros >= 0; zeros--) {
    const uint64_t step = uint64_t{1} << zeros;
    const uint64_t candidate = (low_ + step - 1) & ~(step - 1);
    if (candidate < end) {
      low_ = candidate;
      break;
    }
  }
  const size_t before = out_->size();
  for (int byte = 0; byte <= kCodeBits / 8; byte++) ShiftOut();
  // The decoder reads zeros past the end. Zeros of before this call stay: they cost a byte at most.
  while (out_->size() > before && out_->back() == '\0') out_->pop_back();
  range_ = kCodeMask;
  low_ = 0;
  held_ff_bytes_ = 0;
  holds_byte_ = false;
}

FlagDecoder::FlagDecoder(std::string_view bytes) : bytes_(bytes) {
  for (int byte = 0; byte < kCodeBits / 8; byte++) offset_ = offset_ << 8 | NextByte();
}

bool FlagDecoder::Take(FlagProbability probability_of_one) {
  const uint64_t part = PartOfOne(range_, probability_of_one);
  const bool flag = offset_ < part;
  if (flag) {
    range_ = part;
  } else {
    offset_ -= part;
    range_ -= part;
  }
  while (range_ < kRangeOfAKnownByte) {
    range_ <<= 8;
    offset_ = (offset_ << 8 | NextByte()) & kCodeMask;
  }
  return flag;
}

void EncodeFlags(std::span<const uint8_t> flags, ByteWriter* out) {
  const uint64_t ones = static_cast<uint64_t>(std::count(flags.begin(), flags.end(), 1));
  out->Varint(ones);
  if (ones == 0 || ones == flags.size()) return;
  const FlagProbability probability = ProbabilityOf(ones, flags.size());
  std::string coded;
  FlagEncoder encoder(&coded);
  for (uint8_t flag : flags) encoder.Put(flag != 0, probability);
  encoder.Finish();
  out->String(coded);
}

bool DecodeFlags(ByteReader* in, size_t count, PageVector<uint8_t>* flags) {
  flags->clear();
  const uint64_t ones = in->Varint(count);
  if (!in->ok()) return false;
  if (ones == 0 || ones == count) {
    flags->assign(count, ones != 0);
    return true;
  }
  const FlagProbability probability = ProbabilityOf(ones, count);
  FlagDecoder decoder(in->String());
  if (!in->ok()) return false;
  flags->resize(count);
  uint64_t seen = 0;
  for (uint8_t& flag : *flags) seen += flag = decoder.Take(probability);
  if (seen != ones) {
    in->Fail();
    flags->clear();
  }
  return in->ok();
}

}  // namespace rocksieve
