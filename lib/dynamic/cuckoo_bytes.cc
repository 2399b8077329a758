// The bytes of a cuckoo filter: docs/formats/toolbox.md.
#include <rocksieve/dynamic/cuckoo_filter.h>

#include <algorithm>

#include "lib/dynamic/cuckoo_options.h"
#include "lib/dynamic/frame.h"
#include "lib/dynamic/packed_slots.h"
#include "lib/format/byte_io.h"

namespace rocksieve {

std::string CuckooFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.buckets);
  out.U8(static_cast<uint8_t>(options_.fingerprint_bits));
  out.U64(options_.seed);
  out.Bytes({reinterpret_cast<const char*>(slots_.data()), slots_.size() - kSlotPaddingBytes});
  return WriteFrame(FrameType::kCuckoo, payload);
}

std::optional<CuckooFilter> CuckooFilter::Deserialize(std::string_view bytes, std::string* error) {
  const std::optional<std::string_view> payload = ReadFrame(bytes, FrameType::kCuckoo, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  CuckooFilterOptions options;
  options.buckets = in.U64();
  options.fingerprint_bits = in.U8();
  options.seed = in.U64();
  std::string wrong = in.ok() ? WhatIsWrong(options) : "the head is cut off";
  const uint64_t slots = options.buckets * CuckooFilterOptions::kBucketSlots;
  // Only now that the bytes are there is so much allocated.
  if (wrong.empty() && in.remaining() != PackedBytes(slots, options.fingerprint_bits)) {
    wrong = "so many buckets need " + std::to_string(PackedBytes(slots, options.fingerprint_bits)) +
            " bytes, not " + std::to_string(in.remaining());
  }
  if (wrong.empty()) {
    CuckooFilter filter(options);
    const std::string_view table = in.Rest();
    std::copy(table.begin(), table.end(), filter.slots_.begin());
    for (uint64_t i = 0; i < slots; i++) {
      filter.size_ += GetSlot(filter.slots_.data(), i, options.fingerprint_bits) != 0;
    }
    const uint64_t bits_of_slots = slots * static_cast<uint64_t>(options.fingerprint_bits);
    if (bits_of_slots % 8 == 0 || filter.slots_[bits_of_slots / 8] >> (bits_of_slots % 8) == 0) {
      return filter;
    }
    wrong = "bits after the last slot";
  }
  if (error != nullptr) *error = "damaged: " + wrong;
  return std::nullopt;
}

}  // namespace rocksieve
