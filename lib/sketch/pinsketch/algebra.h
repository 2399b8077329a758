// SPDX-License-Identifier: Apache-2.0
// The algebra of PinSketch: finite fields, polynomials over them; sums of powers. Roots of
// polynomials: decoder.h; the way back from sums to a set: decoder.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace rocksieve::pinsketch {

// The finite fields GF(2^k), k = 6 .. 20.
//
// An element is a polynomial over GF(2), bit i the coefficient of x^i, modulo a primitive
// polynomial (algebra.cc). Addition is XOR. Multiplication goes by tables of logarithms to the base
// x: 4 * 2^k bytes of logarithms, and 16 * 2^k of powers: twice over, so that sums of two
// logarithms need no reduction, and then zeros, for the logarithm of 0 is a number so large that
// every sum with it lies there. No product needs a branch. The zeros, which are never written, take
// no memory of a machine with virtual memory: the tables of all fields have 24 MiB, not 40.
class Field {
 public:
  static constexpr int kLeastBits = 6, kMostBits = 20;

  // Made at the first call for each k, and never freed. Any thread. REQUIRES: kLeastBits <= bits
  // <= kMostBits.
  static const Field& OfBits(int bits);

  int bits() const { return bits_; }
  // Elements other than 0: 2^k - 1, and x^order() = 1.
  uint32_t order() const { return order_; }

  // Below order(); of 0: 2 * order().
  uint32_t Log(uint32_t a) const { return log_[a]; }
  // Of the sum of two logarithms.
  uint32_t Exp(uint32_t power) const { return exp_[power]; }
  // Any product of a logarithm and an exponent modulo order(). REQUIRES: power < 2^40.
  uint32_t ReduceLog(uint64_t power) const {
    while (power > order_) power = (power & order_) + (power >> bits_);
    return power == order_ ? 0 : static_cast<uint32_t>(power);
  }

  // The same for the sum of two logarithms of elements other than 0.
  uint32_t ReduceOnce(uint32_t power) const { return power >= order_ ? power - order_ : power; }

  uint32_t Multiply(uint32_t a, uint32_t b) const { return exp_[log_[a] + log_[b]]; }
  // b given by its logarithm.
  uint32_t MultiplyByExp(uint32_t a, uint32_t log_b) const { return exp_[log_[a] + log_b]; }

  explicit Field(int bits);

 private:
  struct Free {
    void operator()(uint32_t* table) const { std::free(table); }
  };
  using Table = std::unique_ptr<uint32_t[], Free>;
  static Table Zeros(size_t count);

  const int bits_;
  const uint32_t order_;
  const Table exp_, log_;
};

// Polynomials over GF(2^k), of small degree. The coefficient of x^i at index i; the last one is not
// 0. No coefficients: the polynomial 0.
using Polynomial = std::vector<uint32_t>;

// Drops leading zeros.
void Trim(Polynomial* p);
// Divides by the leading coefficient. REQUIRES: *p is not 0.
void MakeMonic(const Field& field, Polynomial* p);
// *a modulo m. REQUIRES: m is monic.
void Reduce(const Field& field, const Polynomial& m, Polynomial* a);
// Leaves the quotient of *a by m in *a, and forgets the rest. REQUIRES: m is monic, of at most the
// degree of *a.
void DivideBy(const Field& field, const Polynomial& m, Polynomial* a);
// Leaves the monic greatest common divisor in *a, and nothing of use in *b.
void TakeGcd(const Field& field, Polynomial* a, Polynomial* b);

// The sums that PinSketch sends: S(j) = sum of id^(2 j - 1) over a set of ids, j = 1 .. t.
//
// Level j stands for the odd power 2 j - 1 throughout. The even ones follow: S of power 2 p is the
// square of S of power p. An id is a field element other than 0; adding it again takes it out, so
// the XOR of two sets' sums are the sums of their symmetric difference.

// id^(2 level - 1). REQUIRES: level >= 1.
inline uint32_t PowerAtLevel(const Field& field, uint32_t id, int level) {
  return field.Exp(field.ReduceLog(uint64_t{field.Log(id)} * static_cast<uint64_t>(2 * level - 1)));
}

// Adds one id to the sums of the levels 1 .. sums.size().
inline void AddToSums(const Field& field, uint32_t id, std::span<uint32_t> sums) {
  const uint32_t order = field.order();
  uint32_t log = field.Log(id), step = 2 * log;
  if (step >= order) step -= order;
  for (uint32_t& sum : sums) {
    sum ^= field.Exp(log);
    log += step;
    if (log >= order) log -= order;
  }
}

// A linear map of a field of up to 20 bits, by two tables: of the lower half of an element's bits,
// and of the upper one. Products by a constant, squares, traces are such maps.

class LinearMap {
 public:
  // `images`: of the basis 1, x, x^2 ..
  void Make(std::span<const uint32_t> images) {
    low_[0] = high_[0] = 0;
    for (uint32_t a = 1; a < kHalf; a++) {
      const auto bit = static_cast<size_t>(std::countr_zero(a));
      low_[a] = bit < images.size() ? low_[a & (a - 1)] ^ images[bit] : 0;
      const size_t upper = bit + kHalfBits;
      high_[a] = upper < images.size() ? high_[a & (a - 1)] ^ images[upper] : 0;
    }
  }
  uint32_t Of(uint32_t a) const { return low_[a & (kHalf - 1)] ^ high_[a >> kHalfBits]; }

 private:
  static constexpr int kHalfBits = 10;
  static constexpr uint32_t kHalf = uint32_t{1} << kHalfBits;
  uint32_t low_[kHalf], high_[kHalf];
};

// The powers x^(2^i) modulo a polynomial, which tell whether it has all its roots in the field, and
// make its traces: most of what decoding a group takes. In plain C++ the root finder has its own,
// by logarithms; this one multiplies without them.

inline constexpr int kMostFrobeniusBits = 16;       // of the field
inline constexpr size_t kMostFrobeniusDegree = 32;  // of the polynomial

// Writes x^(2^i) modulo p, i = 0 .. bits - 1, `degree` coefficients each. False, and nothing of use
// is there, unless x^(2^bits) = x. REQUIRES: p is monic, 2 <= degree <= kMostFrobeniusDegree; the
// field has at most kMostFrobeniusBits.
using FrobeniusFunction = bool (*)(const Field& field, const uint32_t* p, size_t degree,
                                   uint32_t* powers);

// For this processor; null if there is none, or ROCKSIEVE_ISA forbids it.
FrobeniusFunction ActiveFrobenius();

#if defined(__x86_64__)
bool FrobeniusByAvx512(const Field& field, const uint32_t* p, size_t degree, uint32_t* powers);
#endif

}  // namespace rocksieve::pinsketch
