// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/memory/page_pool.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/sums.h"

namespace rocksieve::pinsketch {

// Which of some ids are roots of a polynomial, without evaluating it at each of them.
//
// DESCRIPTION. The trace Tr(b p(x)) is one bit, and 0 at all roots. With p(x) the sum of c(j) x^j
// it is the sum of the traces of b c(j) x^j; and as Tr(y^2) = Tr(y), that of an even power j = 2^s
// o is the trace of a constant, the 2^s-th root of b c(j), times x^o. So it is the sum of Tr(C(o)
// x^o) over the odd powers, and each of these the parity of some bits of x^o: all together the
// parity of the row of x's odd powers (sums.h) under a mask, a few instructions. Half of the
// ids that are no roots are left after it; after some traces with other b, those that are left are
// tried.

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

// The roots of a polynomial over GF(2^k), if all of them are distinct and lie in the field.
//
// Source: E. Berlekamp, "Factoring polynomials over large finite fields", 1970: the trace Tr(b x) =
// sum of (b x)^(2^i), i < k, takes each root to 0 or 1, so the greatest common divisor with it
// parts the roots in two; b runs through the basis 1, x, x^2 ..., in which any two roots differ
// somewhere. First of all x^(2^k) = x modulo the polynomial is checked: it holds just if all roots
// are distinct and in the field. About k d^2 multiplications for degree d.
//
// About half of a group's differing cells are cells of the receiver's own keys. If there are rows
// of powers, these are tried before the polynomial is split.
//
// Keeps its memory from call to call. Not for two threads at a time.
class RootFinder {
 public:
  // `rows`: of the same field, or null; must outlive it.
  explicit RootFinder(const Field& field, const PowerRows* rows = nullptr);

  // False, and nothing useful in *roots, unless there are as many roots as the degree. `likely`:
  // some roots may be among these ids.
  // REQUIRES: p is monic, its degree at least 1, p[0] != 0.
  bool Find(const Polynomial& p, std::span<const CellEntry> likely, std::vector<uint32_t>* roots);

 private:
  bool MakeFrobeniusPowers(const Polynomial& p);
  const Polynomial& TraceOf(int basis_element);
  // Divides p, which has all its roots, by x - r for those that it has among these.
  void TakeLikely(std::span<const CellEntry> likely, Polynomial* p, std::vector<uint32_t>* roots);
  void Split(const Polynomial& p, int basis_element, std::vector<uint32_t>* roots);

  const Field& field_;
  const FrobeniusFunction frobenius_;  // or null
  std::optional<RootSieve> sieve_;
  size_t degree_ = 0;
  // Logarithms of coefficients, row by row.
  std::vector<uint32_t> log_p_;
  std::vector<uint32_t> log_reduction_;  // degree rows: x^(degree + i) modulo p
  std::vector<uint32_t> log_powers_;     // bits rows: x^(2^i) modulo p
  std::vector<uint32_t> row_, square_;   // coefficients
  std::vector<Polynomial> traces_;       // of b = x^i; those that were needed
  Polynomial rest_, linear_;
  // By basis element: of those that wait for both of their parts to be split, no two have the same.
  struct Parts {
    Polynomial one, other, trace;
  };
  std::vector<Parts> parts_;
};

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
