// Messages in frames, and frames of sides that do not keep the rules.
#include "lib/transport/frame.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/join/memory_account.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kMostMessageBytes = 1 << 20;

std::string Written(const std::vector<std::string>& messages) {
  FrameWriter writer;
  std::string bytes;
  for (const std::string& message : messages) writer.Add(message);
  while (writer.pending_bytes() > 0) {
    const std::string piece = writer.TakePiece();
    EXPECT_LE(piece.size(), kMostPieceBytes);
    EXPECT_FALSE(piece.empty());
    bytes += piece;
  }
  return bytes;
}

struct Heard {
  absl::Status status;
  std::vector<std::string> messages;
};

Heard Hear(const std::string& bytes, const std::function<size_t()>& piece_bytes) {
  FrameReader reader(kMostMessageBytes);
  Heard heard;
  for (size_t at = 0; at < bytes.size() && heard.status.ok();) {
    const std::string piece = bytes.substr(at, piece_bytes());
    at += piece.size();
    heard.status = reader.Add(piece);
    while (heard.status.ok()) {
      const absl::StatusOr<std::optional<std::string_view>> message = reader.Next();
      heard.status = message.status();
      if (!message.ok() || !message->has_value()) break;
      heard.messages.emplace_back(**message);
    }
  }
  return heard;
}

TEST(Frame, MessagesArriveWhereverFramesEnd) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  std::mt19937 random(seed);
  for (const size_t longest : {1, 127, 128, 16384, 700000}) {
    std::vector<std::string> messages;
    for (int i = 0; i < 20; i++) {
      messages.emplace_back(1 + random() % longest, static_cast<char>('a' + i));
    }
    const std::string bytes = Written(messages);
    const Heard heard =
        Hear(bytes, [&] { return 1 + random() % std::min(longest + 3, kMostPieceBytes); });
    ASSERT_TRUE(heard.status.ok()) << heard.status << " seed " << seed;
    EXPECT_EQ(heard.messages, messages) << "seed " << seed;
  }
}

TEST(Frame, RefusesEmptyAndOversizedPieces) {
  FrameReader reader(kMostMessageBytes);
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add("")));
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add(std::string(kMostPieceBytes + 1, 'x'))));
}

TEST(Frame, RefusesMessagesOverTheLimitBeforeTheyArrive) {
  const std::string bytes = Written({std::string(kMostMessageBytes + 1, 'x')});
  const Heard heard = Hear(bytes.substr(0, 5), [] { return 5; });
  EXPECT_TRUE(absl::IsResourceExhausted(heard.status)) << heard.status;
  EXPECT_TRUE(
      Hear(Written({std::string(kMostMessageBytes, 'x')}), [] { return 9999; }).status.ok());
}

TEST(Frame, RefusesLengthsThatAreNone) {
  for (const std::string& bad : {std::string("\0x", 2), std::string("\xff\xff\xff\xff\xff\xff"),
                                 std::string("\x80\x00x", 3)}) {
    for (const size_t piece : {1, 6}) {
      const Heard heard = Hear(bad, [piece] { return piece; });
      EXPECT_TRUE(absl::IsInvalidArgument(heard.status)) << heard.status;
      EXPECT_TRUE(heard.messages.empty());
    }
  }
}

TEST(Frame, KeepsWhatArrivesInTheAccountOfItsMemory) {
  const std::string message(kMostMessageBytes, 'x');
  const std::string bytes = Written({message});
  for (const uint64_t limit : {2 * message.size() + kMostPieceBytes, message.size() / 4}) {
    MemoryAccount memory(limit);
    {
      FrameReader reader(kMostMessageBytes, &memory);
      absl::Status status;
      for (size_t at = 0; at < bytes.size() && status.ok(); at += kMostPieceBytes) {
        status = reader.Add(std::string_view(bytes).substr(at, kMostPieceBytes));
        if (status.ok()) status = reader.Next().status();
      }
      EXPECT_EQ(status.ok(), limit > message.size()) << status;
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    }
    EXPECT_EQ(memory.used_bytes(), 0);
  }
}

}  // namespace
}  // namespace rocksieve::join
