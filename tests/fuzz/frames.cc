// SPDX-License-Identifier: Apache-2.0
// The frames of the transport: one direction's messages as a row of bytes, in pieces.
//
// Oracle: cut otherwise, the bytes are the same messages or the same error; what a writer makes of
// the messages is read as these.
#include "lib/transport/frame.h"

#include <optional>
#include <vector>

#include "tests/fuzz/target.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostMessageBytes = 1000;

struct Frames {
  std::vector<std::string> messages;
  absl::Status status;
};

Frames ReadAll(std::string_view bytes, size_t piece_bytes) {
  Frames read;
  FrameReader reader(kMostMessageBytes);
  for (size_t at = 0; at < bytes.size() && read.status.ok(); at += piece_bytes) {
    const fuzz::ExactCopy piece(bytes.substr(at, piece_bytes));
    read.status = reader.Add(piece.view());
    while (read.status.ok()) {
      const absl::StatusOr<std::optional<std::string_view>> message = reader.Next();
      read.status = message.status();
      if (!message.ok() || !message->has_value()) break;
      FUZZ_CHECK(!(*message)->empty() && (*message)->size() <= kMostMessageBytes);
      read.messages.emplace_back(**message);
    }
  }
  return read;
}

}  // namespace
}  // namespace rocksieve::join

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(data, size);
  const size_t piece_bytes = 1 + choices.UpTo(255);
  const std::string_view bytes = choices.Rest();
  const Frames whole = ReadAll(bytes, bytes.size() + 1), cut = ReadAll(bytes, piece_bytes);
  FUZZ_CHECK(whole.messages == cut.messages);
  FUZZ_CHECK(whole.status.code() == cut.status.code());
  FrameWriter writer;
  for (const std::string& message : whole.messages) writer.Add(message);
  std::string written;
  while (writer.pending_bytes() > 0) written += writer.TakePiece();
  FUZZ_CHECK(writer.TakePiece().empty());
  const Frames again = ReadAll(written, piece_bytes);
  FUZZ_CHECK(again.status.ok() && again.messages == whole.messages);
  return 0;
}
