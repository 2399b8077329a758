#include "lib/toolbox/min_hash_bytes.h"

#include "lib/format/coding.h"
#include "lib/toolbox/envelope.h"
#include "lib/toolbox/refuse.h"

namespace rocksieve {

void MinHashBytes::WriteOptions(const MinHashOptions& options, ByteWriter* out) {
  out->U64(options.seed);
  out->U8(static_cast<uint8_t>(options.method));
  out->Varint(options.size);
}

MinHashOptions MinHashBytes::ReadOptions(ByteReader* in) {
  MinHashOptions options;
  options.seed = in->U64();
  const uint8_t method = in->U8();
  options.method = static_cast<MinHashMethod>(method);
  options.size = in->Varint(kMostPlaces);
  if (method < 1 || method > 2 || options.size == 0) in->Fail();
  return options;
}

void MinHashBytes::WritePlaces(const MinHash& signature, ByteWriter* out) {
  for (const uint64_t value : signature.least_) out->U64(value);
}

MinHash MinHashBytes::ReadPlaces(const MinHashOptions& options, ByteReader* in) {
  MinHash signature(options);
  const bool one_permutation = options.method == MinHashMethod::kOnePermutation;
  size_t empty = 0;
  for (uint64_t place = 0; place < options.size && in->ok(); place++) {
    const uint64_t value = in->U64();
    signature.least_[place] = value;
    empty += value == UINT64_MAX;
    const bool elsewhere = MultiplyHigh64(value, options.size) != place;
    if (one_permutation && value != UINT64_MAX && elsewhere) in->Fail();
  }
  // The first key gives a value to all places of independent hash functions.
  if (!one_permutation && empty != 0 && empty != options.size) in->Fail();
  return signature;
}

std::string MinHash::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  MinHashBytes::WriteOptions(options_, &out);
  MinHashBytes::WritePlaces(*this, &out);
  return WriteEnvelope(EnvelopeType::kMinHash, payload);
}

std::optional<MinHash> MinHash::Deserialize(std::string_view bytes, std::string* error) {
  constexpr EnvelopeType kType = EnvelopeType::kMinHash;
  const std::optional<std::string_view> payload = ReadEnvelope(bytes, kType, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  const MinHashOptions options = MinHashBytes::ReadOptions(&in);
  if (!in.ok()) return Refuse(kType, "damaged options", error);
  MinHash signature = MinHashBytes::ReadPlaces(options, &in);
  if (!in.Finished()) return Refuse(kType, "damaged places", error);
  return signature;
}

}  // namespace rocksieve
