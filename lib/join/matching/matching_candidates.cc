// What is known of the candidates, and how it changes.
#include <algorithm>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/join/matching/matching.h"

namespace rocksieve::join {
namespace {

// Of one step, for each candidate: a table of the keys that are shipped takes most.
constexpr uint64_t kStepBytesPerCandidate = 64;
constexpr uint64_t kReadMoreBytesPerByte = 12;  // partitioned_pinsketch.h

template <typename T>
uint64_t BytesOf(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

}  // namespace

uint64_t Matching::KeptBytes() const {
  uint64_t bytes = BytesOf(candidates_) + BytesOf(order_) + BytesOf(hits_) +
                   BytesOf(sketched_hashes_) + parity_.capacity() + BytesOf(doubtful_) +
                   BytesOf(their_doubtful_.values) + BytesOf(cells_) + rateless_bytes_;
  if (sketch_encoder_ != nullptr) {
    bytes += pinsketch::PartitionedEncoder::MemoryFor(sketch_plan_, sketched_hashes_.size());
  }
  if (sketch_decoder_ != nullptr) {
    bytes += pinsketch::PartitionedDecoder::MemoryFor(sketch_plan_, sketched_hashes_.size()) +
             kReadMoreBytesPerByte * more_parity_bytes_;
  }
  return bytes;
}

uint64_t Matching::StepBytes() const {
  return kStepBytesPerCandidate * (candidates_.size() + doubtful_.size());
}

absl::Status Matching::Hold(uint64_t step_bytes) {
  return memory_.Resize(KeptBytes() + step_bytes, "reconciling a range");
}

uint64_t Matching::ReadTheirCandidates(ByteReader* in) const {
  return in->Varint(static_cast<uint64_t>(options_.their_count));
}

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
