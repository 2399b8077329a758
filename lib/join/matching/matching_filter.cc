#include <algorithm>
#include <cmath>
#include <memory>

#include <rocksieve/filter.h>

#include "lib/format/byte_io.h"
#include "lib/join/matching/matching.h"

namespace rocksieve::join {

//   varint candidates of the sender | filter block over their part hashes
absl::Status Matching::SendFilter(const Move& move, std::string* turn) {
  FilterSpec spec;
  spec.family = move.family;
  spec.unit = FilterSpec::Unit::kFalsePositiveRate;
  spec.amount = std::exp2(-move.filter_width);
  bool built = true;
  const std::shared_ptr<const FilterBlock> block =
      options_.filters == nullptr ? MakeFilter(spec, candidates_, PartSalt())
                                  : options_.filters->Make(&spec, candidates_, PartSalt(), &built);
  std::string body;
  ByteWriter out(&body);
  out.Varint(candidates_.size());
  out.Bytes(block->view());
  Append(Part::kFilter, body, turn);
  counts_.filters_sent++;
  counts_.filters_built += built;
  counts_.their_candidates.reset();  // not yet told what passed
  // What the other side will have left.
  their_count_ = AfterFilter(standing(), -std::log2(spec.amount)).mine;
  their_count_is_exact_ = false;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveFilter(std::string_view body) {
  ByteReader in(body);
  const uint64_t their_candidates = ReadTheirCandidates(&in);
  const std::string_view block = in.Rest();
  if (!in.ok()) return Nonsense("a damaged filter");
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return Nonsense("a filter that cannot be read");
  const uint64_t salt = PartSalt();
  const auto before = static_cast<double>(candidates_.size());
  std::vector<uint8_t> passes(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); i++) {
    passes[i] = opened.filter->MayContainHash(HashForStep(candidates_[i].hash, salt));
  }
  Keep(passes);
  const auto passed = static_cast<double>(candidates_.size());
  counts_.filters_received++;
  counts_.their_candidates = their_candidates;
  counts_.candidates_pruned += static_cast<uint64_t>(before - passed);
  their_count_ = static_cast<double>(their_candidates);
  their_count_is_exact_ = true;
  const double rate = ExpectedFalsePositiveRate(opened.info);
  if (rate < 0.99) {
    // The filter's rate tells which part of those that passed are not the other side's.
    common_ = std::clamp((passed - before * rate) / (1 - rate), 0.0, passed);
    common_error_ = std::sqrt((before - common_) * rate * (1 - rate)) / (1 - rate);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
