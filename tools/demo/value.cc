#include "tools/demo/value.h"

#include <algorithm>
#include <cstring>

namespace rocksieve::tools {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): seeding a Mersenne twister for each value would take longer
// than storing it.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

void MakeValue(uint64_t number, std::string* value) {
  uint64_t seed = number;
  uint64_t state = NextRandom(&seed);
  value->resize(kSmallestValueBytes +
                NextRandom(&state) % (kLargestValueBytes - kSmallestValueBytes + 1));
  for (size_t at = 0; at < value->size(); at += sizeof(uint64_t)) {
    const uint64_t random = NextRandom(&state);
    std::memcpy(value->data() + at, &random, std::min(sizeof(random), value->size() - at));
  }
}

}  // namespace rocksieve::tools
