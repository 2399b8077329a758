// SPDX-License-Identifier: Apache-2.0
// Set reconciliation near the bound: D differences among sets of any size in D k (1.09 .. 1.21)
// bits one way, where k bits name one cell of a group. The layer 1 (and 2) of the join.
//
// DESCRIPTION. The hashes of both sides fall into groups of cells (positions.h), expected to hold 5 to
// 20 of the D differing cells each. The sender's message has, per group, the sums of the odd powers
// of its cells' ids (algebra.h): the first raw_levels of them as they are, higher ones only as
// parity symbols across all groups (parity.h), for few groups need them; and per 64 groups a check.
// The receiver subtracts its own sums, decodes groups one after another, turns what it knows into
// equations for the higher sums of those that it cannot decode yet, and goes up level by level.
//
//   sender                                    receiver
//   plan = MakePlan(...)                      plan.Read(...)
//   PartitionedEncoder e(plan, hashes)        PartitionedDecoder d(plan, hashes)
//   plan.Write(), e.WriteSketch()   ----->    d.ReadSketch()
//                                   <-----    while (d.WantsMore()) d.WriteRequest()
//   e.AnswerRequest()               ----->    d.ReadMore()
//                                             d.IsKnown(group), d.DifferingCells(group)
//
// A difference count that was estimated too low costs another round of parity symbols, but hardly a
// byte more than the right estimate would have cost in the first place. Two differences in one cell
// (a chance of 1 / cells per pair) cancel out unseen; a group whose sums decode to a wrong set
// (kWrongDecodings of plan.cc) fails its check, which makes 64 groups unknown, or all that were
// still open. Cost: 2 ns per key and level while the field's tables fit a cache,
// and 0.5 us per difference at the receiver. 8 bytes per key.
//
// Bytes of sketches, requests and answers: docs/formats/sketches.md.
//
// Sources: groups of cells whose parities are a BCH code's word: L. Gong et al., "Space- and
// computationally-efficient set reconciliation via parity bitmap sketch (PBS)", VLDB 2020; sums at
// several levels, the higher ones coded across the groups: see parity.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/memory/page_pool.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/decoder.h"
#include "lib/sketch/pinsketch/parity.h"
#include "lib/sketch/pinsketch/positions.h"
#include "lib/sketch/pinsketch/sums.h"

namespace rocksieve::pinsketch {

class PartitionedEncoder {
 public:
  PartitionedEncoder(const Plan& plan, std::span<const uint64_t> hashes);

  void WriteSketch(ByteWriter* out);
  // Reads a request, and appends the answer. False, with the reader failed and nothing written, for
  // a request that is damaged or asks for more than most_symbols.
  bool AnswerRequest(ByteReader* request, uint64_t most_symbols, ByteWriter* out);
  const CellTable& cells() const { return cells_; }

  // Memory that one takes, about, with what writing needs.
  static uint64_t MemoryFor(const Plan& plan, size_t hashes) {
    return GroupSums::MemoryFor(plan, hashes) + plan.SketchBytes() +
           2 * sizeof(uint32_t) * uint64_t{plan.groups};
  }

 private:
  const Plan plan_;
  const CellTable cells_;
  const GroupSums sums_;
  std::vector<std::vector<uint32_t>> batches_;  // [level]: sizes, from batch 0 on
};

class PartitionedDecoder {
 public:
  // The plan may come from a peer: see Plan::Read.
  PartitionedDecoder(const Plan& plan, std::span<const uint64_t> own_hashes);

  // False, with the reader failed, if the message is too short. Call it once, first.
  bool ReadSketch(ByteReader* in);

  // Some groups are not decoded, and more parity symbols would help. Not after a contradiction, nor
  // after kMostRequests.
  bool WantsMore() const;
  // REQUIRES: WantsMore().
  void WriteRequest(ByteWriter* out);
  // The answer to the last request. False, with the reader failed, if it is too short.
  bool ReadMore(ByteReader* in);
  static constexpr int kMostRequests = 6;

  // The result, at any time after ReadSketch.
  bool IsKnown(uint32_t group) const { return known_[group / kGroupsPerCheck] != 0; }
  // Known or not, for each 64 groups: what the other side must be told.
  const std::vector<uint8_t>& known_blocks() const { return known_; }
  // The ids of the cells that are odd on one side and not on the other, ascending.
  // REQUIRES: IsKnown(group).
  std::span<const uint32_t> DifferingCells(uint32_t group) const {
    return std::span(differing_).subspan(found_[group].begin, found_[group].count);
  }
  // Of this side.
  const CellTable& cells() const { return cells_; }
  // Memory that one takes at most, about, apart from what ReadMore() brings: 12 times its bytes.
  static uint64_t MemoryFor(const Plan& plan, size_t own_hashes) {
    return GroupSums::MemoryFor(plan, own_hashes) + plan.MemoryBytes();
  }

 private:
  struct Found {
    uint32_t begin = 0, count = 0;  // in differing_
  };

  bool Decode(uint32_t group);
  void Climb();
  bool SolveNextLevel();
  void Check();

  const Plan plan_;
  const CellTable cells_;
  const GroupSums own_;
  const Field& field_;
  Decoder decoder_;
  PageVector<uint32_t> differing_;  // of decoded groups, in the order in which they were decoded
  std::vector<Found> found_;        // by group
  std::vector<uint8_t> known_;
  std::vector<uint8_t> decoded_;  // by group
  std::vector<uint32_t> remote_checks_;
  std::vector<uint32_t> pending_;   // groups that are not decoded, ascending
  PageVector<uint32_t> registers_;  // saved, of their sums below next_level_
  ShiftRegister sums_;              // of the group in work
  std::vector<uint32_t> ids_;
  std::vector<std::vector<ParityBatch>> batches_;  // by level, as they came
  int next_level_;
  std::vector<std::pair<int, uint32_t>> requested_;
  int requests_ = 0;
  // A wrong decoding was noticed: some groups stay unknown, however many symbols come.
  bool contradiction_ = false;
};

}  // namespace rocksieve::pinsketch
