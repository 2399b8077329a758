// SPDX-License-Identifier: Apache-2.0
#include "tests/join/hostile_bodies.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string_view>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/rows/row_batch.h"
#include "lib/sketch/rateless_iblt.h"

namespace rocksieve::join {
namespace {

constexpr size_t kCheckBytes = 4;
constexpr int kIdBits = 32;

constexpr size_t kMostSeen = 20;
constexpr uint64_t kHugeNumbers[] = {0,       1,          127,        1 << 14,
                                     1 << 21, UINT32_MAX, 1ull << 40, UINT64_MAX};

}  // namespace

std::string EmptyCellBitmapOfMany(uint64_t keys) {
  std::string body;
  ByteWriter out(&body);
  out.Varint(keys);
  out.Varint(keys);
  out.Varint(0);  // no group is known
  out.U64(0);
  out.Varint(0);
  return body;
}

std::string SketchOfMany(uint64_t keys, int field_bits) {
  std::string body;
  ByteWriter out(&body);
  out.Varint(keys);
  out.U8(static_cast<uint8_t>(field_bits));
  out.Varint(1);  // group
  out.U8(1);      // raw level
  out.U8(0);      // parity levels
  for (int bits = field_bits + 8 * static_cast<int>(kCheckBytes); bits > 0; bits -= 8) out.U8(0);
  return body;
}

std::string RandomSymbols(uint64_t keys, uint64_t begin, uint64_t count) {
  RatelessFormat format;
  format.id_bits = kIdBits;
  std::string body;
  ByteWriter out(&body);
  out.U8(kIdBits);
  out.Varint(keys);
  out.Varint(begin);
  out.Varint(count);
  std::mt19937_64 random(begin);
  const uint64_t bits = format.CellBits(begin, begin + count);
  for (uint64_t i = 0; i < bits / 64; i++) out.U64(random());
  for (uint64_t i = bits / 64 * 8; i < (bits + 7) / 8; i++) out.U8(0);
  return body;
}

std::string ListOfZeros(size_t bytes) {
  std::string body;
  ByteWriter out(&body);
  out.U8(0);  // bits of a number beyond those for the count
  out.Varint(8 * uint64_t{bytes});
  out.U8(0);                         // parameter: a gap of 0 is one bit
  out.Bytes(std::string(bytes, 0));  // numbers
  out.U64(0);                        // of their sum
  return body;
}

std::string KeysThatUnpackTo(size_t bytes) {
  std::string raw("\0\1k", 3), body;
  while (raw.size() < bytes) raw.append("\1\0", 2);
  AppendCompressed(raw, &body);
  return body;
}

std::string Number(uint64_t value) {
  std::string body;
  ByteWriter(&body).Varint(value);
  return body;
}

Step StepWith(uint64_t range, Part part, std::string_view body) {
  Step step;
  step.range = range;
  AppendPart(part, body, &step.message);
  return step;
}

std::string BatchOf(std::string_view raw) {
  std::string batch;
  AppendCompressed(raw, &batch);
  return batch;
}

std::string Sealed(std::string body) {
  const auto check = static_cast<uint32_t>(HashKey(body, 0));
  ByteWriter(&body).U32(check);
  return body;
}

std::string_view BodyOf(std::string_view message) {
  return message.substr(0, message.size() - kCheckBytes);
}

void Mutator::ChangeBody(std::string* body) {
  if (body->empty()) return body->push_back('\0');
  // Mostly near the beginning, where the counts are.
  const size_t range = Below(2) == 0 ? std::min<size_t>(24, body->size()) : body->size();
  const size_t at = Below(range);
  switch (Below(6)) {
    case 0:
      (*body)[at] = static_cast<char>((*body)[at] ^ (1 << Below(8)));
      break;
    case 1:
      (*body)[at] = static_cast<char>(random_());
      break;
    case 2:
      body->resize(at);
      break;
    case 3:
      body->append(body->substr(at));
      break;
    case 4:
      body->insert(at, std::string(1 + Below(16), static_cast<char>(random_())));
      break;
    default: {
      // A number in place of another one.
      size_t end = at;
      while (end < body->size() && ((*body)[end] & 0x80) != 0) end++;
      std::string number;
      ByteWriter(&number).Varint(kHugeNumbers[Below(std::size(kHugeNumbers))]);
      body->replace(at, std::min(end + 1, body->size()) - at, number);
    }
  }
}

std::vector<std::string> Mutator::Mutated(const std::string& message, uint32_t rarity) {
  seen_.push_back(message);
  if (seen_.size() > kMostSeen) seen_.erase(seen_.begin());
  if (Below(rarity) != 0) return {message};
  switch (Below(8)) {
    case 0:
      return {};
    case 1:
      return {message, message};
    case 2:
      return {message, seen_[Below(seen_.size())]};
    case 3:
      return {seen_[Below(seen_.size())], message};
    default: {
      std::string body(BodyOf(message));
      for (uint64_t changes = 1 + Below(3); changes > 0; changes--) ChangeBody(&body);
      return {Sealed(std::move(body))};
    }
  }
}

}  // namespace rocksieve::join
