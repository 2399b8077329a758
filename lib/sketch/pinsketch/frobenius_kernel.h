// SPDX-License-Identifier: Apache-2.0
// The powers x^(2^i) modulo a polynomial, which tell whether it has all its roots in the field, and
// make its traces: most of what decoding a group takes. In plain C++ the root finder has its own,
// by logarithms; this one multiplies without them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/sketch/pinsketch/algebra.h"

namespace rocksieve::pinsketch {

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
