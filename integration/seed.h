// SPDX-License-Identifier: Apache-2.0
// The seed of tests that take another one each time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace rocksieve {

// ROCKSIEVE_SEED, or a new one, which is printed, so that a failure can be repeated.
inline uint32_t SeedOfThisRun() {
  static const uint32_t seed = [] {
    const char* given = std::getenv("ROCKSIEVE_SEED");
    const uint32_t chosen =
        given != nullptr ? static_cast<uint32_t>(std::atol(given)) : std::random_device()();
    std::printf("ROCKSIEVE_SEED=%u\n", chosen);
    return chosen;
  }();
  return seed;
}

}  // namespace rocksieve
