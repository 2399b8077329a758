// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/sketch_step.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "lib/format/bit_coder.h"
#include "lib/sketch/pinsketch/positions.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostParitySymbols = uint64_t{1} << 24;
constexpr uint64_t kReadMoreBytesPerByte = 12;  // partitioned_pinsketch.h

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

uint64_t SketchLayer::KeptBytes() const {
  uint64_t bytes = 0;
  if (encoder_ != nullptr) {
    bytes += pinsketch::PartitionedEncoder::MemoryFor(plan_, cells().size());
  }
  if (decoder_ != nullptr) {
    bytes += pinsketch::PartitionedDecoder::MemoryFor(plan_, cells().size()) +
             kReadMoreBytesPerByte * more_parity_bytes_;
  }
  return bytes;
}

void SketchLayer::Drop() {
  encoder_.reset();
  decoder_.reset();
  parity_requests_ = 0;
  more_parity_bytes_ = 0;
}

bool SketchLayer::HasRoomFor(const pinsketch::Plan& plan, size_t hashes) {
  const uint64_t bytes = pinsketch::PartitionedEncoder::MemoryFor(plan, hashes);
  return plan.SketchBytes() <= range_->options.most_message_bytes / 2 &&
         range_->HoldForWork(KeptBytes() + bytes + plan.SketchBytes()).ok();
}

void SketchLayer::WriteSketch(const pinsketch::Plan& plan, std::span<const uint64_t> hashes,
                              ByteWriter* out) {
  Drop();
  plan_ = plan;
  encoder_ = std::make_unique<pinsketch::PartitionedEncoder>(plan_, hashes);
  encoder_->WriteSketch(out);
}

absl::Status SketchLayer::AnswerRequest(std::string_view request, std::string* answer) {
  if (parity_requests_++ == pinsketch::PartitionedDecoder::kMostRequests) {
    return Nonsense("more requests for parity than are answered");
  }
  // A message's worth, and of what there is room for: a symbol and its group's sum.
  const uint64_t most_symbols =
      std::min(kMostParitySymbols, range_->options.most_message_bytes / sizeof(uint32_t));
  RETURN_IF_ERROR(
      range_->HoldForWork(KeptBytes() + sizeof(uint32_t) * 3 * RequestedSymbols(request)));
  ByteReader in(request);
  ByteWriter out(answer);
  if (!encoder_->AnswerRequest(&in, most_symbols, &out) || !in.Finished()) {
    return Nonsense("a damaged request for parity");
  }
  return absl::OkStatus();
}

absl::Status SketchLayer::TakePlan(const pinsketch::Plan& plan, const ByteReader& in,
                                   size_t own_hashes) {
  // Before any memory is taken for it, the sketch must be there.
  if (plan.SketchBytes() > in.remaining()) return Nonsense("a damaged sketch");
  Drop();
  plan_ = plan;
  return range_->HoldForWork(KeptBytes() +
                             pinsketch::PartitionedDecoder::MemoryFor(plan_, own_hashes));
}

bool SketchLayer::ReadSketch(ByteReader* in, std::span<const uint64_t> own_hashes) {
  decoder_ = std::make_unique<pinsketch::PartitionedDecoder>(plan_, own_hashes);
  return decoder_->ReadSketch(in);
}

absl::Status SketchLayer::ReadParity(std::string_view body) {
  more_parity_bytes_ += body.size();
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes()));
  ByteReader in(body);
  if (!decoder_->ReadMore(&in) || !in.Finished()) return Nonsense("damaged parity");
  return absl::OkStatus();
}

namespace {

// Of an odd cell of the receiver of the bitmap, and of what it says of it.
uint64_t DigestOf(uint32_t group, uint32_t id, bool empty) {
  return Mix64(Mix64(uint64_t{group} << 32 | id) + (empty ? 1 : 0));
}

}  // namespace

absl::Status SketchStep::SendFirst(int cells_log2, std::string* step) {
  const RangeEstimate now = range_->estimate();
  if (WriteSketch(std::max(now.mine, now.theirs),
                  SketchedDifferences(now.differences(), 2 * now.common_error), cells_log2, step)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "a sketch would take more memory, or a longer message, than is allowed: allow more, or use "
      "smaller ranges");
}

void SketchStep::Send(std::string* step) {
  switch (expected_) {
    case Expected::kParity:
      range_->Append(Part::kParity, parity_, step);
      expected_ = Expected::kEmptyCellBitmap;
      break;
    case Expected::kEmptyCellBitmap:
      SendEmptyCellBitmap(step);
      break;
    default:
      expected_ = Expected::kNothing;  // the other side sent no second layer
  }
}

