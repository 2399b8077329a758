// SPDX-License-Identifier: Apache-2.0
// The certificate: how many keys a set has, and a keyed 128-bit sum of them.
//
// DESCRIPTION. Two sets with equal sums under the same salt are equal but for a chance of about
// 2^-128, in whatever order their keys came, because each key's hash is mixed under the salt before
// it is added modulo 2^128. Sums of disjoint sets add up to the sum of their union. A peer that is
// wrong by accident cannot get by: hashes that satisfy a linear relation lose it in the mixing, so
// wrong keys do not cancel each other unless somebody who knows the salt searches for such keys (an
// addition modulo 2^128 of k chosen terms falls to the generalised birthday attack, Wagner 2002: it
// is no defence against a peer that lies about itself, who could as well leave out keys on both
// sides of its sum). 3 ns per key. Not thread-safe.
//
// IMPLEMENTATION. The mixing is a Feistel network over two 64-bit halves, (l, r) ->
// (r, l ^ fold((r ^ a) * b)), four rounds (Luby, Rackoff, "How to construct pseudorandom
// permutations", 1988), with the words a, b of the salt's SplitMix64 sequence, b made odd. It is a
// bijection: distinct hashes stay distinct. Sum of pseudorandom values as the hash of a set:
// Clarke et al., "Incremental multiset hash functions", ASIACRYPT 2003 (their MSet-Add-Hash).
#pragma once

#include <cstdint>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"

namespace rocksieve {

struct SetSum {
  uint64_t count = 0;
  uint64_t low = 0, high = 0;  // of the sum

  bool operator==(const SetSum&) const = default;
  SetSum& operator+=(const SetSum& other) {
    count += other.count;
    low += other.low;
    high += other.high + (low < other.low);
    return *this;
  }

  // A varint and two u64, the low one first.
  void Write(ByteWriter* out) const {
    out->Varint(count);
    out->U64(low);
    out->U64(high);
  }
  // False, with the reader failed, if that is not there.
  bool Read(ByteReader* in) {
    count = in->Varint();
    low = in->U64();
    high = in->U64();
    return in->ok();
  }
};

// Sums under one salt.
class SetSummer {
 public:
  explicit SetSummer(uint64_t salt) {
    for (int i = 0; i < 2 * kRounds; i++) {
      words_[i] = SplitMix64(salt, static_cast<uint64_t>(i)) | static_cast<uint64_t>(i & 1);
    }
  }

  // The sum of the set that has just this key.
  SetSum Of(const KeyHash128& hash) const {
    uint64_t left = hash.low, right = hash.high;
    for (int i = 0; i < 2 * kRounds; i += 2) {
      const uint64_t next = left ^ MultiplyFold64(right ^ words_[i], words_[i + 1]);
      left = right;
      right = next;
    }
    return {1, left, right};
  }
  void Add(const KeyHash128& hash, SetSum* sum) const { *sum += Of(hash); }

 private:
  static constexpr int kRounds = 4;
  uint64_t words_[2 * kRounds];
};

}  // namespace rocksieve
