#include "integration/hostile/bodies.h"

#include <random>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/rows/compression.h"
#include "lib/sketch/rateless_iblt.h"

namespace rocksieve::join {
namespace {

constexpr size_t kCheckBytes = 4;
constexpr int kIdBits = 32;

}  // namespace

std::string MarksOfMany(uint64_t keys) {
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

Turn TurnWith(uint64_t range, Part part, std::string_view body) {
  Turn turn;
  turn.range = range;
  AppendPart(part, body, &turn.message);
  return turn;
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

}  // namespace rocksieve::join
