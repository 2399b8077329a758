// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/power_rows.h"
#include "lib/sketch/pinsketch/root_finder.h"

namespace rocksieve::pinsketch {

// From the sums of a set's odd powers back to the set: t sums give up to t ids.
//
// Sources: Y. Dodis, R. Ostrovsky, L. Reyzin, A. Smith, "Fuzzy extractors", 2008 (PinSketch); J.
// Massey, "Shift-register synthesis and BCH decoding", 1969, without every other step, whose
// discrepancy is always 0 for sums of powers in characteristic 2 (Berlekamp).
//
// More than t ids are mistaken for another set of at most t with a chance of about 1 / t! (a random
// polynomial of degree t has all its roots in the field that often); whoever cannot bear this must
// check. What is returned always has the sums that were given.
//
// Keeps its memory from call to call. Not for two threads at a time.
class Decoder {
 public:
  // `rows`: of the same field, or null; must outlive it.
  explicit Decoder(const Field& field, const PowerRows* rows = nullptr)
      : field_(field), roots_(field, rows) {}

  // sums[j - 1] is the sum at level j. Fills *ids, ascending; false if there is no set of at most
  // sums.size() ids with these sums. `likely`: some of the ids may be among these.
  bool Decode(std::span<const uint32_t> sums, std::span<const CellEntry> likely,
              std::vector<uint32_t>* ids);

 private:
  int ShortestRegister(std::span<const uint32_t> sums);

  const Field& field_;
  RootFinder roots_;
  std::vector<uint32_t> log_sums_;  // logarithms of those of the powers 0, 1, .. 2 t
  std::vector<uint32_t> locator_, previous_, saved_;
  Polynomial reversed_;
};

}  // namespace rocksieve::pinsketch
