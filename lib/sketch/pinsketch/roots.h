// The roots of a polynomial over GF(2^k), if all of them are distinct and lie in the field.
//
// Source: E. Berlekamp, "Factoring polynomials over large finite fields", 1970: the trace Tr(b x) =
// sum of (b x)^(2^i), i < k, takes each root to 0 or 1, so the greatest common divisor with it
// parts the roots in two; b runs through the basis 1, x, x^2 ..., in which any two roots differ
// somewhere. First of all x^(2^k) = x modulo the polynomial is checked: it holds just if all roots
// are distinct and in the field. About k d^2 multiplications for degree d.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/sketch/pinsketch/polynomial.h"

namespace rocksieve::pinsketch {

// Keeps its memory from call to call. Not for two threads at a time.
class RootFinder {
 public:
  explicit RootFinder(const Field& field) : field_(field) {}

  // False, and nothing useful in *roots, unless there are as many roots as the degree.
  // REQUIRES: p is monic, its degree at least 1, p[0] != 0.
  bool Find(const Polynomial& p, std::vector<uint32_t>* roots);

 private:
  bool MakeFrobeniusPowers(const Polynomial& p);
  const Polynomial& TraceOf(int basis_element);
  void Split(const Polynomial& p, int basis_element, std::vector<uint32_t>* roots);

  const Field& field_;
  size_t degree_ = 0;
  // Logarithms of coefficients, row by row.
  std::vector<uint32_t> log_p_;
  std::vector<uint32_t> log_reduction_;  // degree rows: x^(degree + i) modulo p
  std::vector<uint32_t> log_powers_;     // bits rows: x^(2^i) modulo p
  std::vector<uint32_t> row_, square_;   // coefficients
  std::vector<Polynomial> traces_;       // of b = x^i; those that were needed
};

}  // namespace rocksieve::pinsketch
