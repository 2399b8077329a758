// SPDX-License-Identifier: Apache-2.0
// Sets of random keys of 16 bytes, and what sets say of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/join/rows/source.h"

namespace rocksieve::bench {

struct Key {
  std::array<char, 16> bytes;

  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  bool operator==(const Key& other) const { return view() == other.view(); }
  bool operator<(const Key& other) const { return view() < other.view(); }
};

using Keys = std::vector<Key>;  // sorted, each once

// Two sides of a join.
struct KeySets {
  Keys client, server;
  // By std::set_intersection.
  Keys Common() const;
};

// `common` keys are in both. The same for the same seed.
KeySets RandomKeySets(uint64_t client, uint64_t server, uint64_t common, uint64_t seed);

class KeySource final : public join::Source {
 public:
  // `keys` must outlive it.
  explicit KeySource(const Keys* keys) : keys_(keys) {}

  std::unique_ptr<join::Cursor> Scan(const join::KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return keys_->size(); }

 private:
  const Keys* const keys_;
};

}  // namespace rocksieve::bench
