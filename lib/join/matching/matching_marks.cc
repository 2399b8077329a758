// Marks: what the receiver of a sketch tells the sender of it, and both do with their candidates.
#include <algorithm>
#include <iterator>
#include <span>

#include "lib/format/bit_coder.h"
#include "lib/format/byte_io.h"
#include "lib/join/matching/matching.h"

namespace rocksieve::join {
namespace {

// Of an odd cell of the receiver of the marks, and of what they say of it.
uint64_t DigestOf(uint32_t group, uint32_t id, bool empty) {
  return Mix64(Mix64(uint64_t{group} << 32 | id) + (empty ? 1 : 0));
}

}  // namespace

// Either a request for more parity, as in partitioned_pinsketch.h, or marks:
//   varint candidates of the sender of the marks | varint differing cells | flags, one per 64
//   groups: known | u64 digest of the receiver's odd cells, as the sender believes them to be, and
//   of the flags that follow | flags, one for each of these cells: the sender has no key there
// And right after them a second layer, or, after that, what the symbols are about.
absl::Status Matching::SendMarks(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  if (sketch_decoder_->WantsMore()) {
    sketch_decoder_->WriteRequest(&out);
    Append(Part::kMoreParity, body, turn);
    expected_ = Expected::kParity;
    return absl::OkStatus();
  }
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<uint8_t> empty_here, keep(candidates_.size(), 1);
  std::vector<uint32_t> odd_here, odd_there;
  uint64_t digest = 0, differing_cells = 0, unknown_groups = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (!sketch_decoder_->IsKnown(group)) {
      unknown_groups++;
      continue;
    }
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
      const auto [begin, end] = in_cell(id);
      empty_here.push_back(begin == end);
      digest += DigestOf(group, id, begin == end);
    }
    for (uint32_t id : differing) {
      const auto [begin, end] = in_cell(id);
      if (end - begin == 1) keep[begin->index] = 0;
    }
  }
  out.Varint(candidates_.size());
  out.Varint(differing_cells);
  EncodeFlags(sketch_decoder_->known_blocks(), &out);
  out.U64(digest);
  EncodeFlags(empty_here, &out);
  Append(Part::kMarks, body, turn);
  CountLeft(static_cast<double>(differing_cells),
            static_cast<double>(unknown_groups) / sketch_plan_.groups, their_count_,
            static_cast<double>(candidates_.size()));
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] == 0) doubtful_.push_back(candidates_[i]);
  }
  Keep(keep);
  sketch_decoder_.reset();
  expected_ = Expected::kSymbols;
  if (layer_ == 1) {
    SendSecondLayer(turn);
    return absl::OkStatus();
  }
  SendDoubtful(turn);
  return SendSymbols(static_cast<size_t>(SymbolsForRest(left_by_sketch_.differences())), turn);
}

absl::Status Matching::ReceiveMarks(std::string_view body) {
  ByteReader in(body);
  their_count_ = static_cast<double>(ReadTheirCandidates(&in));
  const uint64_t differing_cells = in.Varint(UINT32_MAX);
  std::vector<uint8_t> known, empty_there;
  if (!DecodeFlags(&in, sketch_plan_.Checks(), &known)) return Nonsense("damaged marks");
  const uint64_t their_digest = in.U64();
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<pinsketch::Cell> odd_cells;
  std::vector<uint32_t> ids;
  uint64_t unknown_groups = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (known[group / pinsketch::kGroupsPerCheck] == 0) {
      unknown_groups++;
      continue;
    }
    mine.OddCells(group, &ids);
    for (uint32_t id : ids) odd_cells.push_back({group, id});
  }
  CountLeft(static_cast<double>(differing_cells),
            static_cast<double>(unknown_groups) / sketch_plan_.groups,
            static_cast<double>(candidates_.size()), their_count_);
  // What the other side made of the sketch may be wrong, hardly ever. Then nothing follows from it,
  // and symbols settle everything.
  uint64_t digest = 0;
  bool agrees = DecodeFlags(&in, odd_cells.size(), &empty_there) && in.Finished();
  for (size_t i = 0; agrees && i < odd_cells.size(); i++) {
    digest += DigestOf(odd_cells[i].group, odd_cells[i].id, empty_there[i] != 0);
  }
  agrees = agrees && digest == their_digest;
  if (agrees) {
    std::vector<uint8_t> keep(candidates_.size(), 1);
    for (size_t i = 0; i < odd_cells.size(); i++) {
      if (empty_there[i] == 0) continue;
      for (const pinsketch::CellEntry& entry : mine.Group(odd_cells[i].group)) {
        if (entry.id == odd_cells[i].id) keep[entry.index] = 0;
      }
    }
    Keep(keep);
  } else {
    left_by_sketch_ = standing();
  }
  sketch_encoder_.reset();
  // Of a second layer, the sender of the marks says more in the same turn.
  expected_ = layer_ == 1 ? Expected::kSymbols : Expected::kDoubtful;
  turn_goes_on_ = layer_ == 2;
  return absl::OkStatus();
}

//   what was set aside because of the second layer, as in hash_list.h
void Matching::SendDoubtful(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  const double may_be_asked_for = their_doubtful_count_ + left_by_sketch_.differences() + 1;
  WriteHashList(doubtful_, ListBitsFor(10 * may_be_asked_for) + MoreHashBits(), PartSalt(), &out,
                &order_);
  Append(Part::kDoubtful, body, turn);
}

absl::Status Matching::ReceiveDoubtful(std::string_view body) {
  const absl::Status room = Hold(StepBytes() + HashListMemoryBytes(body));
  if (!room.ok()) return room;
  ByteReader in(body);
  if (!ReadHashList(&in, options_.most_list_entries, PartSalt(), &their_doubtful_) ||
      !in.Finished()) {
    return Nonsense("a damaged list of doubtful keys");
  }
  expected_ = Expected::kSymbols;
  turn_goes_on_ = true;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
