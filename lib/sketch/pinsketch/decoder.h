// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/memory/page_pool.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/root_finder.h"
#include "lib/sketch/pinsketch/sums.h"

namespace rocksieve::pinsketch {

// The shortest linear feedback shift register that gives a set's sums of powers, sum by sum: what
// was found with t sums goes on with the next one.
//
// Source: J. Massey, "Shift-register synthesis and BCH decoding", 1969, without every other step,
// whose discrepancy is always 0 for sums of powers in characteristic 2 (Berlekamp).

class ShiftRegister {
 public:
  // Begins anew. Keeps its memory.
  void Clear();
  // The sum at the next level, 1 at first. The same field each time.
  void Add(const Field& field, uint32_t sum);

  size_t sums() const { return (log_sums_.size() - 1) / 2; }
  // All sums were 0.
  bool is_zero() const { return length_ == 0; }
  // The locator of the set, the product of (1 - id x), reversed: its roots are the ids. False if
  // there is no set of at most sums() ids with these sums. REQUIRES: !is_zero().
  bool Reversed(Polynomial* reversed) const;

  // Appends all that it is, so that many of them take one piece of memory.
  void Save(PageVector<uint32_t>* words) const;
  // Becomes what was saved there, and returns where that ends. Keeps its memory.
  const uint32_t* Load(const uint32_t* words);
  // That Save() appends, hardly ever more than that.
  static constexpr size_t UsualWords(size_t sums) { return 4 * sums + 9; }
  // That it appends more after an Add(), likewise.
  static constexpr size_t kUsualGrowth = 6;

 private:
  uint32_t DiscrepancyOf(const Field& field, uint32_t sum) const;

  std::vector<uint32_t> log_sums_ = {0};  // logarithms of those of the powers 0 (not used), 1, ..
  std::vector<uint32_t> locator_ = {1}, previous_ = {1};
  size_t length_ = 0, shift_ = 1;
  uint32_t previous_discrepancy_ = 1;
};

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
