// SPDX-License-Identifier: Apache-2.0
// Rateless reconciliation beside set operations, its overhead, and peers that lie.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "lib/sketch/rateless_iblt.h"
#include "lib/sketch/rateless_kernel.h"
#include "lib/sketch/set_sum.h"
#include "support/text.h"
#include "tests/support.h"

namespace rocksieve {

// The certificate of a range.

namespace {

std::vector<KeyHash128> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<KeyHash128> hashes(count);
  for (KeyHash128& hash : hashes) hash = {random(), random()};
  return hashes;
}

TEST(SetSum, OrderDoesNotMatterAndPartsAddUp) {
  std::vector<KeyHash128> hashes = RandomHashes(1000, 1);
  const SetSummer summer(42);
  SetSum forward, backward, first_half, second_half;
  for (const KeyHash128& hash : hashes) summer.Add(hash, &forward);
  for (size_t i = hashes.size(); i-- > 0;) summer.Add(hashes[i], &backward);
  EXPECT_EQ(forward, backward);
  for (size_t i = 0; i < hashes.size(); i++) {
    summer.Add(hashes[i], i < 500 ? &first_half : &second_half);
  }
  first_half += second_half;
  EXPECT_EQ(first_half, forward);
}

// The sum modulo 2^128, by the compiler's own arithmetic.
TEST(SetSum, CarriesBetweenTheHalves) {
  const SetSummer summer(7);
  SetSum sum;
  unsigned __int128 expected = 0;
  for (const KeyHash128& hash : RandomHashes(100, 2)) {
    const SetSum one = summer.Of(hash);
    expected += static_cast<unsigned __int128>(one.high) << 64 | one.low;
    summer.Add(hash, &sum);
    ASSERT_EQ(sum.low, static_cast<uint64_t>(expected));
    ASSERT_EQ(sum.high, static_cast<uint64_t>(expected >> 64));
  }
}

// Additive and XOR relations among hashes are gone after mixing, and one bit changes everything.
TEST(SetSum, LinearRelationsDoNotSurvive) {
  for (uint64_t salt = 0; salt < 200; salt++) {
    const SetSummer summer(salt);
    const KeyHash128 base = RandomHashes(1, salt)[0];
    for (uint64_t step : {uint64_t{1}, uint64_t{1} << 63, uint64_t{0x100000001}}) {
      for (int form = 0; form < 3; form++) {
        // a + d == b + c in both halves, as a sum (0, 1) and as an XOR (2)
        KeyHash128 b = base, c = base, d = base;
        uint64_t KeyHash128::*half = form == 0 ? &KeyHash128::low : &KeyHash128::high;
        b.*half += step;
        c.*half = form == 2 ? c.*half ^ 12345 : c.*half + 12345;
        d.*half = form == 2 ? b.*half ^ 12345 : b.*half + 12345;
        SetSum left = summer.Of(base), right = summer.Of(b);
        left += summer.Of(d);
        right += summer.Of(c);
        ASSERT_NE(left, right) << "salt " << salt << " step " << step << " form " << form;
      }
    }
  }
}

TEST(SetSum, GoldenBytes) {
  const SetSummer summer(0x0123456789abcdef);
  SetSum sum;
  summer.Add(HashKey128("apple", 1), &sum);
  summer.Add(HashKey128("pear", 1), &sum);
  std::string bytes;
  ByteWriter out(&bytes);
  sum.Write(&out);
  EXPECT_EQ(HexBytes(bytes), "020549075a011c056c07e7827ff42c677b");
  EXPECT_EQ(HashForStep({1, 2}, 3), 9452716549373661134u);
  ByteReader in(bytes);
  SetSum back;
  EXPECT_TRUE(back.Read(&in));
  EXPECT_TRUE(in.Finished());
  EXPECT_EQ(back, sum);
  for (size_t size = 0; size < bytes.size(); size++) {
    const ExactCopy cut(std::string_view(bytes).substr(0, size));
    ByteReader short_of(cut.view());
    EXPECT_FALSE(back.Read(&short_of));
  }
}

}  // namespace

