// The sums that PinSketch sends: S(j) = sum of id^(2 j - 1) over a set of ids, j = 1 .. t.
//
// Level j stands for the odd power 2 j - 1 throughout. The even ones follow: S of power 2 p is the
// square of S of power p. An id is a field element other than 0; adding it again takes it out, so
// the XOR of two sets' sums are the sums of their symmetric difference.
#pragma once

#include <cstdint>
#include <span>

#include "lib/sketch/pinsketch/field.h"

namespace rocksieve::pinsketch {

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

}  // namespace rocksieve::pinsketch
