#include "join/matching.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "format/bit_coder.h"
#include "format/byte_io.h"
#include "join/matching_messages.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostSketchMemoryBytes = uint64_t{1} << 28;
constexpr uint64_t kMostParitySymbols = uint64_t{1} << 24;

}  // namespace

//   plan and sketch, as in partitioned_pinsketch.h, of the candidates' message hashes
void Matching::SendSketch(int cells_log2, std::string* message) {
  const double keys = std::max(static_cast<double>(candidates_.size()), their_count_);
  sketch_plan_ = pinsketch::MakePlan(keys, SketchedDifferences(Differences()), cells_log2);
  sketched_hashes_ = MessageHashes(MessageSalt());
  sketch_encoder_ = std::make_unique<pinsketch::PartitionedEncoder>(sketch_plan_, sketched_hashes_);
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kSketch));
  sketch_plan_.Write(&out);
  sketch_encoder_->WriteSketch(&out);
  expected_ = Expected::kMarks;
}

absl::Status Matching::ReceiveSketch(std::string_view body) {
  ByteReader in(body);
  // Before any memory is taken for it, the sketch must be there.
  if (!sketch_plan_.Read(&in, kMostSketchMemoryBytes) ||
      sketch_plan_.SketchBytes() > in.remaining()) {
    return Nonsense("a damaged sketch");
  }
  sketched_hashes_ = MessageHashes(MessageSalt());
  sketch_decoder_ = std::make_unique<pinsketch::PartitionedDecoder>(sketch_plan_, sketched_hashes_);
  if (!sketch_decoder_->ReadSketch(&in) || !in.Finished()) return Nonsense("a damaged sketch");
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

// Either a request for more parity, as in partitioned_pinsketch.h, or marks:
//   varint differing cells | flags, one per 64 groups: known | u64 digest of the receiver's odd
//   cells, as the sender believes them to be | flags, one for each of these cells: the sender has
//   no key there
void Matching::SendMarks(std::string* message) {
  ByteWriter out(message);
  if (sketch_decoder_->WantsMore()) {
    out.U8(kMoreParityMessage);
    sketch_decoder_->WriteRequest(&out);
    expected_ = Expected::kParity;
    return;
  }
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<uint8_t> empty_here, keep(candidates_.size(), 1);
  std::vector<uint32_t> odd_here, odd_there;
  uint64_t digest = 0, differing_cells = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (!sketch_decoder_->IsKnown(group)) continue;
    const std::vector<uint32_t>& differing = sketch_decoder_->DifferingCells(group);
    differing_cells += differing.size();
    mine.OddCells(group, &odd_here);
    odd_there.clear();
    std::set_symmetric_difference(odd_here.begin(), odd_here.end(), differing.begin(),
                                  differing.end(), std::back_inserter(odd_there));
    const std::span<const pinsketch::CellEntry> entries = mine.Group(group);
    auto in_cell = [entries](uint32_t id) {
      return std::equal_range(entries.begin(), entries.end(), pinsketch::CellEntry{id, 0},
                              [](const auto& a, const auto& b) { return a.id < b.id; });
    };
    for (uint32_t id : odd_there) {
      digest += Mix64(uint64_t{group} << 32 | id);
      const auto [begin, end] = in_cell(id);
      empty_here.push_back(begin == end);
    }
    for (uint32_t id : differing) {
      const auto [begin, end] = in_cell(id);
      if (end - begin == 1) keep[begin->index] = 0;
    }
  }
  out.U8(kMarksMessage);
  out.Varint(differing_cells);
  EncodeFlags(sketch_decoder_->known_blocks(), &out);
  out.U64(digest);
  EncodeFlags(empty_here, &out);
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] == 0) doubtful_.push_back(candidates_[i]);
  }
  Keep(keep);
  sketch_decoder_.reset();
  expected_ = Expected::kSymbols;
}

absl::Status Matching::ReceiveMarks(std::string_view body) {
  ByteReader in(body);
  const uint64_t differing_cells = in.Varint(UINT32_MAX);
  std::vector<uint8_t> known, empty_there;
  if (!DecodeFlags(&in, sketch_plan_.Checks(), &known)) return Nonsense("damaged marks");
  const uint64_t their_digest = in.U64();
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<pinsketch::Cell> odd_cells;
  std::vector<uint32_t> ids;
  uint64_t digest = 0, unknown_groups = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (known[group / pinsketch::kGroupsPerCheck] == 0) {
      unknown_groups++;
      continue;
    }
    mine.OddCells(group, &ids);
    for (uint32_t id : ids) {
      odd_cells.push_back({group, id});
      digest += Mix64(uint64_t{group} << 32 | id);
    }
  }
  const double differences = Differences();
  left_by_sketch_ = differences;
  // What the other side made of the sketch may be wrong, hardly ever. Then nothing follows from it,
  // and symbols settle everything.
  if (digest == their_digest) {
    if (!DecodeFlags(&in, odd_cells.size(), &empty_there) || !in.Finished()) {
      return Nonsense("damaged marks");
    }
    std::vector<uint8_t> keep(candidates_.size(), 1);
    for (size_t i = 0; i < odd_cells.size(); i++) {
      if (empty_there[i] == 0) continue;
      for (const pinsketch::CellEntry& entry : mine.Group(odd_cells[i].group)) {
        if (entry.id == odd_cells[i].id) keep[entry.index] = 0;
      }
    }
    const auto before = static_cast<double>(candidates_.size());
    const auto all = static_cast<double>(differing_cells);
    const double mine_only = std::clamp((all + before - their_count_) / 2, 0.0, before);
    const double cells = std::ldexp(sketch_plan_.groups, sketch_plan_.field_bits);
    left_by_sketch_ = LeftBySketch({before, their_count_, before - mine_only}, cells) +
                      differences * static_cast<double>(unknown_groups) / sketch_plan_.groups;
    Keep(keep);
  }
  sketch_encoder_.reset();
  expected_ = Expected::kSymbols;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
