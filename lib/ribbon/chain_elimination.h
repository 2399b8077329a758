// SPDX-License-Identifier: Apache-2.0
// Elimination one equation after the other, for any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/span.h"
#include "lib/ribbon/elimination.h"
#include "lib/ribbon/equations.h"

namespace rocksieve::ribbon {

class ChainElimination final : public Elimination {
 public:
  using BackSubstitution = void (*)(const Equations& equations, const GroupLayout& layout,
                                    uint8_t* group_bytes);

  ChainElimination(size_t keys, BackSubstitution back_substitution);

  bool AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) override;
  void TakeBack() override;
  int64_t Backlog() const override;
  void BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const override {
    back_substitution_(equations_, layout, group_bytes);
  }

 private:
  void SortIntoEquations(Span<const uint64_t> hashes, uint64_t groups, bool last);

  const BackSubstitution back_substitution_;
  Equations equations_;
  size_t slots_ = 0;              // of the buckets added
  size_t slots_of_last_ = 0;      // of the last of them
  Equations::Added added_, try_;  // by the last of them; by one that could not be
  std::vector<Equation> sorted_;
};

}  // namespace rocksieve::ribbon
