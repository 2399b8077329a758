// Messages in frames, and frames of sides that do not keep the rules.
#include "transport/frame.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    heard.status = reader.Add(piece, [&](std::string_view message) {
      heard.messages.emplace_back(message);
      return absl::OkStatus();
    });
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
  const auto ignore = [](std::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add("", ignore)));
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add(std::string(kMostPieceBytes + 1, 'x'), ignore)));
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

TEST(Frame, StopsAtTheFirstError) {
  FrameReader reader(kMostMessageBytes);
  int calls = 0;
  const absl::Status status = reader.Add(Written({"a", "b"}), [&](std::string_view) {
    calls++;
    return absl::InternalError("enough");
  });
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace rocksieve::join
