// SPDX-License-Identifier: Apache-2.0
// Back substitution, 16 columns at a time; included by the kernels, inside of their target region
// and anonymous namespace, after they defined
//
//   struct Columns {                            // 16 bytes, one per column
//     static Columns None();                    // all 0
//     static Columns Results(uint32_t bits);    // byte j is not 0 but has one bit, if bit j is set
//     static Columns Masked(Columns, uint64_t); // AND with the lowest byte of a word, in each byte
//     static Columns Xor(Columns, Columns);
//     static Columns Or(Columns, Columns);
//     Columns Parities() const;                 // each byte is 1 if an odd number of its bits was
//     Columns ShiftLeft(int bits) const;        // of bytes that are 0 or 1, by at most 7
//     void Store(uint8_t* sixteen_bytes) const;
//   };
//
// No include guard: each kernel compiles its own copy.

constexpr int kColumnsAtOnce = 16;

void SolveColumns(const Equations& equations, const GroupLayout& layout, int first_column,
                  uint8_t* group_bytes) {
  const uint64_t* const coefficients = equations.coefficients();
  const uint32_t* const results = equations.results();
  // The group being solved, and the seven behind it, which its equations reach. Not an array, so
  // that they stay in registers.
  Columns s0, s1 = Columns::None(), s2 = s1, s3 = s1, s4 = s1, s5 = s1, s6 = s1, s7 = s1;
  for (uint64_t group = layout.groups; group-- > 0;) {
    s0 = Columns::None();
    const uint64_t first_slot = group * kSlotsPerGroup;
    for (int i = kSlotsPerGroup - 1; i >= 0; i--) {
      // From slot i of the group on; no equation reaches beyond the window of eight groups.
      const uint64_t selected = coefficients[first_slot + static_cast<uint64_t>(i)] << i;
      Columns a = Columns::Masked(s0, selected), b = Columns::Masked(s1, selected >> 8);
      a = Columns::Xor(a, Columns::Masked(s2, selected >> 16));
      b = Columns::Xor(b, Columns::Masked(s3, selected >> 24));
      a = Columns::Xor(a, Columns::Masked(s4, selected >> 32));
      b = Columns::Xor(b, Columns::Masked(s5, selected >> 40));
      a = Columns::Xor(a, Columns::Masked(s6, selected >> 48));
      b = Columns::Xor(b, Columns::Masked(s7, selected >> 56));
      a = Columns::Xor(
          a, Columns::Results(results[first_slot + static_cast<uint64_t>(i)] >> first_column));
      s0 = Columns::Or(s0, Columns::Xor(a, b).Parities().ShiftLeft(i));
    }
    uint8_t bytes[kColumnsAtOnce];
    s0.Store(bytes);
    const int columns = layout.columns + (group >= layout.first_wide_group ? 1 : 0) - first_column;
    std::memcpy(group_bytes + layout.Byte(group) + first_column, bytes,
                static_cast<size_t>(std::min(columns, kColumnsAtOnce)));
    s7 = s6, s6 = s5, s5 = s4, s4 = s3, s3 = s2, s2 = s1, s1 = s0;
  }
}

void BackSubstitute(const Equations& equations, const GroupLayout& layout, uint8_t* group_bytes) {
  const int most_columns = layout.columns + (layout.has_wide_groups() ? 1 : 0);
  for (int column = 0; column < most_columns; column += kColumnsAtOnce) {
    SolveColumns(equations, layout, column, group_bytes);
  }
}
