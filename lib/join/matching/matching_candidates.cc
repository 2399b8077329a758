// What is known of the candidates, and how it changes.
#include <algorithm>

#include "join/matching/matching.h"

namespace rocksieve::join {

SetSum Matching::SumOfCandidates() const {
  SetSum sum;
  for (const Candidate& candidate : candidates_) summer_.Add(candidate.hash, &sum);
  return sum;
}

std::vector<uint64_t> Matching::PartHashes(uint64_t salt) const {
  std::vector<uint64_t> hashes;
  hashes.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    hashes.push_back(HashForStep(candidate.hash, salt));
  }
  return hashes;
}

Standing Matching::standing() const {
  const auto mine = static_cast<double>(candidates_.size());
  const double theirs = std::max(1.0, their_count_);
  return {mine, theirs, std::clamp(common_, 0.0, std::min(mine, theirs)), common_error_};
}

TurnLimit Matching::TurnsLeft() const {
  const bool asking_side_begins = options_.asks == options_.begins;
  const int all = TurnsOf(options_.planner.most_round_trips, asking_side_begins);
  // This turn is counted already.
  return {options_.asks, all - static_cast<int>(counts_.turns) + 1};
}

void Matching::Keep(const std::vector<uint8_t>& keep) {
  size_t kept = 0;
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] != 0) candidates_[kept++] = candidates_[i];
  }
  candidates_.resize(kept);
}

void Matching::Return(const Candidates& candidates) {
  candidates_.insert(candidates_.end(), candidates.begin(), candidates.end());
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.ordinal < b.ordinal; });
}

}  // namespace rocksieve::join
