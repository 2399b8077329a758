// The messages of one direction as one row of bytes, cut into pieces that fit into frames.
//
// A message is preceded by its length, a varint. Small messages share a frame, large ones take
// several; a message ends where its length says, wherever frames end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace rocksieve::join {

inline constexpr size_t kMostPieceBytes = 256 << 10;

class FrameWriter {
 public:
  // REQUIRES: not empty.
  void Add(std::string_view message);
  size_t pending_bytes() const { return bytes_.size() - taken_; }
  // The next at most kMostPieceBytes of what was added; empty if nothing is left.
  std::string TakePiece();

 private:
  std::string bytes_;
  size_t taken_ = 0;
};

// Keeps no more memory than the bytes that arrived, whatever lengths the other side claims.
class FrameReader {
 public:
  explicit FrameReader(uint64_t most_message_bytes) : most_message_bytes_(most_message_bytes) {}

  // Calls `visit` for each message that the piece completes; the view is valid until it returns.
  // Stops at the first error: of `visit`, or InvalidArgument or ResourceExhausted if the other side
  // breaks the rules.
  absl::Status Add(std::string_view piece,
                   const std::function<absl::Status(std::string_view message)>& visit);

 private:
  absl::Status ReadLength();

  const uint64_t most_message_bytes_;
  std::string bytes_;
  size_t taken_ = 0;
  uint64_t length_ = 0;  // of the next message; 0 if its length is not yet complete
};

}  // namespace rocksieve::join
