// Sketches, and more parity for them. What they tell: matching_marks.cc.
#include <algorithm>
#include <cmath>
#include <memory>

#include "format/byte_io.h"
#include "join/matching/matching.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostSketchMemoryBytes = uint64_t{1} << 28;
constexpr uint64_t kMostParitySymbols = uint64_t{1} << 24;

}  // namespace

void Matching::SendSketch(int cells_log2, std::string* turn) {
  const Standing now = standing();
  WriteSketch(std::max(now.mine, now.theirs),
              SketchedDifferences(now.differences(), 2 * now.common_error), cells_log2, turn);
}

// The receiver of the first layer sends it with its marks, of the candidates that it did not set
// aside.
void Matching::SendSecondLayer(std::string* turn) {
  const Standing& left = left_by_sketch_;
  const int cells_log2 = BestSecondLayer(left, options_.planner.prices);
  if (cells_log2 == 0) return;
  layer_ = 2;
  // Many of these come in pairs, which makes their number vary more.
  const double differences = SketchedDifferences(left.differences(), std::sqrt(left.differences()));
  WriteSketch(std::max(left.mine, left.theirs), differences, cells_log2, turn);
}

//   varint candidates of the sender | plan and sketch, as in partitioned_pinsketch.h, of their part
//   hashes
void Matching::WriteSketch(double keys, double differences, int cells_log2, std::string* turn) {
  sketch_plan_ = pinsketch::MakePlan(keys, differences, cells_log2);
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
}

absl::Status Matching::ReceiveSketch(std::string_view body) {
  ByteReader in(body);
  const auto their_candidates = static_cast<double>(in.Varint(UINT32_MAX));
  // Before any memory is taken for it, the sketch must be there.
  if (!sketch_plan_.Read(&in, kMostSketchMemoryBytes) ||
      sketch_plan_.SketchBytes() > in.remaining()) {
    return Nonsense("a damaged sketch");
  }
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
  ByteReader in(body);
  parity_.clear();
  ByteWriter out(&parity_);
  if (!sketch_encoder_->AnswerRequest(&in, kMostParitySymbols, &out) || !in.Finished()) {
    return Nonsense("a damaged request for parity");
  }
  expected_ = Expected::kParity;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveParity(std::string_view body) {
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
