// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/candidate_set.h"

namespace rocksieve::join {

PageVector<uint64_t> CandidateSet::Hashes(uint64_t salt) const {
  PageVector<uint64_t> hashes(size_ + 1);
  size_t next = 0;
  if (out_.empty()) {
    for (const Candidate& candidate : all_) hashes[next++] = HashForStep(candidate.hash, salt);
  } else {
    // Without a branch on what nobody can foresee: hashed, and overwritten if it is out.
    for (size_t i = 0; i < all_.size(); i++) {
      hashes[next] = HashForStep(all_[i].hash, salt);
      next += out_[i] == 0;
    }
  }
  hashes.pop_back();
  return hashes;
}

void CandidateSet::TakeOut(std::span<const uint8_t> keep, PageVector<uint32_t>* positions) {
  if (out_.empty()) out_.assign(all_.size(), 0);
  size_t next = 0;
  for (size_t i = 0; next < keep.size(); i++) {
    if (out_[i] != 0) continue;
    if (keep[next++] != 0) continue;
    out_[i] = 1;
    size_--;
    if (positions != nullptr) positions->push_back(static_cast<uint32_t>(i));
  }
}

void CandidateSet::ForgetOut() {
  if (size_ < all_.size()) {
    size_t kept = 0;
    for (size_t i = 0; kept < size_; i++) {
      if (out_[i] == 0) all_[kept++] = all_[i];
    }
    all_.resize(size_);
  }
  out_ = {};
}

void CandidateSet::Keep(std::span<const uint8_t> keep) {
  if (out_.empty()) {
    size_t kept = 0;
    for (size_t i = 0; i < all_.size(); i++) {
      // All are moved, so that there is no branch on what nobody can foresee.
      all_[kept] = all_[i];
      kept += keep[i] != 0;
    }
    all_.resize(kept);
    size_ = kept;
    return;
  }
  TakeOut(keep);
  ForgetOut();
}

void CandidateSet::Clear() {
  all_.clear();
  out_ = {};
  size_ = 0;
}

Candidates CandidateSet::Take() {
  ForgetOut();
  size_ = 0;
  return std::move(all_);
}

}  // namespace rocksieve::join
