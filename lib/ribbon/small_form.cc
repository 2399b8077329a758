// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/small_form.h"

#include <algorithm>

namespace rocksieve::ribbon {
namespace {

constexpr int kSeeds = 256;

// Brings the system into echelon form with the row of pivot s in rows[s]. False if it is singular.
bool Eliminate(Span<const uint64_t> hashes, int seed, uint64_t* rows, uint32_t* results) {
  const int slots = static_cast<int>(hashes.size());
  std::fill(rows, rows + slots, 0);
  for (uint64_t hash : hashes) {
    uint64_t row = SmallRow(hash, seed, slots);
    uint32_t result = Fingerprint(hash);
    while (row != 0) {
      const int pivot = __builtin_ctzll(row);
      if (rows[pivot] == 0) {
        rows[pivot] = row;
        results[pivot] = result;
        break;
      }
      row ^= rows[pivot];
      result ^= results[pivot];
    }
    if (row == 0) return false;
  }
  return true;
}

}  // namespace

std::optional<SmallSystem> SolveSmall(Span<const uint64_t> hashes) {
  const int slots = static_cast<int>(hashes.size());
  uint64_t rows[64];
  uint32_t results[64];
  for (int seed = 0; seed < kSeeds; seed++) {
    if (!Eliminate(hashes, seed, rows, results)) continue;
    SmallSystem system;
    system.seed = seed;
    system.values.resize(hashes.size());
    for (int slot = slots - 1; slot >= 0; slot--) {
      uint32_t value = results[slot];
      for (uint64_t others = rows[slot] & (rows[slot] - 1); others != 0; others &= others - 1) {
        value ^= system.values[static_cast<size_t>(__builtin_ctzll(others))];
      }
      system.values[static_cast<size_t>(slot)] = value;
    }
    return system;
  }
  return std::nullopt;
}

void WriteSmall(const SmallSystem& system, int columns, uint8_t* payload) {
  const int slots = static_cast<int>(system.values.size());
  std::fill_n(payload, SmallPayloadBytes(columns, slots), 0);
  payload[0] = static_cast<uint8_t>(slots);
  payload[1] = static_cast<uint8_t>(system.seed);
  for (int column = 0; column < columns; column++) {
    for (int slot = 0; slot < slots; slot++) {
      const int bit = column * slots + slot;
      const uint32_t value = system.values[static_cast<size_t>(slot)] >> column & 1;
      payload[kSmallHeadBytes + bit / 8] |= static_cast<uint8_t>(value << (bit % 8));
    }
  }
}

}  // namespace rocksieve::ribbon
