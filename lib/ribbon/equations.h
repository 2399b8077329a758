// SPDX-License-Identifier: Apache-2.0
// The linear equations of a filter over GF(2), kept in echelon form: one per slot, or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/span.h"
#include "lib/memory/page_vector.h"
#include "lib/ribbon/elimination.h"

namespace rocksieve::ribbon {

// Invariants: the equation of slot s, if there is one, selects slot s, none before it, and none at
// or beyond s + 64; bit i of coefficients()[s] is slot s + i. A slot without an equation has 0.
//
// Which slots have equations, and the solution that leaves all other slots 0, depend on the set of
// equations added, not on their order.
class Equations {
 public:
  explicit Equations(size_t slots) { GrowTo(slots); }

  size_t slots() const { return coefficients_.size(); }
  void GrowTo(size_t slots) {
    coefficients_.resize(slots, 0);
    results_.resize(slots, 0);
  }

  // What an Add() did, so that it can be taken back.
  struct Added {
    size_t base_slot = 0;
    size_t count = 0;
    std::vector<uint32_t> slots;  // from base_slot on
  };

  // Adds all of them; or none, and returns false, if they and what is there depend on each other.
  // REQUIRES: base_slot + first_slot + 64 <= slots().
  bool Add(Span<const Equation> equations, size_t base_slot, Added* added);

  // REQUIRES: what was added later has been taken back.
  void TakeBack(const Added& added);

  // Slots without an equation.
  size_t CountFree(size_t begin_slot, size_t end_slot) const;

  const uint64_t* coefficients() const { return coefficients_.data(); }
  const uint32_t* results() const { return results_.data(); }

 private:
  // 12 bytes per slot, not 16: in two arrays.
  PageVector<uint64_t> coefficients_;
  PageVector<uint32_t> results_;
};

}  // namespace rocksieve::ribbon
