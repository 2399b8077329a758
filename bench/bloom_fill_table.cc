// SPDX-License-Identifier: Apache-2.0
// Simulates how full a seeded lane becomes: prints lib/bloom/fill_table.inc.
//
// Usage: bloom_fill_table [LINES] > lib/bloom/fill_table.inc
// For every number m of throws: LINES lines of seven independent lanes, m random (group, position)
// pairs in each, seeds chosen by the builder's own kernel, the mean share of set bits, for each
// effort.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "lib/bloom/kernel.h"

namespace {

// In the seven seeded lanes.
int SetBits(const uint8_t* line) {
  int bits = 0;
  for (int lane = 0; lane < rocksieve::bloom::kLanes; lane++) {
    bits += std::popcount(rocksieve::LoadLittleEndian64(line + 8 * lane));
  }
  return bits;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rocksieve::bloom;
  constexpr int kLargestThrows = 255;
  const int lines = argc > 1 ? std::atoi(argv[1]) : 20000;
  std::mt19937_64 random(20260101);

  std::printf("// Made by: build/bin/bloom_fill_table %d > lib/bloom/fill_table.inc\n", lines);
  for (int throws = 0; throws <= kLargestThrows; throws++) {
    uint64_t set[kEfforts] = {};
    for (int i = 0; i < lines; i++) {
      LineMasks masks;
      std::memset(masks, 0, sizeof(masks));
      for (int lane = 0; lane < kLanes; lane++) {
        for (int n = 0; n < throws; n++) {
          const uint64_t r = random();
          masks[r >> 61][lane] |= uint64_t{1} << (r & 63);
        }
      }
      for (int effort = 0; effort < kEfforts; effort++) {
        uint8_t line[kLineBytes];
        ActiveKernel().seed_choice_for(static_cast<Effort>(effort))(masks, line);
        set[effort] += SetBits(line);
      }
    }
    auto share = [&](Effort effort) {
      return static_cast<double>(set[static_cast<int>(effort)]) / (64.0 * kLanes * lines);
    };
    std::printf("{%.5f, %.5f, %.5f},%s", share(Effort::kUsual), share(Effort::kFast),
                share(Effort::kThorough),
                throws % 3 == 2 || throws == kLargestThrows ? "\n" : " ");
  }
}
