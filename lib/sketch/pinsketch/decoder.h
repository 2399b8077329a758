// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/power_rows.h"
#include "lib/sketch/pinsketch/root_finder.h"
#include "lib/sketch/pinsketch/shift_register.h"

namespace rocksieve::pinsketch {

// From the sums of a set's odd powers back to the set: t sums give up to t ids.
//
// Source: Y. Dodis, R. Ostrovsky, L. Reyzin, A. Smith, "Fuzzy extractors", 2008 (PinSketch).
//
// More than t ids are mistaken for another set of at most t with a chance of about 1 / t! (a random
// polynomial of degree t has all its roots in the field that often); whoever cannot bear this must
// check. What is returned always has the sums that were given.
//
// Keeps its memory from call to call. Not for two threads at a time.
class Decoder {
 public:
  // `rows`: of the same field, or null; must outlive it.
  explicit Decoder(const Field& field, const PowerRows* rows = nullptr) : roots_(field, rows) {}

  // Fills *ids, ascending; false if there is no set of at most as many ids as sums that has these
  // sums. `likely`: some of the ids may be among these.
  bool Decode(const ShiftRegister& sums, std::span<const CellEntry> likely,
              std::vector<uint32_t>* ids);

 private:
  RootFinder roots_;
  Polynomial locator_;  // reversed
};

}  // namespace rocksieve::pinsketch
