// SPDX-License-Identifier: Apache-2.0
#include "lib/toolbox/envelope.h"

#include <iterator>

#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

constexpr std::string_view kMagic = "RSTB";
constexpr uint8_t kVersion = 1;
constexpr size_t kHeaderBytes = 4 + 1 + 1 + 8, kCheckBytes = 8;

constexpr std::string_view kNames[] = {
    "",
    "Bloom filter",
    "scalable Bloom filter",
    "counting Bloom filter",
    "partitioned Bloom filter",
    "cuckoo filter",
    "cuckoo hash table",
    "hash compaction table",
    "count-min sketch",
    "top-k summary",
    "Flajolet-Martin sketch",
    "HyperLogLog sketch",
    "k-minimum-values sketch",
    "MinHash signature",
    "LSH index",
    "filter tree",
};

std::string Describe(uint8_t type) {
  if (type > 0 && type < std::size(kNames)) return std::string(kNames[type]);
  return "unknown type " + std::to_string(type);
}

// Empty if the envelope is intact and of that type.
std::string WhatIsWrong(std::string_view bytes, EnvelopeType type) {
  ByteReader in(bytes);
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size())) {
    return "not an envelope of rocksieve's toolbox: it does not begin with \"RSTB\"";
  }
  in.Bytes(kMagic.size());
  const uint8_t version = in.U8(), stored_type = in.U8();
  const uint64_t payload_bytes = in.U64();
  if (in.ok() && version != kVersion) {
    return "unknown version " + std::to_string(version) + "; this reader knows version " +
           std::to_string(kVersion) + ", a newer one may know more";
  }
  if (bytes.size() < kHeaderBytes + kCheckBytes ||
      payload_bytes > bytes.size() - kHeaderBytes - kCheckBytes) {
    return "cut off: only " + std::to_string(bytes.size()) + " bytes are there" +
           (in.ok() ? ", the payload alone should be " + std::to_string(payload_bytes) : "");
  }
  if (payload_bytes < bytes.size() - kHeaderBytes - kCheckBytes) {
    return "damaged: " + std::to_string(bytes.size() - kHeaderBytes - kCheckBytes - payload_bytes) +
           " bytes too many";
  }
  const std::string_view checked = bytes.substr(0, bytes.size() - kCheckBytes);
  if (LoadLittleEndian64(bytes.data() + checked.size()) != HashKey(checked, 0)) {
    return "damaged: the check word does not match";
  }
  if (stored_type != static_cast<uint8_t>(type)) {
    return "another type: this is a " + Describe(stored_type) + ", not a " +
           Describe(static_cast<uint8_t>(type));
  }
  return "";
}

}  // namespace

std::string WriteEnvelope(EnvelopeType type, std::string_view payload) {
  std::string bytes;
  bytes.reserve(kHeaderBytes + payload.size() + kCheckBytes);
  ByteWriter out(&bytes);
  out.Bytes(kMagic);
  out.U8(kVersion);
  out.U8(static_cast<uint8_t>(type));
  out.U64(payload.size());
  out.Bytes(payload);
  out.U64(HashKey(bytes, 0));
  return bytes;
}

PayloadReader::PayloadReader(std::string_view bytes, EnvelopeType type, std::string* error)
    : ByteReader(""), type_(type), error_(error) {
  const std::string wrong = WhatIsWrong(bytes, type);
  if (wrong.empty()) {
    bytes.remove_suffix(kCheckBytes);
    ByteReader::operator=(ByteReader(bytes.substr(kHeaderBytes)));
  } else {
    if (error != nullptr) *error = wrong;
    Fail();
    error_ = nullptr;
  }
}

std::nullopt_t PayloadReader::Refuse(std::string_view why) const {
  if (error_ != nullptr) {
    *error_ = Describe(static_cast<uint8_t>(type_)) + ": invalid payload: " + std::string(why);
  }
  return std::nullopt;
}

}  // namespace rocksieve
