// SPDX-License-Identifier: Apache-2.0
#include "experiments/structures/hash_compaction.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "lib/toolbox/bits.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

// The smallest prime that is at least n. REQUIRES: 2 <= n. Some ms at 2^40.
uint64_t PrimeFrom(uint64_t n) {
  while (!IsPrime(n)) n++;
  return n;
}

HashCompactionOptions Checked(HashCompactionOptions options) {
  const std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  options.slots = PrimeFrom(options.slots);
  return options;
}

double MatchProbability(int value_bits) { return 1 / (std::ldexp(1.0, value_bits) - 1); }

// H(a) - H(b), a >= b >= 1, from the asymptotic series of the harmonic numbers; wrong by less than
// 1 / (120 b^4).
double HarmonicDifference(double a, double b) {
  const auto correction = [](double x) { return 1 / (2 * x) - 1 / (12 * x * x); };
  return std::log(a / b) + correction(a) - correction(b);
}

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("HashCompactionOptions::ForKeys: " + what);
}

}  // namespace

bool IsPrime(uint64_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0) return false;
  for (uint64_t divisor = 3; divisor * divisor <= n; divisor += 2) {
    if (n % divisor == 0) return false;
  }
  return true;
}

std::string WhatIsWrong(const HashCompactionOptions& options) {
  if (options.slots < 2 || options.slots > HashCompactionOptions::kMostSlots) {
    return "HashCompaction: slots is " + std::to_string(options.slots) +
           "; give 2 to 2^40 - 87, or let ForKeys() choose";
  }
  if (options.value_bits < HashCompactionOptions::kLeastValueBits ||
      options.value_bits > HashCompactionOptions::kMostValueBits) {
    return "HashCompaction: value_bits is " + std::to_string(options.value_bits) +
           "; give 2 to 48, or let ForKeys() choose";
  }
  return "";
}

double HashCompactionRate(int value_bits, double load) {
  const double match = load * MatchProbability(value_bits);
  return match / (1 - load + match);
}

double HashCompactionOmissionProbability(uint64_t slots, int value_bits, uint64_t keys) {
  const double m = static_cast<double>(slots), n = static_cast<double>(keys);
  const double comparisons = (m + 1) * HarmonicDifference(m + 1, m - n + 1) - n;
  return -std::expm1(comparisons * std::log1p(-MatchProbability(value_bits)));
}

HashCompactionOptions HashCompactionOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) Refuse("keys is 0; give the number of keys to be held, at least 1");
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    Refuse("false_positive_rate is " + std::to_string(false_positive_rate) +
           "; give a share between 0 and 1, such as 0.01");
  }
  const double keys_wanted = static_cast<double>(keys);
  HashCompactionOptions best;
  double fewest_bits = INFINITY;
  for (int bits = kLeastValueBits; bits <= kMostValueBits; bits++) {
    // The load at which this width has that rate: HashCompactionRate() solved for it.
    const double match = MatchProbability(bits);
    const double load =
        false_positive_rate / (false_positive_rate + match * (1 - false_positive_rate));
    const double slots = std::ceil(keys_wanted / load) + 1;  // one is always empty
    if (slots * bits >= fewest_bits || slots > static_cast<double>(kMostSlots)) continue;
    fewest_bits = slots * bits;
    best.slots = static_cast<uint64_t>(slots);
    best.value_bits = bits;
  }
  if (best.slots == 0) {
    Refuse("keys is " + std::to_string(keys) + " and false_positive_rate " +
           std::to_string(false_positive_rate) +
           ", which needs more than 2^40 slots; take fewer keys or a higher rate");
  }
  return best;
}

HashCompaction::HashCompaction(const HashCompactionOptions& options)
    : options_(Checked(options)), slots_(MakeSlots(options_.slots, options_.value_bits)) {}

uint64_t HashCompaction::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

// Slot, step and value are as good as independent: three mixes of the hash.
HashCompaction::Probe HashCompaction::Find(uint64_t key_hash) const {
  const uint64_t slots = options_.slots;
  const uint64_t values = LowBitsMask(options_.value_bits);
  Probe probe{MultiplyHigh64(key_hash, slots), 1 + MultiplyHigh64(SplitMix64(key_hash, 0), values),
              false};
  const uint64_t step = 1 + MultiplyHigh64(SplitMix64(key_hash, 1), slots - 1);
  for (;;) {  // ends at an empty slot: one is always left, and a step in a prime visits all
    const uint64_t value = GetSlot(slots_, probe.slot, options_.value_bits);
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
  SetSlot(&slots_, probe.slot, options_.value_bits, probe.value);
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
  WriteSlots(slots_, &out);
  return WriteEnvelope(EnvelopeType::kHashCompaction, payload);
}

std::optional<HashCompaction> HashCompaction::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kHashCompaction, error);
  HashCompactionOptions options;
  options.slots = in.U64();
  options.value_bits = in.U8();
  options.seed = in.U64();
  if (!in.ok()) return in.Refuse("the head is cut off");
  std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) return in.Refuse(wrong);
  HashCompaction table;
  table.options_ = options;
  wrong = ReadSlots(&in, options.slots, options.value_bits, &table.slots_);
  if (!wrong.empty()) return in.Refuse(wrong);
  if (!IsPrime(options.slots)) return in.Refuse("slots is not a prime");
  for (uint64_t i = 0; i < options.slots; i++) {
    table.size_ += GetSlot(table.slots_, i, options.value_bits) != 0;
  }
  if (table.size_ == options.slots) return in.Refuse("no slot is empty");
  return table;
}

}  // namespace rocksieve
