#include "lib/toolbox/hash_compaction.h"

#include <algorithm>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"
#include "lib/toolbox/hash_compaction_options.h"
#include "lib/toolbox/packed_slots.h"

namespace rocksieve {
namespace {

HashCompactionOptions Checked(HashCompactionOptions options) {
  const std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  options.slots = PrimeFrom(options.slots);
  return options;
}

}  // namespace

HashCompaction::HashCompaction(const HashCompactionOptions& options)
    : options_(Checked(options)),
      slots_(PackedBytes(options_.slots, options_.value_bits) + kSlotPaddingBytes) {}

uint64_t HashCompaction::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

// Slot, step and value are as good as independent: three mixes of the hash.
HashCompaction::Probe HashCompaction::Find(uint64_t key_hash) const {
  const uint64_t slots = options_.slots;
  const uint64_t values = LowBitsMask(options_.value_bits);
  Probe probe{MultiplyHigh64(key_hash, slots), 1 + MultiplyHigh64(SplitMix64(key_hash, 0), values),
              false};
  const uint64_t step = 1 + MultiplyHigh64(SplitMix64(key_hash, 1), slots - 1);
  for (;;) {  // ends at an empty slot: one is always left, and a step in a prime visits all
    const uint64_t value = GetSlot(slots_.data(), probe.slot, options_.value_bits);
    probe.found = value == probe.value;
    if (probe.found || value == 0) return probe;
    probe.slot += step;
    if (probe.slot >= slots) probe.slot -= slots;
  }
}

bool HashCompaction::AddHash(uint64_t key_hash) {
  const Probe probe = Find(key_hash);
  if (probe.found) return true;
  if (size_ + 1 == options_.slots) return false;
  SetSlot(slots_.data(), probe.slot, options_.value_bits, probe.value);
  size_++;
  return true;
}

bool HashCompaction::MayContainHash(uint64_t key_hash) const { return Find(key_hash).found; }

double HashCompaction::ExpectedFalsePositiveRate() const {
  return HashCompactionRate(options_.value_bits, Load());
}

std::string HashCompaction::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.slots);
  out.U8(static_cast<uint8_t>(options_.value_bits));
  out.U64(options_.seed);
  out.Bytes({reinterpret_cast<const char*>(slots_.data()), slots_.size() - kSlotPaddingBytes});
  return WriteEnvelope(EnvelopeType::kHashCompaction, payload);
}

std::optional<HashCompaction> HashCompaction::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  const auto payload = ReadEnvelope(bytes, EnvelopeType::kHashCompaction, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  HashCompactionOptions options;
  options.slots = in.U64();
  options.value_bits = in.U8();
  options.seed = in.U64();
  std::string wrong = in.ok() ? WhatIsWrong(options) : "the head is cut off";
  // Only now that the bytes are there is so much allocated.
  if (wrong.empty() && in.remaining() != PackedBytes(options.slots, options.value_bits)) {
    wrong = "so many slots need " + std::to_string(PackedBytes(options.slots, options.value_bits)) +
            " bytes, not " + std::to_string(in.remaining());
  }
  if (wrong.empty() && !IsPrime(options.slots)) wrong = "slots is not a prime";
  if (wrong.empty()) {
    HashCompaction table(options);
    const std::string_view values = in.Rest();
    std::copy(values.begin(), values.end(), table.slots_.begin());
    for (uint64_t i = 0; i < options.slots; i++) {
      table.size_ += GetSlot(table.slots_.data(), i, options.value_bits) != 0;
    }
    const uint64_t bits = options.slots * static_cast<uint64_t>(options.value_bits);
    if (table.size_ == options.slots) {
      wrong = "no slot is empty";
    } else if (bits % 8 != 0 && table.slots_[bits / 8] >> (bits % 8) != 0) {
      wrong = "bits after the last slot";
    } else {
      return table;
    }
  }
  if (error != nullptr) *error = "damaged: " + wrong;
  return std::nullopt;
}

}  // namespace rocksieve
