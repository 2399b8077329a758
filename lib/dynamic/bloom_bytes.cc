// The bytes of a Bloom filter: docs/formats/toolbox.md.
#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/dynamic/bit_words.h"
#include "lib/dynamic/bloom_options.h"
#include "lib/dynamic/frame.h"

namespace rocksieve {
namespace {

// Of the two types, that which the bytes call themselves; the frame's check comes later.
FrameType TypeOf(std::string_view bytes) {
  return bytes.size() > 5 && bytes[5] == static_cast<char>(FrameType::kPartitionedBloom)
             ? FrameType::kPartitionedBloom
             : FrameType::kBloom;
}

}  // namespace

std::string BloomFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  bloom::WriteOptions(options_, &out);
  WriteBits([this](uint64_t i) { return LoadWord(i); }, options_.bits, &out);
  return WriteFrame(options_.layout == BloomLayout::kPartitioned ? FrameType::kPartitionedBloom
                                                                 : FrameType::kBloom,
                    payload);
}

std::optional<BloomFilter> BloomFilter::Deserialize(std::string_view bytes, std::string* error) {
  const FrameType type = TypeOf(bytes);
  const std::optional<std::string_view> payload = ReadFrame(bytes, type, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  const BloomFilterOptions options =
      bloom::ReadOptions(&in, type == FrameType::kPartitionedBloom ? BloomLayout::kPartitioned
                                                                   : BloomLayout::kOneArray);
  // Only now that the bytes are there is so much allocated.
  if (!in.ok() || in.remaining() != BytesForBits(options.bits)) in.Fail();
  if (in.ok()) {
    BloomFilter filter(options);
    ReadBits(&in, options.bits, &filter.words_);
    if (in.Finished()) return filter;
  }
  if (error != nullptr)
    *error = "damaged: impossible sizes of a " + std::string(FrameTypeName(type));
  return std::nullopt;
}

}  // namespace rocksieve
