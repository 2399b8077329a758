// SPDX-License-Identifier: Apache-2.0
// Rateless set reconciliation: one side sends symbols of its set, one after another, until the
// other knows every key in which the two differ. For D differences that takes 1.36 D symbols when D
// is large, in the mean 1.9 D at worst (D = 4), and 3 for a single one, whatever the sizes of the
// sets; nobody need know D. A small D has a long tail: one time in 100 it is 3 D and more.
//
// DESCRIPTION. Sender: RatelessEncoder(ids).ExtendTo(m, &cells), and WriteCells of the new ones.
// Receiver: RatelessDecoder(own ids).Consume(message) until done(). Ids are hashes of the keys
// (HashForStep of hash/key_hash128.h), of which the low id_bits count. They must be distinct within
// a side; two keys of one id (a chance of n^2 / 2^(id_bits + 1)) make the decoding go on for ever
// or, if one is on either side, hide a difference: bound the symbols, check with a SetSum, and
// begin anew under another salt.
// Cost: for each key 2 to 5 ns for each of its symbols, about 2 ln(m) of them. 8 bytes of memory a
// key. If the first m were not enough, 32 bytes, and a glance (1 ns) for each key and each
// ExtendTo; so let m grow by a quarter at least, not one by one.
//
// IMPLEMENTATION. Symbol i is the sum of the ids, checks (hashes of ids) and the number of the keys
// that RatelessMapping assigns to it. After subtraction of the receiver's own symbol, what both
// have is gone; a cell whose count is +-1 and whose check fits holds one key alone, which is then
// subtracted from its other symbols, and so on. All three sums are modular, in 64 + 8 + 4 bits by
// default: a receiver only needs to tell +1 from -1, so a few bits of the count are enough, and
// they cost less than coding it against its expectation would. Sums that happen to look like one
// key are mostly harmless, and thus the check is short: the wrong key goes into the difference with
// a sign, comes out again with the opposite sign when the rest is known, and Difference() strikes
// out both. The end is all but certain: every cell must have become zero.
//
// Source: Yang, Gilad, Alizadeh, "Practical rateless set reconciliation", SIGCOMM 2024.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/memory/page_pool.h"
#include "lib/sketch/rateless_kernel.h"

namespace rocksieve {

// The ids of keys that only one of two sides has.
struct SetDifference {
  std::vector<uint64_t> only_remote, only_local;  // ascending

  // Sorts both, and strikes out what stands on either side: a wrong key, found by chance in the sum
  // of several and taken back later.
  void StrikeOut() {
    std::sort(only_remote.begin(), only_remote.end());
    std::sort(only_local.begin(), only_local.end());
    SetDifference net;
    std::set_difference(only_remote.begin(), only_remote.end(), only_local.begin(),
                        only_local.end(), std::back_inserter(net.only_remote));
    std::set_difference(only_local.begin(), only_local.end(), only_remote.begin(),
                        only_remote.end(), std::back_inserter(net.only_local));
    *this = std::move(net);
  }
};

struct RatelessFormat {
  int id_bits = 64;    // 32 .. 64
  int check_bits = 8;  // 0 .. 24
  int count_bits = 4;  // 2 .. 32

  // The early symbols decide about small differences, and hold so many keys of large ones that
  // they look like a single one most often: their checks are longer.
  static constexpr size_t kEarlySymbols = 128;
  static constexpr int kEarlyCheckBits = 8;
  int CheckBits(size_t symbol) const {
    return check_bits + (symbol < kEarlySymbols ? kEarlyCheckBits : 0);
  }
  // Of the symbols begin .. end - 1.
  uint64_t CellBits(size_t begin, size_t end) const {
    const size_t early = end < kEarlySymbols ? end : kEarlySymbols;
    return (end - begin) * static_cast<uint64_t>(id_bits + check_bits + count_bits) +
           (begin < early ? early - begin : 0) * static_cast<uint64_t>(kEarlyCheckBits);
  }
  uint64_t IdOf(uint64_t hash) const { return hash << (64 - id_bits) >> (64 - id_bits); }
};

// A key on its way through the symbols.
struct RatelessKey {
  explicit RatelessKey(uint64_t the_id) : id(the_id), mapping(the_id) {}
  uint64_t id;
  RatelessMapping mapping;
};

class RatelessEncoder {
 public:
  // REQUIRES: the same format on both sides, within the limits above.
  RatelessEncoder(PageVector<uint64_t> hashes, const RatelessFormat& format);

