#include "transport/frame.h"

#include <algorithm>

#include <absl/strings/str_cat.h>

#include "format/byte_io.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostLengthBytes = 5;

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

absl::Status FrameReader::Add(std::string_view piece,
                              const std::function<absl::Status(std::string_view)>& visit) {
  if (piece.empty() || piece.size() > kMostPieceBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the other side sent a frame with ",
                                                   piece.size(), " bytes, where 1 to ",
                                                   kMostPieceBytes, " are allowed"));
  }
  bytes_ += piece;
  for (;;) {
    if (length_ == 0) {
      const absl::Status status = ReadLength();
      if (!status.ok()) return status;
    }
    if (length_ == 0 || bytes_.size() - taken_ < length_) break;
    const absl::Status status = visit(std::string_view(bytes_).substr(taken_, length_));
    if (!status.ok()) return status;
    taken_ += length_;
    length_ = 0;
  }
  bytes_.erase(0, taken_);
  taken_ = 0;
  if (bytes_.empty() && bytes_.capacity() > 2 * kMostPieceBytes) bytes_.shrink_to_fit();
  return absl::OkStatus();
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
