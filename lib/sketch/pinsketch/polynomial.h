// Polynomials over GF(2^k), of small degree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/sketch/pinsketch/field.h"

namespace rocksieve::pinsketch {

// The coefficient of x^i at index i; the last one is not 0. No coefficients: the polynomial 0.
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
// The monic greatest common divisor. Destroys both.
Polynomial TakeGcd(const Field& field, Polynomial&& a, Polynomial&& b);
uint32_t Evaluate(const Field& field, const Polynomial& p, uint32_t x);

}  // namespace rocksieve::pinsketch
