// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/sketch_layer.h"

#include <algorithm>

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
  const absl::Status room =
      range_->HoldForWork(KeptBytes() + sizeof(uint32_t) * 3 * RequestedSymbols(request));
  if (!room.ok()) return room;
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
  const absl::Status room = range_->HoldForWork(KeptBytes());
  if (!room.ok()) return room;
  ByteReader in(body);
  if (!decoder_->ReadMore(&in) || !in.Finished()) return Nonsense("damaged parity");
  return absl::OkStatus();
}

}  // namespace rocksieve::join