namespace {

struct Sets {
  PageVector<uint64_t> remote, local;
  SetDifference truth;
};

Sets RandomSets(size_t common, size_t only_remote, size_t only_local, uint64_t seed,
                const RatelessFormat& format = {}) {
  std::mt19937_64 random(seed);
  Sets sets;
  for (size_t i = 0; i < common; i++) {
    sets.remote.push_back(random());
    sets.local.push_back(sets.remote.back());
  }
  for (size_t i = 0; i < only_remote; i++) {
    sets.remote.push_back(random());
    sets.truth.only_remote.push_back(format.IdOf(sets.remote.back()));
  }
  for (size_t i = 0; i < only_local; i++) {
    sets.local.push_back(random());
    sets.truth.only_local.push_back(format.IdOf(sets.local.back()));
  }
  std::sort(sets.truth.only_remote.begin(), sets.truth.only_remote.end());
  std::sort(sets.truth.only_local.begin(), sets.truth.only_local.end());
  return sets;
}

// Feeds symbols until done; the number of them. The first batch, and by what share they grow.
size_t Reconcile(const Sets& sets, const RatelessFormat& format, size_t first, double growth) {
  RatelessEncoder encoder(sets.remote, format);
  RatelessDecoder decoder(sets.local, format, 100000000);
  std::vector<RatelessCell> cells;
  while (!decoder.done()) {
    const size_t begin = cells.size();
    if (begin > 1000000) {
      ADD_FAILURE() << format.check_bits;
      break;
    }
    encoder.ExtendTo(begin + std::max(first, static_cast<size_t>(growth * double(begin))), &cells);
    std::string message;
    ByteWriter out(&message);
    WriteCells(cells, begin, format, &out);
    const ExactCopy copy(message);
    ByteReader in(copy.view());
    if (!decoder.Consume(&in) || !in.Finished()) {
      ADD_FAILURE() << "after " << cells.size() << ' ' << format.check_bits;
      break;
    }
  }
  const SetDifference found = decoder.Difference();
  EXPECT_TRUE(found.only_remote == sets.truth.only_remote);
  EXPECT_TRUE(found.only_local == sets.truth.only_local);
  return decoder.symbols();
}

TEST(RatelessIblt, FindsAllDifferences) {
  uint64_t seed = 1;
  for (const RatelessFormat& format :
       {RatelessFormat{}, RatelessFormat{48, 12, 4}, RatelessFormat{64, 16, 4},
        RatelessFormat{56, 3, 2}, RatelessFormat{64, 0, 4}, RatelessFormat{63, 24, 32}}) {
    for (size_t common : {0, 1, 3000}) {
      for (size_t remote : {0, 1, 7, 400}) {
        for (size_t local : {0, 1, 5, 250}) {
          Reconcile(RandomSets(common, remote, local, seed++, format), format, 1 + common % 40,
                    0.3);
        }
      }
    }
  }
}

TEST(RatelessIblt, NeedsAsManySymbolsAsStated) {
  for (size_t differences : {1, 2, 4, 6, 8, 16, 64, 256, 1024, 8192}) {
    const int rounds = differences < 64 ? 300 : differences < 1000 ? 40 : 4;
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
      const uint64_t seed = differences * 1000 + static_cast<uint64_t>(round);
      const Sets sets = RandomSets(50, differences / 2, differences - differences / 2, seed);
      sum += static_cast<double>(Reconcile(sets, {}, 1, differences < 1000 ? 0 : 0.01));
    }
    const double d = static_cast<double>(differences), mean = sum / rounds;
    RecordProperty("overhead_" + std::to_string(differences), std::to_string(mean / d));
    EXPECT_LT(mean, 1.85 * d + 1.2) << differences;
    EXPECT_NEAR(mean, ExpectedRatelessSymbols(d), 0.08 * mean + 0.2) << differences;
  }
}

