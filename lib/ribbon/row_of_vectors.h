// SPDX-License-Identifier: Apache-2.0
// The comparison of 16 columns at once, for kernels with vectors of 16 bytes; included by them,
// inside of their target region and anonymous namespace, after they defined
//
//   struct Selection {
//     explicit Selection(uint32_t coefficients);
//     // Bit j: what column j of the three groups gives.
//     uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third) const;
//   };
//
// No include guard: each kernel compiles its own copy.

template <bool kManyColumns>
bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                uint32_t coefficients, uint32_t fingerprint, const Zone& zone) {
  const Selection selection(coefficients);
  const uint32_t low = (selection.Value(first, second, third) ^ fingerprint) & zone.mask;
  if constexpr (!kManyColumns) return low == 0;
  if ((low & 0xFFFF) != 0) return false;
  const uint32_t high_mask = zone.mask >> 16;
  if (high_mask == 0) return true;
  return ((selection.Value(first + 16, second + 16, third + 16) ^ (fingerprint >> 16)) &
          high_mask) == 0;
}
