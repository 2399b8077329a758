// Sketches, and more parity for them. What they tell: matching_marks.cc.
#include <algorithm>
#include <cmath>
#include <memory>

#include "lib/format/byte_io.h"
#include "lib/join/matching/matching.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostParitySymbols = uint64_t{1} << 24;

// As the request says; 0 if it is damaged.
uint64_t RequestedSymbols(std::string_view request) {
  ByteReader in(request);
  const uint64_t entries = in.Varint(pinsketch::kMostLevels);
  uint64_t symbols = 0;
  for (uint64_t i = 0; i < entries && in.ok(); i++) {
    in.Varint();
    symbols += in.Varint(kMostParitySymbols);
  }
  return in.ok() ? symbols : 0;
}

}  // namespace

absl::Status Matching::SendSketch(int cells_log2, std::string* turn) {
  const Standing now = standing();
  if (WriteSketch(std::max(now.mine, now.theirs),
                  SketchedDifferences(now.differences(), 2 * now.common_error), cells_log2, turn)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "a sketch would take more memory, or a longer message, than is allowed: allow more, or use "
      "smaller ranges");
}

// The receiver of the first layer sends it with its marks, of the candidates that it did not set
// aside. Where there is no room for it, symbols settle all that the first layer left.
void Matching::SendSecondLayer(std::string* turn) {
  const Standing& left = left_by_sketch_;
  const int cells_log2 = BestSecondLayer(left, options_.planner.prices);
  if (cells_log2 == 0) return;
  // Many of these come in pairs, which makes their number vary more.
  const double differences = SketchedDifferences(left.differences(), std::sqrt(left.differences()));
  if (WriteSketch(std::max(left.mine, left.theirs), differences, cells_log2, turn)) layer_ = 2;
}

//   varint candidates of the sender | plan and sketch, as in partitioned_pinsketch.h, of their part
//   hashes
bool Matching::WriteSketch(double keys, double differences, int cells_log2, std::string* turn) {
  const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, cells_log2);
  const uint64_t bytes = pinsketch::PartitionedEncoder::MemoryFor(plan, candidates_.size());
  if (plan.SketchBytes() > options_.most_message_bytes / 2 ||
      !Hold(StepBytes() + bytes + plan.SketchBytes()).ok()) {
    return false;
  }
  sketch_plan_ = plan;
  parity_requests_ = 0;
  sketched_hashes_ = PartHashes(PartSalt());
  sketch_encoder_ = std::make_unique<pinsketch::PartitionedEncoder>(sketch_plan_, sketched_hashes_);
  std::string body;
  ByteWriter out(&body);
  out.Varint(candidates_.size());
  sketch_plan_.Write(&out);
  sketch_encoder_->WriteSketch(&out);
  Append(Part::kSketch, body, turn);
  sent_sketch_ = true;
  expected_ = Expected::kMarks;
  return true;
}

absl::Status Matching::ReceiveSketch(std::string_view body) {
  ByteReader in(body);
  const auto their_candidates = static_cast<double>(ReadTheirCandidates(&in));
  // Before any memory is taken for it, the sketch must be there.
  if (!sketch_plan_.Read(&in) || sketch_plan_.SketchBytes() > in.remaining()) {
    return Nonsense("a damaged sketch");
  }
  const absl::Status room = Hold(
      StepBytes() + pinsketch::PartitionedDecoder::MemoryFor(sketch_plan_, candidates_.size()));
  if (!room.ok()) return room;
  more_parity_bytes_ = 0;
  if (expected_ == Expected::kSymbols) {
    layer_ = 2;
    their_doubtful_count_ = std::max(0.0, their_count_ - their_candidates);
  }
  their_count_ = their_candidates;
  their_count_is_exact_ = true;
  sketched_hashes_ = PartHashes(PartSalt());
  sketch_decoder_ = std::make_unique<pinsketch::PartitionedDecoder>(sketch_plan_, sketched_hashes_);
  if (!sketch_decoder_->ReadSketch(&in) || !in.Finished()) return Nonsense("a damaged sketch");
  sent_sketch_ = false;
  ending_ = MoveKind::kSketch;
  expected_ = Expected::kMarks;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveParityRequest(std::string_view body) {
  if (parity_requests_++ == pinsketch::PartitionedDecoder::kMostRequests) {
    return Nonsense("more requests for parity than are answered");
  }
  // A message's worth, and of what there is room for: a symbol and its group's sum.
  const uint64_t most_symbols =
      std::min(kMostParitySymbols, options_.most_message_bytes / sizeof(uint32_t));
  const absl::Status room = Hold(StepBytes() + sizeof(uint32_t) * 3 * RequestedSymbols(body));
  if (!room.ok()) return room;
  ByteReader in(body);
  parity_.clear();
  ByteWriter out(&parity_);
  if (!sketch_encoder_->AnswerRequest(&in, most_symbols, &out) || !in.Finished()) {
    return Nonsense("a damaged request for parity");
  }
  expected_ = Expected::kParity;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveParity(std::string_view body) {
  more_parity_bytes_ += body.size();
  const absl::Status room = Hold(StepBytes());
  if (!room.ok()) return room;
  ByteReader in(body);
  if (!sketch_decoder_->ReadMore(&in) || !in.Finished()) return Nonsense("damaged parity");
  expected_ = Expected::kMarks;
  return absl::OkStatus();
}

void Matching::CountLeft(double differing_cells, double unknown_share, double senders,
                         double receivers) {
  const double known_share = std::max(0.01, 1 - unknown_share);
  const double all = std::min(differing_cells / known_share, senders + receivers);
  const double senders_only = std::clamp((all + senders - receivers) / 2, 0.0, senders);
  const double common = std::min(senders - senders_only, receivers);
  const Standing before = {senders, receivers, common, 0};
  const double cells = std::ldexp(sketch_plan_.groups, sketch_plan_.field_bits);
  const double left = LeftBySketch(before, cells);
  const double all_only = 2 * before.mine_only() + before.theirs_only();
  const double of_receiver = all_only == 0 ? 0.5 : before.theirs_only() / all_only;
  left_by_sketch_ = {common + of_receiver * left + unknown_share * before.theirs_only(),
                     common + (1 - of_receiver) * left + unknown_share * before.mine_only(), common,
                     0};
}

}  // namespace rocksieve::join
