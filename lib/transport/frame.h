// SPDX-License-Identifier: Apache-2.0
// The messages of one direction as one row of bytes, cut into pieces that fit into frames.
//
// A message is preceded by its length, a varint. Small messages share a frame, large ones take
// several; a message ends where its length says, wherever frames end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/memory_account.h"

namespace rocksieve::join {

inline constexpr size_t kMostPieceBytes = 256 << 10;

class FrameWriter {
 public:
  // REQUIRES: not empty.
  void Add(std::string_view message);
  size_t pending_bytes() const { return bytes_.size() - taken_; }
  size_t memory_bytes() const { return bytes_.capacity(); }
  // The next at most kMostPieceBytes of what was added; empty if nothing is left.
  std::string TakePiece();

 private:
  std::string bytes_;
  size_t taken_ = 0;
};

// Pieces in, messages out: (Add Next*)*. Errors are InvalidArgument or ResourceExhausted: the other
// side breaks the rules, and the reader is of no more use.
class FrameReader {
 public:
  // Keeps no more memory than about twice the bytes that arrived, whatever lengths the other side
  // claims; takes it from `memory`, unless that is null.
  explicit FrameReader(uint64_t most_message_bytes, MemoryAccount* memory = nullptr)
      : most_message_bytes_(most_message_bytes), memory_(memory) {}

  absl::Status Add(std::string_view piece);

  // The next message of what was added, valid until the next call of either; nothing if none is
  // complete.
  absl::StatusOr<std::optional<std::string_view>> Next();

 private:
  absl::Status MakeRoom(size_t more_bytes);
  absl::Status ReadLength();

  const uint64_t most_message_bytes_;
  MemoryHold memory_;
  std::string bytes_;
  size_t taken_ = 0;
  uint64_t length_ = 0;  // of the next message; 0 if its length is not yet complete
};

}  // namespace rocksieve::join
