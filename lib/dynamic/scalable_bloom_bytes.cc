// The bytes of a scalable Bloom filter: docs/formats/toolbox.md.
#include <bit>
#include <cmath>
#include <utility>

#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "lib/dynamic/bit_words.h"
#include "lib/dynamic/bloom_options.h"
#include "lib/dynamic/frame.h"
#include "lib/dynamic/scalable_bloom_options.h"

namespace rocksieve {
namespace {

constexpr uint64_t kMostLayers = 64;  // beyond any memory: each is twice the one before

void WriteDouble(double value, ByteWriter* out) { out->U64(std::bit_cast<uint64_t>(value)); }
double ReadDouble(ByteReader* in) { return std::bit_cast<double>(in->U64()); }

}  // namespace

// Sizes are stored, as the logarithms of another machine may round to one bit more or less.
bool ScalableBloomFilter::IsLayer(size_t index, const BloomFilterOptions& stored) const {
  const double keys = static_cast<double>(options_.initial_keys) *
                      std::pow(options_.growth, static_cast<double>(index));
  if (keys > bloom::kMostLayerKeys) return false;
  const BloomFilterOptions layer = LayerOptions(index);
  return stored.hashes == layer.hashes && stored.bits + 1 >= layer.bits &&
         stored.bits <= layer.bits + 1;
}

std::string ScalableBloomFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.initial_keys);
  WriteDouble(options_.false_positive_rate, &out);
  out.U8(static_cast<uint8_t>(options_.growth));
  WriteDouble(options_.tightening, &out);
  out.U64(options_.seed);
  out.Varint(layers_.size());
  for (const Layer& layer : layers_) {
    const BloomFilterOptions& options = layer.filter.options();
    out.U64(options.bits);
    out.U8(static_cast<uint8_t>(options.hashes));
    WriteBits(layer.filter.words_, options.bits, &out);
  }
  return WriteFrame(FrameType::kScalableBloom, payload);
}

std::optional<ScalableBloomFilter> ScalableBloomFilter::Deserialize(std::string_view bytes,
                                                                    std::string* error) {
  const std::optional<std::string_view> payload =
      ReadFrame(bytes, FrameType::kScalableBloom, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  ScalableBloomFilter filter;
  filter.options_.initial_keys = in.U64();
  filter.options_.false_positive_rate = ReadDouble(&in);
  filter.options_.growth = in.U8();
  filter.options_.tightening = ReadDouble(&in);
  filter.options_.seed = in.U64();
  const uint64_t layers = in.Varint(kMostLayers);
  if (layers == 0 || !bloom::WhatIsWrong(filter.options_).empty()) in.Fail();
  for (uint64_t i = 0; i < layers && in.ok(); i++) {
    BloomFilterOptions options;
    options.bits = in.U64();
    options.hashes = in.U8();
    options.seed = filter.options_.seed;
    if (in.remaining() < BytesForBits(options.bits) || !filter.IsLayer(i, options)) {
      in.Fail();
      break;
    }
    BloomFilter layer(options);
    ByteReader bits(in.Bytes(BytesForBits(options.bits)));
    ReadBits(&bits, options.bits, &layer.words_);
    if (!bits.Finished()) in.Fail();
    filter.AddLayer(std::move(layer));
  }
  if (in.Finished()) return filter;
  if (error != nullptr) *error = "damaged: impossible sizes of a scalable Bloom filter";
  return std::nullopt;
}

}  // namespace rocksieve
