// SPDX-License-Identifier: Apache-2.0
// A partitioned PinSketch on its way between two sides, with the parity that is asked for beside
// it, within the limits of a range.
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

}  // namespace rocksieve::join