TEST(RatelessIblt, MappingVectors) {
  const std::vector<std::vector<uint64_t>> expected = {
      {0, 1, 5, 9, 15, 29, 50, 63, 90, 122, 134, 169},
      {0, 1, 4, 129, 136, 212, 260, 309, 578, 10136, 12354, 13564},
      {0, 3, 4, 8, 13, 45, 163, 177, 520, 688, 4565, 6176}};
  const uint64_t ids[] = {0, 1, 0xfedcba9876543210};
  for (size_t i = 0; i < 3; i++) {
    std::vector<uint64_t> indexes;
    for (RatelessMapping mapping(ids[i]); indexes.size() < 12; mapping.Advance()) {
      indexes.push_back(mapping.index());
    }
    EXPECT_EQ(indexes, expected[i]) << ids[i];
  }
}

TEST(RatelessIblt, GoldenBytes) {
  const PageVector<uint64_t> hashes = {1, 2, 3, 0xfedcba9876543210};
  RatelessEncoder encoder(hashes, {});
  std::vector<RatelessCell> cells;
  encoder.ExtendTo(3, &cells);
  std::string bytes;
  ByteWriter out(&bytes);
  WriteCells(cells, 0, {}, &out);
  EXPECT_EQ(HexBytes(bytes),
            "00031632547698badcfec3224400000000000000c03a2905000000000000007efd02");
}

// Every kernel, whose roots need not be exact, beside the mapping itself, jump by jump.
TEST(RatelessKernels, AddWhatTheMappingSays) {
  for (const size_t symbols : {1, 2, 3, 17, 300, 4096, 70000, 1 << 20}) {
    for (const size_t count : {0, 1, 15, 16, 17, 255, 256, 257, 511, 513, 30000}) {
      if (count == 0 && symbols > 100) continue;
      const Sets sets = RandomSets(count, 0, 0, symbols + count);
      std::vector<RatelessCell> expected(symbols);
      for (const uint64_t id : sets.remote) {
        for (RatelessMapping mapping(id); mapping.index() < symbols; mapping.Advance()) {
          RatelessCell& cell = expected[mapping.index()];
          cell.ids += id;
          cell.checks += RatelessCheckOf(id);
          cell.count++;
        }
      }
      for (const Isa isa : UsableIsas()) {
        std::vector<PackedRatelessCell> cells(symbols + 1);
        RatelessKernelFor(isa)(sets.remote.data(), sets.remote.size(), symbols, cells.data());
        size_t wrong = 0;
        for (size_t i = 0; i < symbols; i++) {
          wrong += cells[i].ids != expected[i].ids ||
                   cells[i].checks_and_count >> 32 != expected[i].checks ||
                   static_cast<uint32_t>(cells[i].checks_and_count) != expected[i].count;
        }
        EXPECT_EQ(wrong, 0u) << IsaName(isa) << ", " << symbols << " symbols, " << count << " keys";
      }
    }
  }
}

TEST(RatelessIblt, RefusesWhatIsNotTheContinuation) {
  const Sets sets = RandomSets(10, 300, 0, 6);
  RatelessEncoder encoder(sets.remote, {});
  std::vector<RatelessCell> cells;
  encoder.ExtendTo(20, &cells);
  std::string message;
  ByteWriter out(&message);
  WriteCells(cells, 0, {}, &out);
  RatelessDecoder decoder(sets.local, {}, 30), small(sets.local, {}, 19);
  ByteReader in(message), again(message), third(message);
  EXPECT_TRUE(decoder.Consume(&in));
  EXPECT_FALSE(decoder.Consume(&again));
  EXPECT_FALSE(small.Consume(&third));
}

}  // namespace

}  // namespace rocksieve
