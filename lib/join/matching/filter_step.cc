// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/filter_step.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lib/filter/builder.h"

namespace rocksieve::join {

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
  FilterMaker* const maker = range_->options.filters;
  bool built = true;
  const std::shared_ptr<const FilterBlock> block =
      maker == nullptr ? MakeFilter(spec, candidates, range_->PartSalt())
                       : maker->Make(&spec, candidates, range_->PartSalt(), &built);
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
