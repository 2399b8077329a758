// The finite fields GF(2^k), k = 6 .. 20: the arithmetic of PinSketch.
//
// An element is a polynomial over GF(2), bit i the coefficient of x^i, modulo the primitive
// polynomial of field.cc. Addition is XOR. Multiplication goes by tables of logarithms to the base
// x: 4 * 2^k bytes of logarithms, and 16 * 2^k of powers: twice over, so that sums of two
// logarithms need no reduction, and then zeros, for the logarithm of 0 is a number so large that
// every sum with it lies there. No product needs a branch. The zeros, which are never written, take
// no memory of a machine with virtual memory: the tables of all fields have 24 MiB, not 40.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace rocksieve::pinsketch {

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
  uint32_t Square(uint32_t a) const { return exp_[2 * log_[a]]; }
  // REQUIRES: a != 0.
  uint32_t Inverse(uint32_t a) const { return exp_[order_ - log_[a]]; }

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

}  // namespace rocksieve::pinsketch