absl::Status SketchStep::Receive(Part part, std::string_view body) {
  switch (expected_) {
    case Expected::kSketch:
    case Expected::kSecondLayer:
      if (part == Part::kSketch) return ReceiveSketch(body);
      break;
    case Expected::kEmptyCellBitmap:
      if (part == Part::kMoreParity && layer_.is_sender()) {
        parity_.clear();
        expected_ = Expected::kParity;
        return layer_.AnswerRequest(body, &parity_);
      }
      if (part == Part::kEmptyCellBitmap && layer_.is_sender()) return ReceiveEmptyCellBitmap(body);
      break;
    case Expected::kParity:
      if (part == Part::kParity && !layer_.is_sender()) {
        expected_ = Expected::kEmptyCellBitmap;
        return layer_.ReadParity(body);
      }
      break;
    case Expected::kNothing:
      break;
  }
  return OutOfTurn(part);
}

// The receiver of the first layer sends it with its bitmap, of the candidates that it did not set
// aside. Where there is no room for it, symbols reconcile all that the first layer left.
bool SketchStep::SendSecondLayer(std::string* step) {
  const int cells_log2 = BestSecondLayer(left_, range_->options.planner.weights);
  if (cells_log2 == 0) return false;
  // Many of these come in pairs, which makes their number vary more.
  const double differences =
      SketchedDifferences(left_.differences(), std::sqrt(left_.differences()));
  return WriteSketch(std::max(left_.mine, left_.theirs), differences, cells_log2, step);
}

//   varint candidates of the sender | plan and sketch, as in partitioned_pinsketch.h, of their part
//   hashes
bool SketchStep::WriteSketch(double keys, double differences, int cells_log2, std::string* step) {
  const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, cells_log2);
  if (!layer_.HasRoomFor(plan, range_->candidates.size())) return false;
  std::string body;
  ByteWriter out(&body);
  out.Varint(range_->candidates.size());
  plan.Write(&out);
  layer_.WriteSketch(plan, range_->candidates.Hashes(range_->PartSalt()), &out);
  range_->Append(Part::kSketch, body, step);
  expected_ = Expected::kEmptyCellBitmap;
  return true;
}

absl::Status SketchStep::ReceiveSketch(std::string_view body) {
  ByteReader in(body);
  const auto their_candidates = static_cast<double>(range_->ReadTheirCandidates(&in));
  pinsketch::Plan plan;
  if (!plan.Read(&in)) return Nonsense("a damaged sketch");
  RETURN_IF_ERROR(layer_.TakePlan(plan, in, range_->candidates.size()));
  if (expected_ == Expected::kSecondLayer) {
    outcome_.second_layer = true;
    outcome_.their_deferred_count = std::max(0.0, range_->their_count - their_candidates);
  }
  range_->their_count = their_candidates;
  range_->their_count_is_exact = true;
  if (!layer_.ReadSketch(&in, range_->candidates.Hashes(range_->PartSalt())) || !in.Finished()) {
    return Nonsense("a damaged sketch");
  }
  expected_ = Expected::kEmptyCellBitmap;
  return absl::OkStatus();
}

// Either a request for more parity, as in partitioned_pinsketch.h, or an empty-cell bitmap:
//   varint candidates of the sender of the bitmap | varint differing cells | flags, one per 64
//   groups: known | u64 digest of the receiver's odd cells, as the sender believes them to be, and
//   of the flags that follow | flags, one for each of these cells: the sender has no key there
// And right after them a second layer, or, after that, what the symbols are about.
void SketchStep::SendEmptyCellBitmap(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  if (layer_.WantsMore()) {
    layer_.WriteRequest(&out);
    range_->Append(Part::kMoreParity, body, step);
    expected_ = Expected::kParity;
    return;
  }
  const CandidateSet& candidates = range_->candidates;
  const pinsketch::Plan& plan = layer_.plan();
  const pinsketch::PartitionedDecoder& decoder = layer_.decoder();
  const pinsketch::CellTable& mine = layer_.cells();
  pinsketch::GroupCells cells(plan.field_bits);
  PageVector<uint8_t> empty_here, keep(candidates.size(), 1);
  empty_here.reserve(candidates.size());
  uint64_t digest = 0, differing_cells = 0, unknown_groups = 0;
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (!decoder.IsKnown(group)) {
      unknown_groups++;
      continue;
    }
    const std::span<const pinsketch::CellEntry> entries = mine.Group(group);
    const std::span<const uint32_t> differing = decoder.DifferingCells(group);
    differing_cells += differing.size();
    cells.Take(entries);
    for (const uint32_t id : differing) cells.Name(id);
    cells.ForEachOddOfOther([&](uint32_t id, bool empty) {
      empty_here.push_back(empty);
      digest += DigestOf(group, id, empty);
    });
    if (differing.empty()) continue;
    for (const pinsketch::CellEntry& entry : entries) {
      if (cells.IsNamed(entry.id) && cells.HoldsOneKey(entry.id)) keep[entry.index] = 0;
    }
  }
  out.Varint(candidates.size());
  out.Varint(differing_cells);
  EncodeFlags(decoder.known_blocks(), &out);
  out.U64(digest);
  EncodeFlags(empty_here, &out);
  range_->Append(Part::kEmptyCellBitmap, body, step);
  CountLeft(static_cast<double>(differing_cells), static_cast<double>(unknown_groups) / plan.groups,
            range_->their_count, static_cast<double>(candidates.size()));
  range_->candidates.TakeOut(keep, &range_->deferred);
  layer_.Drop();
  expected_ = Expected::kNothing;
  outcome_.sends_symbols = outcome_.second_layer;
  if (!outcome_.second_layer) outcome_.second_layer = SendSecondLayer(step);
}

