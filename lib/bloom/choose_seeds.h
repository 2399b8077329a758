// SPDX-License-Identifier: Apache-2.0
// The choice of seeds, for one lane or several at once; included by the kernels, inside of their
// target region and anonymous namespace, after they defined Vector:
//
//   Vector::kLanes                            64-bit lanes of a vector
//   Load(const uint64_t*), Store(uint64_t*)   at any alignment
//   Or(a, b)
//   RotateLeft(a, int n)                      by 0 .. 63
//   Ranked(a, int tag)                        ranks of unions: by the bits set in a, then by the
//                                             tag, below 256, which is the rank's low byte
//   Worst()                                   no rank is greater
//   Min(a, b), Max(a, b)                      of ranks
//
// No include guard: each kernel compiles its own copy.

inline void PutInOrder(Vector& a, Vector& b) {
  const Vector lesser = Vector::Min(a, b);
  b = Vector::Max(a, b);
  a = lesser;
}

// Of two sorted fours, leaves the four least in the first, unsorted: rising, then falling.
inline void MergeFours(Vector* four, const Vector* other) {
  for (int i = 0; i < 4; i++) four[i] = Vector::Min(four[i], other[3 - i]);
}

// Brings the four least of 16 ranks to the front, in any order.
inline void FindFourLeast(Vector* ranks) {
  for (Vector* four = ranks; four < ranks + 16; four += 4) {
    PutInOrder(four[0], four[1]);
    PutInOrder(four[2], four[3]);
    PutInOrder(four[0], four[2]);
    PutInOrder(four[1], four[3]);
    PutInOrder(four[1], four[2]);
  }
  for (Vector* four = ranks; four < ranks + 16; four += 8) {
    MergeFours(four, four + 4);
    PutInOrder(four[0], four[2]);
    PutInOrder(four[1], four[3]);
    PutInOrder(four[0], four[1]);
    PutInOrder(four[2], four[3]);
  }
  MergeFours(ranks, ranks + 8);
}

template <int kBeam>
void ChooseSeeds(const LineMasks& masks, uint8_t* line) {
  static_assert(kSeeds == 16 && (kBeam == 1 || kBeam == 4 || kBeam == kSeeds));
  using V = Vector;
  uint64_t low_groups[kSeeds][8], high_groups[kSeeds][8], choice[8];
  for (int lane = 0; lane < kLanes; lane += V::kLanes) {
    V ranks[kSeeds];  // of first seeds, which are their tags
    V group[kGroups];
    for (int g = 0; g < kGroups; g++) group[g] = V::Load(&masks[g][lane]);
#pragma GCC unroll 8
    for (int lesser = 0; lesser < kSeeds / 2; lesser++) {
      V turned[kGroups];
      for (int g = 0; g < kGroups; g++) turned[g] = V::RotateLeft(group[g], lesser * g);
      // A seed that is greater by 8 turns them by whole bytes more, which is quick.
      for (int seed = lesser; seed < kSeeds; seed += kSeeds / 2) {
        const V low = V::Or(V::Or(turned[0], turned[1]), V::Or(turned[2], turned[3]));
        low.Store(&low_groups[seed][lane]);
        V::Or(V::Or(turned[4], turned[5]), V::Or(turned[6], turned[7]))
            .Store(&high_groups[seed][lane]);
        ranks[seed] = V::Ranked(low, seed);
        for (int g = 1; g < kGroups; g++) turned[g] = V::RotateLeft(turned[g], 8 * g);
      }
    }
    if constexpr (kBeam == 4) FindFourLeast(ranks);
    if constexpr (kBeam == 1) {
      for (const V& rank : ranks) ranks[0] = V::Min(ranks[0], rank);
    }
    // Of both seeds together: the second one times 16, and the first one.
    V best = V::Worst();
    for (int i = 0; i < kBeam; i++) {
      uint64_t first_seeds[V::kLanes], unions[V::kLanes];
      ranks[i].Store(first_seeds);
      for (int l = 0; l < V::kLanes; l++) {
        first_seeds[l] &= 15;
        unions[l] = low_groups[first_seeds[l]][lane + l];
      }
      const V first = V::Load(unions);
      V least = V::Ranked(V::Or(first, V::Load(&high_groups[0][lane])), 0);
#pragma GCC unroll 15
      for (int second = 1; second < kSeeds; second++) {
        least = V::Min(least,
                       V::Ranked(V::Or(first, V::Load(&high_groups[second][lane])), 16 * second));
      }
      least = V::Or(least, V::Load(first_seeds));
      best = V::Min(best, least);
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

inline SeedChoice SeedChoiceFor(Effort effort) {
  constexpr SeedChoice kChoices[kEfforts] = {ChooseSeeds<kBeams[0]>, ChooseSeeds<kBeams[1]>,
                                             ChooseSeeds<kBeams[2]>};
  return kChoices[static_cast<int>(effort)];
}
