// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/matching_range.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/filter/builder.h"
#include "lib/format/bit_coder.h"
#include "lib/format/byte_io.h"
#include "lib/sketch/estimators.h"

namespace rocksieve::join {
namespace {

constexpr int kMostBits = 40;

uint64_t UniverseOf(uint64_t entries, int bits) { return std::max<uint64_t>(1, entries) << bits; }

uint64_t CheckOf(const ShortHashes& list) {
  uint64_t check = 0;
  for (const uint64_t value : list.values) check += Mix64(list.salt ^ value);
  return check;
}

}  // namespace

// Hashes are uniform: divided by their upper bits, hardly anything is left to sort.
PageVector<ShortHash> SortedShortHashes(const Candidates& candidates, const ShortHashes& list) {
  constexpr size_t kPerPart = 4;
  const size_t parts = candidates.size() / kPerPart + 1;
  const auto part_of = [&](const Candidate& candidate) {
    return MultiplyHigh64(HashForStep(candidate.hash, list.salt), parts);
  };
  // end_of_part[p] is where part p begins until all of it is there.
  PageVector<uint32_t> end_of_part(parts, 0);
  for (const Candidate& candidate : candidates) end_of_part[part_of(candidate)]++;
  uint32_t begin = 0;
  for (uint32_t& end : end_of_part) begin += std::exchange(end, begin);
  PageVector<ShortHash> sorted(candidates.size());
  for (uint32_t i = 0; i < candidates.size(); i++) {
    sorted[end_of_part[part_of(candidates[i])]++] = {list.ValueOf(candidates[i]), i};
  }
  begin = 0;
  for (const uint32_t end : end_of_part) {
    std::sort(sorted.begin() + begin, sorted.begin() + end);
    begin = end;
  }
  return sorted;
}

void WriteHashList(const Candidates& candidates, int bits, uint64_t salt, ByteWriter* out,
                   PageVector<uint32_t>* order) {
  ShortHashes list;
  list.salt = salt;
  list.universe = UniverseOf(candidates.size(), std::min(bits, kMostBits));
  list.values.reserve(candidates.size());
  order->clear();
  order->reserve(candidates.size());
  for (const auto& [value, candidate] : SortedShortHashes(candidates, list)) {
    list.values.push_back(value);
    order->push_back(candidate);
  }
  out->U8(static_cast<uint8_t>(std::min(bits, kMostBits)));
  EncodeSorted(list.values, {}, 0, out);
  out->U64(CheckOf(list));
}

uint64_t HashListMemoryBytes(std::string_view list) {
  constexpr uint64_t kBytesPerEntry = sizeof(uint64_t) + 2;  // with flags
  ByteReader in(list);
  in.U8();
  return kBytesPerEntry * in.Varint(8 * list.size());  // each has a bit at least
}

bool ReadHashList(ByteReader* in, uint64_t most_entries, uint64_t salt, ShortHashes* list) {
  const int bits = in->U8();
  if (bits > kMostBits) in->Fail();
  SortedValues sorted;
  if (!DecodeSorted(in, UINT64_MAX, 0, most_entries, &sorted)) return false;
  list->values = std::move(sorted.values);
  list->salt = salt;
  list->universe = UniverseOf(list->values.size(), bits);
  if (in->U64() != CheckOf(*list)) in->Fail();
  return in->ok();
}

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

namespace {

constexpr uint64_t kEstimatorStep = 0x65737469;  // apart from the salts of a range's messages

DifferenceEstimator EstimatorOf(const Candidates& candidates, size_t counters, uint64_t salt) {
  const uint64_t step_salt = SplitMix64(salt, kEstimatorStep);
  DifferenceEstimator estimator(counters);
  for (const Candidate& candidate : candidates) {
    estimator.Add(HashForStep(candidate.hash, step_salt));
  }
  return estimator;
}

}  // namespace

size_t CountersIn(std::string_view estimator) {
  return static_cast<size_t>(ByteReader(estimator).Varint(DifferenceEstimator::kMostCounters));
}

double CommonError(size_t counters, double common, double mine, double theirs) {
  if (counters == 0) return std::min(mine, theirs) / 2;
  const double differences = std::max(0.0, mine + theirs - 2 * common);
  return differences * std::sqrt(2.0 / static_cast<double>(counters)) / 2;
}

size_t CountersFor(uint64_t mine, uint64_t theirs) {
  const uint64_t larger = std::max(mine, theirs), smaller = std::min(mine, theirs);
  if (smaller < 64 || larger / smaller >= 4) return 0;
  return mine + theirs > 300000 ? 512 : mine + theirs > 4000 ? 256 : 64;
}

std::string EncodeEstimator(const Candidates& candidates, size_t counters, uint64_t salt) {
  const DifferenceEstimator estimator = EstimatorOf(candidates, counters, salt);
  std::string bytes;
  ByteWriter out(&bytes);
  estimator.Write(estimator.SufficientWidth(), &out);
  return bytes;
}

absl::Status EstimateCommon(std::string_view estimator, uint64_t their_count,
                            const Candidates& candidates, uint64_t salt, double* common) {
  const size_t counters = CountersIn(estimator);
  if (counters == 0) return absl::InvalidArgumentError("the other side sent a damaged estimator");
  DifferenceEstimator theirs(counters);
  ByteReader in(estimator);
  if (!theirs.Read(&in) || !in.Finished()) {
    return absl::InvalidArgumentError("the other side sent a damaged estimator");
  }
  const double differences =
      DifferenceEstimator::Estimate(theirs, EstimatorOf(candidates, counters, salt));
  const auto mine = static_cast<double>(candidates.size());
  const auto other = static_cast<double>(their_count);
  *common = std::clamp((mine + other - differences) / 2, 0.0, std::min(mine, other));
  return absl::OkStatus();
}

namespace {

// Of one step, for each candidate: a table of the keys that are shipped takes most.
constexpr uint64_t kWorkBytesPerCandidate = 64;

}  // namespace

MatchingRange::MatchingRange(Candidates own_candidates, const MatchingOptions& the_options)
    : options(the_options),
      candidates(std::move(own_candidates)),
      their_count(options.their_count),
      common(options.common),
      common_error(options.common_error),
      spent(ScanCost(static_cast<double>(candidates.size()), options.their_count,
                     options.planner.weights)),
      memory(options.memory) {}

absl::Status MatchingRange::Hold(uint64_t step_bytes) {
  return memory.Resize(
      candidates.MemoryBytes() + VectorBytes(deferred) + options.kept_bytes + step_bytes,
      "reconciling a range");
}

absl::Status MatchingRange::HoldForWork(uint64_t step_bytes) {
  return Hold(step_bytes + kWorkBytesPerCandidate * (candidates.size() + deferred.size()));
}

RangeEstimate MatchingRange::estimate() const {
  const auto mine = static_cast<double>(candidates.size());
  const double theirs = std::max(1.0, their_count);
  return {mine, theirs, std::clamp(common, 0.0, std::min(mine, theirs)), common_error};
}

void MatchingRange::Append(Part part, std::string_view body, std::string* step) {
  AppendPart(part, body, step);
  parts++;
}

std::shared_ptr<const FilterBlock> MakeFilter(const FilterSpec& spec, const Candidates& candidates,
                                              uint64_t message_salt) {
  PageVector<uint64_t> hashes(candidates.size());
  for (size_t i = 0; i < candidates.size(); i++) {
    hashes[i] = HashForStep(candidates[i].hash, message_salt);
  }
  return std::make_shared<FilterBlock>(BuildFilterOfHashes(spec, HashList(std::move(hashes))));
}

PlannedStep FilterStep::Planned() const {
  const MatchingOptions& options = range_->options;
  const MatchingCounts& counts = range_->counts;
  const bool client_begins = options.is_client == options.begins;
  const int all_turns = TurnsOf(options.planner.most_round_trips, client_begins);
  // This turn is counted already.
  const TurnLimit left = {options.is_client, all_turns - static_cast<int>(counts.turns) + 1};
  const Begun begun = {static_cast<int>(counts.filters_sent + counts.filters_received),
                       range_->spent};
  return CheapestStep(range_->estimate(), left, begun, options.planner);
}

//   varint candidates of the sender | filter block over their part hashes
void FilterStep::Send(const PlannedStep& planned, std::string* step) {
  FilterSpec spec;
  spec.family = planned.family;
  spec.unit = FilterSpec::Unit::kFalsePositiveRate;
  spec.amount = std::exp2(-planned.filter_width);
  const Candidates& candidates = range_->candidates.all();
  const FilterMaker& maker = range_->options.filters;
  bool built = true;
  const std::shared_ptr<const FilterBlock> block =
      maker ? maker(&spec, candidates, range_->PartSalt(), &built)
            : MakeFilter(spec, candidates, range_->PartSalt());
  std::string body;
  ByteWriter out(&body);
  out.Varint(candidates.size());
  out.Bytes(block->view());
  range_->Append(Part::kFilter, body, step);
  const PartPrices& prices = range_->options.planner.weights.prices;
  range_->spent += {8 * static_cast<double>(body.size()), 0,
                    prices.filter_build_ns * static_cast<double>(candidates.size()),
                    prices.filter_query_ns * range_->their_count};
  range_->counts.filters_sent++;
  range_->counts.filters_built += built;
  range_->counts.their_candidates.reset();  // not yet told what passed
  // What the other side will have left.
  range_->their_count = AfterFilter(range_->estimate(), -std::log2(spec.amount)).mine;
  range_->their_count_is_exact = false;
}

absl::Status FilterStep::Receive(std::string_view body) {
  ByteReader in(body);
  const uint64_t their_candidates = range_->ReadTheirCandidates(&in);
  const std::string_view block = in.Rest();
  if (!in.ok()) return Nonsense("a damaged filter");
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return Nonsense("a filter that cannot be read");
  const uint64_t salt = range_->PartSalt();
  const Candidates& candidates = range_->candidates.all();
  const auto before = static_cast<double>(candidates.size());
  PageVector<uint8_t> passes(candidates.size());
  for (size_t i = 0; i < candidates.size(); i++) {
    passes[i] = opened.filter->MayContainHash(HashForStep(candidates[i].hash, salt));
  }
  range_->candidates.Keep(passes);
  const auto passed = static_cast<double>(candidates.size());
  range_->counts.filters_received++;
  range_->counts.their_candidates = their_candidates;
  const PartPrices& prices = range_->options.planner.weights.prices;
  range_->spent += {0, 8 * static_cast<double>(body.size()), prices.filter_query_ns * before,
                    prices.filter_build_ns * static_cast<double>(their_candidates)};
  range_->counts.candidates_pruned += static_cast<uint64_t>(before - passed);
  range_->their_count = static_cast<double>(their_candidates);
  range_->their_count_is_exact = true;
  const double rate = ExpectedFalsePositiveRate(opened.info);
  if (rate < 0.99) {
    // The filter's rate tells which part of those that passed are not the other side's.
    const double common = std::clamp((passed - before * rate) / (1 - rate), 0.0, passed);
    range_->common = common;
    range_->common_error = std::sqrt((before - common) * rate * (1 - rate)) / (1 - rate);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
