// Set reconciliation in one message of a fixed size, for the few keys that the layers before left
// over: 8 bytes per cell, about 1.3 cells per difference and some.
//
// DESCRIPTION. Both sides choose the number of cells from the expected number of differences
// (IbltCells), one sends its Iblt, the other subtracts its own and decodes. All or nothing: if it
// fails (less than 1 time in 100 at the expected number, and always when there are far more), take
// a larger one, or more symbols of a rateless one (rateless_iblt.h). A key's id are the low 48 bits
// of its hash: two keys of n with one id, a chance of n^2 / 2^49, make it fail or hide a
// difference; check with a SetSum.
//
// IMPLEMENTATION. M. Goodrich, M. Mitzenmacher, "Invertible Bloom lookup tables", 2011, with four
// cells per key, one in each quarter of the table; D. Eppstein et al., "What's the difference?",
// SIGCOMM 2011. As in rateless_iblt.h sums are modular, and wrong keys take themselves back.
//
//   cells     bits: for each the sum of its ids (48), of their checks (12), of their number (4)
//   key       id = hash mod 2^48; in quarter t = 0 .. 3 of s = cells / 4 cells it is in cell
//             t s + ((SplitMix64(id, t) * s) >> 64); check = SplitMix64(id, 4) >> 52
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/sketch/set_difference.h"

namespace rocksieve {

class Iblt {
 public:
  static constexpr int kIdBits = 48, kCheckBits = 12, kCountBits = 4;
  static constexpr int kParts = 4;

  // REQUIRES: cells is a positive multiple of kParts.
  Iblt(uint32_t cells, std::span<const uint64_t> hashes);

  void Write(ByteWriter* out) const;
  uint64_t Bytes() const { return uint64_t{8} * cells_.size(); }

  // Reads what Write wrote for as many cells from the other side, and finds the ids of the keys
  // that only one side has. kDamaged: too short, and the reader has failed. kTooMany: not
  // decodable.
  enum class Result { kDecoded, kTooMany, kDamaged };
  Result Decode(ByteReader* in, SetDifference* difference) const;

 private:
  struct Cell {
    uint64_t ids = 0;
    uint32_t checks = 0, count = 0;
  };
  void Add(uint64_t id, uint32_t times);  // times: modulo 2^32

  std::vector<Cell> cells_;
};

// Cells, a multiple of kParts, with which `differences` keys (in the mean, Poisson-distributed)
// are decoded but for one time in 100.
uint32_t IbltCells(double differences);

}  // namespace rocksieve
