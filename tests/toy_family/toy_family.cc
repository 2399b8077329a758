// SPDX-License-Identifier: Apache-2.0
#include "tests/toy_family/toy_family.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rocksieve {
namespace {

constexpr double kMinBitsPerKey = 2, kMaxBitsPerKey = 40, kMinRate = 0.01;

uint64_t BytesFor(uint64_t keys, const Budget& budget) {
  const auto count = static_cast<double>(keys);
  const double bits = budget.is_rate ? budget.factor * count / budget.amount  // about 1 / rate each
                                     : budget.PayloadBits(keys);
  return keys == 0 ? 0 : std::max<uint64_t>(1, static_cast<uint64_t>(bits / 8));
}

double RateOf(double keys, double bytes) { return bytes == 0 ? 0 : -std::expm1(-keys / 8 / bytes); }

// The hash as a fraction of all hashes, times the bits.
uint64_t BitOf(uint64_t hash, uint64_t bytes) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * (8 * bytes)) >> 64);
}

class ToyFilter final : public Filter {
 public:
  explicit ToyFilter(const FilterBlockInfo& info)
      : Filter(info.salt, AskOne), payload_(info.payload) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    for (size_t i = 0; i < count; i++) may_contain[i] = AskOne(*this, hashes[i]);
  }

 private:
  static bool AskOne(const Filter& filter, uint64_t hash) {
    const std::string_view payload = static_cast<const ToyFilter&>(filter).payload_;
    const uint64_t bit = BitOf(hash, payload.size());
    return (static_cast<uint8_t>(payload[bit / 8]) >> (bit % 8) & 1) != 0;
  }

  const std::string_view payload_;
};

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return 8.0 * static_cast<double>(BytesFor(keys, budget));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return RateOf(static_cast<double>(keys), static_cast<double>(BytesFor(keys, budget)));
}

Payload Build(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
  Payload payload;
  payload.size = BytesFor(hashes.size(), budget);
  payload.data.reset(new char[head_room + payload.size + tail_room]());
  hashes.ForEach([&](uint64_t hash) {
    const uint64_t bit = BitOf(hash, payload.size);
    payload.data[head_room + bit / 8] |= static_cast<char>(1 << (bit % 8));
  });
  return payload;
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) {
  return info.payload.empty() ? nullptr : std::make_unique<ToyFilter>(info);
}

double RateOfBlock(const FilterBlockInfo& info) {
  return RateOf(static_cast<double>(info.key_count), static_cast<double>(info.payload.size()));
}

double SaturatedFraction(const FilterBlockInfo&) { return 0; }

FilterDescription Describe(const FilterBlockInfo& info) {
  const size_t bits = 8 * info.payload.size();
  FilterDescription description;
  description.parameters = std::to_string(bits) + " bits, one of each key";
  description.setting = {"bits of a key", 1};
  description.place = "bit";
  description.places = static_cast<double>(bits);
  return description;
}

FilterFill CountFill(const FilterBlockInfo& info) {
  size_t set = 0;
  for (const char byte : info.payload) set += std::popcount(static_cast<uint8_t>(byte));
  return {"bits set", static_cast<double>(set) / (8 * static_cast<double>(info.payload.size()))};
}

}  // namespace

const FamilyEntry kToyFamily = {
    .family = static_cast<Family>(100),
    .name = "toy",
    .min_bits_per_key = kMinBitsPerKey,
    .max_bits_per_key = kMaxBitsPerKey,
    .min_rate = kMinRate,
    .probe_ns = 5,
    .bits_per_halving = 10,
    .extra_bits = 0,
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .saturated_fraction = SaturatedFraction,
    .describe = Describe,
    .count_fill = CountFill,
};

}  // namespace rocksieve