absl::Status SketchStep::ReceiveEmptyCellBitmap(std::string_view body) {
  ByteReader in(body);
  range_->their_count = static_cast<double>(range_->ReadTheirCandidates(&in));
  const uint64_t differing_cells = in.Varint(UINT32_MAX);
  const pinsketch::Plan& plan = layer_.plan();
  PageVector<uint8_t> known, empty_there;
  if (!DecodeFlags(&in, plan.Checks(), &known)) return Nonsense("a damaged empty-cell bitmap");
  const uint64_t their_digest = in.U64();
  const pinsketch::CellTable& mine = layer_.cells();
  pinsketch::GroupCells cells(plan.field_bits);
  uint64_t odd_cells = 0, unknown_groups = 0;
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (known[group / pinsketch::kGroupsPerCheck] == 0) {
      unknown_groups++;
      continue;
    }
    cells.Take(mine.Group(group));
    odd_cells += cells.OddCells();
  }
  CountLeft(static_cast<double>(differing_cells), static_cast<double>(unknown_groups) / plan.groups,
            static_cast<double>(range_->candidates.size()), range_->their_count);
  // What the other side made of the sketch may be wrong, hardly ever. Then nothing follows from it,
  // and symbols reconcile everything.
  bool agrees = DecodeFlags(&in, odd_cells, &empty_there) && in.Finished();
  PageVector<uint8_t> keep(range_->candidates.size(), 1);
  uint64_t digest = 0;
  size_t cell = 0;
  for (uint32_t group = 0; agrees && group < plan.groups; group++) {
    if (known[group / pinsketch::kGroupsPerCheck] == 0) continue;
    const std::span<const pinsketch::CellEntry> entries = mine.Group(group);
    cells.Take(entries);
    bool any_empty = false;
    cells.ForEachOdd([&](uint32_t id) {
      const bool empty = empty_there[cell++] != 0;
      digest += DigestOf(group, id, empty);
      if (empty) cells.Name(id);
      any_empty |= empty;
    });
    if (!any_empty) continue;
    for (const pinsketch::CellEntry& entry : entries) {
      if (cells.IsNamed(entry.id)) keep[entry.index] = 0;
    }
  }
  agrees = agrees && digest == their_digest;
  if (agrees) {
    range_->candidates.TakeOut(keep);
  } else {
    outcome_.differences = range_->estimate().differences();
  }
  layer_.Drop();
  outcome_.sends_symbols = !outcome_.second_layer;
  // Of a second layer, the sender of the bitmap says more in the same step.
  expected_ = outcome_.second_layer ? Expected::kNothing : Expected::kSecondLayer;
  return absl::OkStatus();
}

void SketchStep::CountLeft(double differing_cells, double unknown_share, double senders,
                           double receivers) {
  const double known_share = std::max(0.01, 1 - unknown_share);
  const double all = std::min(differing_cells / known_share, senders + receivers);
  const double senders_only = std::clamp((all + senders - receivers) / 2, 0.0, senders);
  const double common = std::min(senders - senders_only, receivers);
  const RangeEstimate before = {senders, receivers, common, 0};
  const double cells = std::ldexp(layer_.plan().groups, layer_.plan().field_bits);
  left_ = SecondEstimate(before, LeftBySketch(before, cells));
  left_.mine += unknown_share * before.theirs_only();
  left_.theirs += unknown_share * before.mine_only();
  outcome_.differences = left_.differences();
}

}  // namespace rocksieve::join
