#include "join/matching.h"

#include <cmath>
#include <memory>

#include <rocksieve/filter.h>

#include "format/byte_io.h"
#include "join/matching_messages.h"

namespace rocksieve::join {
namespace {

constexpr int kMostColumns = 32;

}  // namespace

//   u8 columns | varint candidates of the sender | filter block over their message hashes
absl::Status Matching::SendFilter(int columns, std::string* message) {
  FilterSpec spec;
  spec.family = Family::kRibbon;
  spec.unit = FilterSpec::Unit::kFalsePositiveRate;
  spec.amount = std::ldexp(1.0, -columns);
  bool built = true;
  const std::shared_ptr<const FilterBlock> block =
      options_.filters == nullptr
          ? MakeFilter(spec, candidates_, MessageSalt())
          : options_.filters->Make(&spec, candidates_, MessageSalt(), &built);
  columns = static_cast<int>(std::lround(-std::log2(spec.amount)));
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kFilter));
  out.U8(static_cast<uint8_t>(columns));
  out.Varint(candidates_.size());
  out.Bytes(block->view());
  counts_.filters_sent++;
  counts_.filters_built += built;
  counts_.their_candidates.reset();  // not yet told what passed
  // What the other side will have left.
  their_count_is_exact_ = false;
  their_count_ = common_ + std::ldexp(std::max(0.0, their_count_ - common_), -columns);
  return absl::OkStatus();
}

absl::Status Matching::ReceiveFilter(std::string_view body) {
  ByteReader in(body);
  const int columns = in.U8();
  const uint64_t their_candidates = in.Varint(UINT32_MAX);
  const std::string_view block = in.Rest();
  if (!in.ok() || columns < 1 || columns > kMostColumns) return Nonsense("a damaged filter");
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return Nonsense("a filter that cannot be read");
  const uint64_t salt = MessageSalt();
  std::vector<uint8_t> passes(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); i++) {
    passes[i] = opened.filter->MayContainHash(HashForStep(candidates_[i].hash, salt));
  }
  const auto before = static_cast<double>(candidates_.size());
  Keep(passes);
  counts_.filters_received++;
  counts_.their_candidates = their_candidates;
  counts_.candidates_pruned += static_cast<uint64_t>(before) - candidates_.size();
  their_count_ = static_cast<double>(their_candidates);
  their_count_is_exact_ = true;
  common_ = CommonAfterFilter(before, static_cast<double>(candidates_.size()), columns);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
