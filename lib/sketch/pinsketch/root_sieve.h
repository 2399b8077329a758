// SPDX-License-Identifier: Apache-2.0
// Which of some ids are roots of a polynomial, without evaluating it at each of them.
//
// DESCRIPTION. The trace Tr(b p(x)) is one bit, and 0 at all roots. With p(x) the sum of c(j) x^j
// it is the sum of the traces of b c(j) x^j; and as Tr(y^2) = Tr(y), that of an even power j = 2^s
// o is the trace of a constant, the 2^s-th root of b c(j), times x^o. So it is the sum of Tr(C(o)
// x^o) over the odd powers, and each of these the parity of some bits of x^o: all together the
// parity of the row of x's odd powers (power_rows.h) under a mask, a few instructions. Half of the
// ids that are no roots are left after it; after some traces with other b, those that are left are
// tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/linear_map.h"
#include "lib/sketch/pinsketch/power_rows.h"

namespace rocksieve::pinsketch {

// Keeps its memory from call to call. Not for two threads at a time.
class RootSieve {
 public:
  // `rows` must outlive it, and be of the field.
  RootSieve(const Field& field, const PowerRows& rows);

  // Fills *roots: those of the ids at which p is 0, each once, ascending. False, and nothing is
  // done, if the rows have too few levels for p. REQUIRES: p is not constant.
  bool Find(const Polynomial& p, std::span<const CellEntry> ids, std::vector<uint32_t>* roots);

 private:
  // Fills masks_ for b = x^number, and returns what p(0) adds to the trace.
  uint32_t MakeMasks(const Polynomial& p, uint32_t number);
  bool IsRoot(const Polynomial& p, uint32_t id) const;

  const Field& field_;
  const PowerRows& rows_;
  LinearMap masks_of_;  // bit i of the image of c: Tr(c x^i)
  std::vector<uint32_t> constants_;
  std::vector<uint32_t> log_p_;
  std::vector<uint32_t> left_;
  PowerRows::Mask mask_;
};

}  // namespace rocksieve::pinsketch