  // Appends the symbols number cells->size() .. symbols - 1. REQUIRES: *cells has what the calls
  // before this one appended, and nothing else.
  void ExtendTo(size_t symbols, std::vector<RatelessCell>* cells);

  // Of memory: at first, and at most, after several calls of ExtendTo().
  static constexpr size_t kBytesPerKey = sizeof(uint64_t);
  static constexpr size_t kMostBytesPerKey = sizeof(uint64_t) + sizeof(RatelessKey);

  // In the order of the hashes.
  const PageVector<uint64_t>& ids() const { return ids_; }

 private:
  // All symbols anew, of which those that *cells does not have are appended.
  void AddByKernel(size_t symbols, std::vector<RatelessCell>* cells);
  // From then on each key remembers the next symbol that it takes part in.
  void Remember(size_t symbols);
  // From where they are to the end of the cells.
  void AddKeys(std::vector<RatelessCell>* cells);

  PageVector<uint64_t> ids_;
  std::vector<RatelessKey> keys_;  // none at first
};

// cells[begin ..] as a message: varint begin, varint number of cells, then bits: for each cell the
// ids, the checks (CheckBits of them), the count, each modulo 2^width.
void WriteCells(const std::vector<RatelessCell>& cells, size_t begin, const RatelessFormat& format,
                ByteWriter* out);

class RatelessDecoder {
 public:
  // Will refuse more than most_symbols; its memory is that of own() for each own hash and at most
  // kBytesPerSymbol for each symbol, while vectors grow.
  static constexpr size_t kBytesPerSymbol = 160;
  RatelessDecoder(PageVector<uint64_t> own_hashes, const RatelessFormat& format,
                  size_t most_symbols);
  const RatelessEncoder& own() const { return own_; }

  // Takes the message of WriteCells from the reader and decodes as far as it goes. False, with the
  // reader failed, if it is damaged, is not the continuation of what came before, brings more than
  // most_symbols; the decoder is then of no more use.
  bool Consume(ByteReader* in);

  // All differences are known. Never without a symbol. Two symbols more than keys were found make
  // sure of a small result: a first cell that looks like one key by chance must not end it all.
  bool done() const {
    return !cells_.empty() && nonzero_cells_ == 0 &&
           (recovered_.empty() || cells_.size() >= recovered_.size() + 2);
  }
  size_t symbols() const { return cells_.size(); }
  // REQUIRES: done().
  SetDifference Difference() const;

 private:
  struct Recovered {
    RatelessKey key;
    bool remote;
  };

  bool IsZero(size_t symbol) const;
  void Subtract(const Recovered& key, size_t index);
  void SubtractFromNewCells(Recovered* key);
  bool HoldsOneKey(size_t index, Recovered* key) const;
  void Peel();

  const RatelessFormat format_;
  const uint64_t id_mask_;
  const uint32_t count_mask_;
  const size_t most_symbols_;
  RatelessEncoder own_;
  std::vector<RatelessCell> own_cells_, cells_;
  std::vector<Recovered> recovered_;
  std::vector<uint8_t> uses_;       // how many keys each cell has given
  std::vector<size_t> candidates_;  // indexes of cells that may hold one key alone
  size_t nonzero_cells_ = 0;
};

// Symbols that `differences` need in the mean, for planning; simulated by rateless_iblt_test.
double ExpectedRatelessSymbols(double differences);

}  // namespace rocksieve
