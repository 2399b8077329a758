// SPDX-License-Identifier: Apache-2.0
// Rateless reconciliation beside set operations, its overhead, and peers that lie.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

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

TEST(SetSum, OrderDoesNotMatterAndKeysCanBeTakenOut) {
  std::vector<KeyHash128> hashes = RandomHashes(1000, 1);
  const SetSummer summer(42);
  SetSum forward, backward, first_half, second_half;
  for (const KeyHash128& hash : hashes) summer.Add(hash, &forward);
  for (size_t i = hashes.size(); i-- > 0;) summer.Add(hashes[i], &backward);
  EXPECT_EQ(forward, backward);
  for (size_t i = 0; i < hashes.size(); i++) {
    summer.Add(hashes[i], i < 500 ? &first_half : &second_half);
  }
  SetSum both = first_half;
  both += second_half;
  EXPECT_EQ(both, forward);
  both -= second_half;
  EXPECT_EQ(both, first_half);
  for (const KeyHash128& hash : hashes) summer.Remove(hash, &forward);
  EXPECT_EQ(forward, SetSum());
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

TEST(SetSum, EveryInputBitChangesHalfOfTheSum) {
  const SetSummer summer(99);
  for (int bit = 0; bit < 128; bit++) {
    int changed = 0;
    for (KeyHash128 hash : RandomHashes(64, 3)) {
      const SetSum before = summer.Of(hash);
      (bit < 64 ? hash.low : hash.high) ^= uint64_t{1} << (bit % 64);
      const SetSum after = summer.Of(hash);
      changed += __builtin_popcountll(before.low ^ after.low) +
                 __builtin_popcountll(before.high ^ after.high);
    }
    EXPECT_NEAR(changed, 64 * 64, 400) << "bit " << bit;
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

TEST(HashForStep, DependsOnEveryBitAndOnTheSalt) {
  EXPECT_EQ(HashForStep({1, 2}, 3), 9452716549373661134u);
  std::set<uint64_t> seen;
  size_t made = 0;
  for (uint64_t salt = 0; salt < 20; salt++) {
    for (const KeyHash128& hash : RandomHashes(50, 4)) {
      for (int bit = 0; bit < 128; bit++, made++) {
        KeyHash128 other = hash;
        (bit < 64 ? other.low : other.high) ^= uint64_t{1} << (bit % 64);
        seen.insert(HashForStep(other, salt));
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
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

// The index mapping has the probabilities that it states, in words and in numbers.
TEST(RatelessIblt, SymbolsHaveTheirShareOfKeys) {
  constexpr int kKeys = 100000;
  constexpr size_t kSymbols = 300;
  std::vector<double> hits(kSymbols), both(kSymbols);
  std::mt19937_64 random(21);
  for (int key = 0; key < kKeys; key++) {
    RatelessMapping mapping(random());
    uint64_t previous = kSymbols;
    for (; mapping.index() < kSymbols; mapping.Advance()) {
      hits[mapping.index()]++;
      both[mapping.index()] += previous + 1 == mapping.index();
      previous = mapping.index();
    }
  }
  for (size_t i = 0; i < kSymbols; i++) {
    const double share = 1 / (1 + static_cast<double>(i) / 2);
    EXPECT_NEAR(hits[i], kKeys * share, 5 * std::sqrt(kKeys * share)) << i;
    if (i == 0) continue;
    const double pair = share / (1 + static_cast<double>(i - 1) / 2);  // independent of i - 1
    EXPECT_NEAR(both[i], kKeys * pair, 5 * std::sqrt(kKeys * pair)) << i;
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

TEST(RatelessIblt, PiecesAreTheSameAsTheWhole) {
  const Sets sets = RandomSets(500, 0, 0, 5);
  RatelessEncoder whole(sets.remote, {}), pieces(sets.remote, {});
  std::vector<RatelessCell> a, b;
  whole.ExtendTo(300, &a);
  for (size_t m : {1, 2, 3, 50, 50, 20, 299, 300}) pieces.ExtendTo(m, &b);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) {
    EXPECT_EQ(a[i].ids, b[i].ids);
    EXPECT_EQ(a[i].checks, b[i].checks);
    EXPECT_EQ(a[i].count, b[i].count);
  }
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
        const RatelessKernel& kernel = RatelessKernelFor(isa);
        std::vector<PackedRatelessCell> cells(symbols + 1);
        kernel.add_keys(sets.remote.data(), sets.remote.size(), symbols, cells.data());
        size_t wrong = 0;
        for (size_t i = 0; i < symbols; i++) {
          wrong += cells[i].ids != expected[i].ids ||
                   cells[i].checks_and_count >> 32 != expected[i].checks ||
                   static_cast<uint32_t>(cells[i].checks_and_count) != expected[i].count;
        }
        EXPECT_EQ(wrong, 0u) << kernel.name << ", " << symbols << " symbols, " << count << " keys";
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

// Flipped bits and random cells: an end, no wrong access, and no more keys than symbols allow.
TEST(RatelessIblt, DamagedAndRandomBytes) {
  std::mt19937_64 random(23);
  const RatelessFormat format{64, 2, 2};
  for (int round = 0; round < 600; round++) {
    const Sets sets = RandomSets(20, 10, 10, random());
    RatelessEncoder encoder(sets.remote, format);
    std::vector<RatelessCell> cells;
    encoder.ExtendTo(60, &cells);
    std::string message;
    ByteWriter out(&message);
    WriteCells(cells, 0, format, &out);
    const size_t keep = random() % message.size();
    if (round % 3 == 0) message.resize(keep);
    for (size_t i = round % 2 ? 0 : keep; i < message.size(); i++) {
      message[i] = static_cast<char>(round % 5 ? random() : 0);
    }
    const ExactCopy copy(message);
    ByteReader in(copy.view());
    RatelessDecoder decoder(sets.local, format, 1000);
    decoder.Consume(&in);
    EXPECT_LE(decoder.symbols(), 1000u);
  }
}

}  // namespace

}  // namespace rocksieve
