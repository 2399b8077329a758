// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/frame.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostLengthBytes = 5;
constexpr char kWhat[] = "a message that arrives";

}  // namespace

void FrameWriter::Add(std::string_view message) {
  if (taken_ == bytes_.size()) {
    bytes_.clear();
    taken_ = 0;
  }
  ByteWriter(&bytes_).String(message);
}

std::string FrameWriter::TakePiece() {
  std::string piece = bytes_.substr(taken_, kMostPieceBytes);
  taken_ += piece.size();
  // What was taken is dropped at the latest when it is half of the buffer: linear in total.
  if (taken_ * 2 >= bytes_.size()) {
    bytes_.erase(0, taken_);
    taken_ = 0;
    if (bytes_.capacity() > 4 * (bytes_.size() + kMostPieceBytes)) bytes_.shrink_to_fit();
  }
  return piece;
}

// Doubles, as strings do, but to no more than what a message of known length takes.
absl::Status FrameReader::MakeRoom(size_t more_bytes) {
  const size_t had = bytes_.capacity(), needed = bytes_.size() + more_bytes;
  if (needed <= had) return absl::OkStatus();
  uint64_t wanted = std::max<uint64_t>(2 * had, needed);
  if (length_ > 0) wanted = std::min<uint64_t>(wanted, needed + length_);
  // Both while they are copied.
  RETURN_IF_ERROR(memory_.Resize(had + wanted, kWhat));
  bytes_.reserve(wanted);
  return memory_.Resize(bytes_.capacity(), kWhat);
}

absl::Status FrameReader::Add(std::string_view piece) {
  if (piece.empty() || piece.size() > kMostPieceBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the other side sent a frame with ",
                                                   piece.size(), " bytes, where 1 to ",
                                                   kMostPieceBytes, " are allowed"));
  }
  bytes_.erase(0, taken_);
  taken_ = 0;
  if (bytes_.empty() && bytes_.capacity() > 2 * kMostPieceBytes) bytes_.shrink_to_fit();
  const absl::Status status = MakeRoom(piece.size());
  if (status.ok()) bytes_ += piece;
  return status;
}

absl::StatusOr<std::optional<std::string_view>> FrameReader::Next() {
  if (length_ == 0) {
    RETURN_IF_ERROR(ReadLength());
  }
  if (length_ == 0 || bytes_.size() - taken_ < length_) return std::optional<std::string_view>();
  const std::string_view message = std::string_view(bytes_).substr(taken_, length_);
  taken_ += std::exchange(length_, 0);
  return std::optional<std::string_view>(message);
}

absl::Status FrameReader::ReadLength() {
  const size_t available = bytes_.size() - taken_;
  const size_t looked_at = std::min(available, kMostLengthBytes);
  const std::string_view head(bytes_.data() + taken_, looked_at);
  const auto last = std::find_if(head.begin(), head.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0x80) == 0;
  });
  if (last == head.end() && looked_at < kMostLengthBytes) return absl::OkStatus();  // wait for more
  ByteReader in(head);
  length_ = in.Varint();
  if (last == head.end() || !in.ok() || length_ == 0) {
    return absl::InvalidArgumentError(
        "the other side sent bytes that are no messages: is it a rocksieve of this version?");
  }
  taken_ += static_cast<size_t>(last - head.begin()) + 1;
  if (length_ > most_message_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the other side sends a message of ", length_, " bytes, where ",
                     most_message_bytes_, " are allowed: allow more, or use smaller ranges"));
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
