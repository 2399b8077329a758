// SPDX-License-Identifier: Apache-2.0
// The choice of seeds, for one lane or several at once; included by the kernels, inside of their
// target region and anonymous namespace, after they defined Vector:
//
//   Vector::kLanes                            64-bit lanes of a vector
//   Load(const uint64_t*), Store(uint64_t*)   at any alignment
//   Or(a, b), Add(a, b), ShiftLeft<n>(), Splat(uint64_t)
//   RotateLeft(a, int n)                      by 0 .. 63
//   PopCount(a)
//   Min16(a, b), Max16(a, b)                  of signed 16-bit numbers; ours are below 2^15
//
// No include guard: each kernel compiles its own copy.

template <int kBeam>
void ChooseSeeds(const LineMasks& masks, uint8_t* line) {
  using V = Vector;
  uint64_t low_groups[kSeeds][8], high_groups[kSeeds][8], choice[8];
  for (int lane = 0; lane < kLanes; lane += V::kLanes) {
    V ranking[kBeam];  // the best so far, ascending: bits set << 4 | seed
    for (V& rank : ranking) rank = V::Splat(0x7FFF);
    V group[kGroups];
    for (int g = 0; g < kGroups; g++) group[g] = V::Load(&masks[g][lane]);
    for (int seed = 0; seed < kSeeds; seed++) {
      V low = group[3], high = group[7];
      for (int g = 2; g >= 0; g--) {
        low = V::Or(V::RotateLeft(low, seed), group[g]);
        high = V::Or(V::RotateLeft(high, seed), group[4 + g]);
      }
      low.Store(&low_groups[seed][lane]);
      V::RotateLeft(high, 4 * seed).Store(&high_groups[seed][lane]);
      V score = V::Or(V::PopCount(low).template ShiftLeft<4>(), V::Splat(seed));
      for (V& rank : ranking) {
        const V better = V::Min16(score, rank);
        score = V::Max16(score, rank);
        rank = better;
      }
    }
    V best = V::Splat(0x7FFF);  // bits set << 8 | second seed << 4 | first seed
    for (const V& rank : ranking) {
      uint64_t scores[V::kLanes], unions[V::kLanes];
      rank.Store(scores);
      for (int i = 0; i < V::kLanes; i++) {
        scores[i] &= 15;
        unions[i] = low_groups[scores[i]][lane + i];
      }
      const V first = V::Load(unions);
      V seeds = V::Load(scores);
      for (int second = 0; second < kSeeds; second++) {
        const V bits = V::PopCount(V::Or(first, V::Load(&high_groups[second][lane])));
        best = V::Min16(best, V::Or(bits.template ShiftLeft<8>(), seeds));
        seeds = V::Add(seeds, V::Splat(16));
      }
    }
    best.Store(&choice[lane]);
  }

  uint64_t special = 0;
  for (const auto& group : masks) special |= group[7];
  special &= ~kNotProbeBits;
  for (int lane = 0; lane < kLanes; lane++) {
    const uint64_t seeds = choice[lane] & 0xFF;
    StoreLittleEndian64(line + 8 * lane,
                        low_groups[seeds & 15][lane] | high_groups[seeds >> 4][lane]);
    special |= seeds << (8 * lane);
  }
  StoreLittleEndian64(line + 56, special);
}
