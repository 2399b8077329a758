// The IBLT of fixed size: right answers, as seldom none as stated, and hostile cells.
#include "lib/sketch/iblt.h"

#include <random>

#include <gtest/gtest.h>

#include "support/printable.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

constexpr uint64_t kIdMask = (uint64_t{1} << 48) - 1;

struct Sides {
  std::vector<uint64_t> remote, local;
  SetDifference truth;
};

Sides RandomSides(size_t common, size_t only_remote, size_t only_local, std::mt19937_64* random) {
  Sides sides;
  for (size_t i = 0; i < common; i++) sides.remote.push_back((*random)());
  sides.local = sides.remote;
  for (size_t i = 0; i < only_remote; i++) {
    sides.remote.push_back((*random)());
    sides.truth.only_remote.push_back(sides.remote.back() & kIdMask);
  }
  for (size_t i = 0; i < only_local; i++) {
    sides.local.push_back((*random)());
    sides.truth.only_local.push_back(sides.local.back() & kIdMask);
  }
  std::sort(sides.truth.only_remote.begin(), sides.truth.only_remote.end());
  std::sort(sides.truth.only_local.begin(), sides.truth.only_local.end());
  return sides;
}

// True if it was decoded, and then rightly.
bool Reconcile(const Sides& sides, uint32_t cells) {
  std::string message;
  ByteWriter out(&message);
  Iblt(cells, sides.remote).Write(&out);
  EXPECT_EQ(message.size(), 8 * cells);
  const ExactCopy copy(message);
  ByteReader in(copy.view());
  SetDifference found;
  const Iblt::Result result = Iblt(cells, sides.local).Decode(&in, &found);
  EXPECT_TRUE(in.Finished());
  if (result != Iblt::Result::kDecoded) return false;
  EXPECT_TRUE(found.only_remote == sides.truth.only_remote);
  EXPECT_TRUE(found.only_local == sides.truth.only_local);
  return true;
}

TEST(Iblt, FailsAsSeldomAsStated) {
  std::mt19937_64 random(1);
  for (double expected : {0.0, 0.5, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0, 2000.0}) {
    const int rounds = expected > 1000 ? 100 : 1000;
    int failures = 0;
    std::poisson_distribution<size_t> number(expected == 0 ? 1e-9 : expected);
    for (int round = 0; round < rounds; round++) {
      const size_t differences = number(random), remote = differences / 3;
      failures +=
          !Reconcile(RandomSides(20, remote, differences - remote, &random), IbltCells(expected));
    }
    RecordProperty("failures_" + std::to_string(static_cast<int>(expected)), failures);
    EXPECT_LE(failures, rounds / 60 + 1) << expected;
  }
}

TEST(Iblt, FarTooManyDifferencesAreNoticed) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; round++) {
    EXPECT_FALSE(Reconcile(RandomSides(0, 500, 500, &random), 300));
  }
}

TEST(Iblt, GoldenBytes) {
  std::string bytes;
  ByteWriter out(&bytes);
  Iblt(4, std::vector<uint64_t>{1, 0x123456789abcdef0}).Write(&out);
  EXPECT_EQ(HexBytes(bytes), "f1debc9a78561c27f1debc9a78561c27f1debc9a78561c27f1debc9a78561c27");
}

TEST(Iblt, DamagedAndRandomBytes) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; round++) {
    const Sides sides = RandomSides(5, 4, 4, &random);
    std::string message;
    ByteWriter out(&message);
    Iblt(32, sides.remote).Write(&out);
    for (int i = 0; i <= round % 40; i++)
      message[random() % message.size()] = static_cast<char>(random());
    if (round % 9 == 0) message.resize(random() % message.size());
    const ExactCopy copy(message);
    ByteReader in(copy.view());
    SetDifference found;
    const Iblt::Result result = Iblt(32, sides.local).Decode(&in, &found);
    EXPECT_EQ(result == Iblt::Result::kDamaged, message.size() < 256);
    EXPECT_LE(found.only_remote.size() + found.only_local.size(), 64u);
  }
}

}  // namespace
}  // namespace rocksieve
