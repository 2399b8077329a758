// SPDX-License-Identifier: Apache-2.0
// A side's candidates in a range, some of which were taken out: each keeps its position, so that it
// can be put back without any sorting, until those that are out are forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/join/matching/candidates.h"
#include "lib/memory/page_vector.h"

namespace rocksieve::join {

// 1 byte per candidate beside them, from the first that is taken out.
class CandidateSet {
 public:
  explicit CandidateSet(Candidates candidates) : all_(std::move(candidates)), size_(all_.size()) {}

  // Of those that are in.
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Visits them by rising ordinal.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < all_.size(); i++) {
      if (out_.empty() || out_[i] == 0) visit(all_[i]);
    }
  }
  // By rising ordinal.
  PageVector<uint64_t> Hashes(uint64_t salt) const;

  // REQUIRES: none is out.
  const Candidates& all() const { return all_; }

  // A flag for each one that is in: takes out those whose flag is not set. *positions: of these,
  // ascending.
  void TakeOut(std::span<const uint8_t> keep, PageVector<uint32_t>* positions = nullptr);
  void PutBack(uint32_t position) {
    out_[position] = 0;
    size_++;
  }
  // In or out, but not forgotten.
  const Candidate& At(uint32_t position) const { return all_[position]; }

  // Forgets those that are out; positions change.
  void ForgetOut();
  // The same after TakeOut(keep).
  void Keep(std::span<const uint8_t> keep);
  // Forgets all.
  void Clear();
  // Those that are in. Leaves none.
  Candidates Take();

  uint64_t MemoryBytes() const { return all_.capacity() * sizeof(Candidate) + out_.capacity(); }

 private:
  Candidates all_;
  PageVector<uint8_t> out_;  // flags; empty if none is out
  size_t size_;
};

}  // namespace rocksieve::join
