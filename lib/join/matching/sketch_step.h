// SPDX-License-Identifier: Apache-2.0
// A step before the ending: a side sends a sketch of its candidates, which names the cells in which
// the two sides differ, and the other one answers with an empty-cell bitmap, which lets the sender
// drop candidates too. Symbols reconcile what that leaves.
//
// The receiver sets candidates aside that stand alone in a differing cell. Where these are many, it
// sends a second layer right after its bitmap, of the rest of its candidates; then the sides change
// their parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/format/byte_io.h"
#include "lib/join/matching/matching_range.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"

namespace rocksieve::join {

// A partitioned PinSketch on its way between two sides, with the parity that is asked for beside
// it, within the limits of a range.

// The sender calls HasRoomFor() and WriteSketch(), then AnswerRequest() for each request; the
// receiver TakePlan() and ReadSketch(), then WriteRequest() and ReadParity() by turns while
// WantsMore(). Either may begin anew.
class SketchLayer {
 public:
  // `range` must outlive it.
  explicit SketchLayer(MatchingRange* range) : range_(range) {}
  uint64_t KeptBytes() const;

  // In the memory, and in a message. Takes what it needs from the account.
  bool HasRoomFor(const pinsketch::Plan& plan, size_t hashes);
  // As in partitioned_pinsketch.h, without the plan.
  void WriteSketch(const pinsketch::Plan& plan, std::span<const uint64_t> hashes, ByteWriter* out);
  // What a request asks for is appended to *answer.
  absl::Status AnswerRequest(std::string_view request, std::string* answer);

  // Of a plan that came: takes the memory for as many hashes of this side from the account. The
  // sketch is what comes next.
  absl::Status TakePlan(const pinsketch::Plan& plan, const ByteReader& in, size_t own_hashes);
  // False, with the reader failed, if it is damaged. REQUIRES: the plan was taken.
  bool ReadSketch(ByteReader* in, std::span<const uint64_t> own_hashes);
  bool WantsMore() const { return decoder_->WantsMore(); }
  void WriteRequest(ByteWriter* out) { decoder_->WriteRequest(out); }
  absl::Status ReadParity(std::string_view body);

  bool is_sender() const { return encoder_ != nullptr; }
  const pinsketch::Plan& plan() const { return plan_; }
  // Of this side. REQUIRES: the sketch was written or read.
  const pinsketch::CellTable& cells() const {
    return encoder_ != nullptr ? encoder_->cells() : decoder_->cells();
  }
  // REQUIRES: the sketch was read.
  const pinsketch::PartitionedDecoder& decoder() const { return *decoder_; }

  // Frees the sketch; the plan stays.
  void Drop();

 private:
  MatchingRange* const range_;
  pinsketch::Plan plan_;
  std::unique_ptr<pinsketch::PartitionedEncoder> encoder_;
  std::unique_ptr<pinsketch::PartitionedDecoder> decoder_;
  int parity_requests_ = 0;         // that were answered
  uint64_t more_parity_bytes_ = 0;  // that were received
};

// What symbols need to know of the sketch that came before them.
struct SketchOutcome {
  bool sends_symbols = false;  // this side does, or the other one
  bool second_layer = false;
  double differences = 0;           // that are left, about
  double their_deferred_count = 0;  // candidates that the other side set aside
};

// Calls: SendFirst() or a Receive() of a sketch; then Send() and Receive() by turns until done().
class SketchStep {
 public:
  // `range` must outlive it.
  explicit SketchStep(MatchingRange* range) : range_(range), layer_(range) {}
  uint64_t KeptBytes() const { return layer_.KeptBytes() + parity_.capacity(); }

  // ResourceExhausted if there is no room for the sketch.
  absl::Status SendFirst(int cells_log2, std::string* step);
  void Send(std::string* step);
  absl::Status Receive(Part part, std::string_view body);

  bool done() const { return expected_ == Expected::kNothing; }
  const SketchOutcome& outcome() const { return outcome_; }

 private:
  // What the next part is about, whichever side sends it.
  enum class Expected { kSketch, kEmptyCellBitmap, kParity, kSecondLayer, kNothing };

  // False, and nothing is sent, if there is no room for it.
  bool WriteSketch(double keys, double differences, int cells_log2, std::string* step);
  bool SendSecondLayer(std::string* step);
  void SendEmptyCellBitmap(std::string* step);
  absl::Status ReceiveSketch(std::string_view body);
  absl::Status ReceiveEmptyCellBitmap(std::string_view body);
  // What the sketch left, by the keys that both sides had.
  void CountLeft(double differing_cells, double unknown_share, double senders, double receivers);

  MatchingRange* const range_;
  Expected expected_ = Expected::kSketch;
  SketchLayer layer_;   // that is under way
  std::string parity_;  // asked for, to be sent
  RangeEstimate left_;  // as the receiver of the sketch sees it
  SketchOutcome outcome_;
};

}  // namespace rocksieve::join
