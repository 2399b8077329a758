// SPDX-License-Identifier: Apache-2.0
// The Bloom family: its kernels against slow, obvious code, and cuckoo placements.
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/bloom/filter.h"
#include "lib/bloom/kernel.h"
#include "lib/cuckoo/builder.h"
#include "lib/cuckoo/layout.h"
#include "lib/cuckoo/reader.h"

namespace rocksieve::bloom {
namespace {

// The kernels of the Bloom family against slow, obvious code.

constexpr int kProbeCounts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};

// Those of instruction sets that this machine lacks are left out.
std::vector<const Kernel*> Kernels() {
  std::vector<const Kernel*> kernels;
  for (Isa isa : UsableIsas()) kernels.push_back(&KernelFor(isa));
  return kernels;
}

int SeedOf(const uint64_t* words, int lane, uint64_t group) {
  const int both = static_cast<int>(words[7] >> (8 * lane) & 0xFF);
  return group < 4 ? both & 15 : both >> 4;
}

bool ObviousQuery(const LineArray& lines, uint64_t hash, int probes) {
  const uint8_t* line = lines.LineOf(hash);
  uint64_t words[8];
  for (int i = 0; i < 8; i++) words[i] = LoadLittleEndian64(line + 8 * i);
  const uint64_t group = Group(hash);
  bool all = true;
  ForEachProbe(hash, probes, [&](int lane, int position) {
    if (lane == 7) {
      all = all && (position < 56 || (words[7] >> position & 1) != 0);
    } else {
      const int turned = (position + SeedOf(words, lane, group) * static_cast<int>(group)) % 64;
      all = all && (words[lane] >> turned & 1) != 0;
    }
  });
  return all;
}

TEST(BloomKernel, AnswersAsTheObviousQueryOnAnyBytes) {
  std::mt19937_64 random(11);
  for (const Kernel* kernel : Kernels()) {
    for (int probes : kProbeCounts) {
      const Queries queries = kernel->queries_for(probes);
      int hits = 0;
      for (uint64_t line_count : {1, 3, 100, 3000}) {  // batches fetch the lines of the last ahead
        // Nearly full lines, so that the last probes are reached.
        std::vector<uint8_t> bytes(line_count * kLineBytes);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() | random() | random());
        const LineArray lines(bytes.data(), line_count, 0, queries);
        std::vector<uint64_t> hashes(20000);
        for (uint64_t& hash : hashes) hash = random();
        const std::unique_ptr<bool[]> answers(new bool[hashes.size()]);
        queries.many(lines, hashes.data(), hashes.size(), answers.get());
        for (size_t i = 0; i < hashes.size(); i++) {
          const bool expected = ObviousQuery(lines, hashes[i], probes);
          hits += expected;
          ASSERT_EQ(queries.one(lines, hashes[i]), expected)
              << kernel->name << ", " << probes << " probes, hash " << hashes[i];
          ASSERT_EQ(answers[i], expected)
              << kernel->name << ", " << probes << " probes, in a batch, hash " << hashes[i];
        }
      }
      EXPECT_GT(hits, 0);
    }
  }
}

// Tries all that the definition allows, in its order.
void ObviousChooseSeeds(const LineMasks& masks, int beam, uint64_t* words) {
  words[7] = 0;
  for (const auto& group : masks) words[7] |= group[7] & ~kNotProbeBits;
  for (int lane = 0; lane < kLanes; lane++) {
    auto turned = [&](int from, int seed) {
      uint64_t bits = 0;
      for (int g = from; g < from + 4; g++) bits |= std::rotl(masks[g][lane], (g * seed) % 64);
      return bits;
    };
    std::vector<std::pair<int, int>> first;  // (bits set, seed)
    for (int seed = 0; seed < kSeeds; seed++)
      first.emplace_back(std::popcount(turned(0, seed)), seed);
    std::sort(first.begin(), first.end());
    int best_bits = 65, best_first = 0, best_second = 0;
    for (int second = 0; second < kSeeds; second++) {
      for (int rank = 0; rank < beam; rank++) {
        const int seed = first[rank].second;
        const int bits = std::popcount(turned(0, seed) | turned(4, second));
        const bool better =
            bits < best_bits || (bits == best_bits && second == best_second && seed < best_first);
        if (better) best_bits = bits, best_first = seed, best_second = second;
      }
    }
    words[lane] = turned(0, best_first) | turned(4, best_second);
    words[7] |= static_cast<uint64_t>(best_first | best_second << 4) << (8 * lane);
  }
}

TEST(BloomKernel, ChoosesTheSeedsThatTheFormatDefines) {
  std::mt19937_64 random(12);
  for (const Kernel* kernel : Kernels()) {
    for (int keys = 0; keys < 200; keys++) {
      LineMasks masks;
      std::memset(masks, 0, sizeof(masks));
      std::vector<uint64_t> hashes(keys);
      for (uint64_t& hash : hashes) hash = random();
      const int probes = kProbeCounts[keys % 9];
      kernel->add_keys(hashes.data(), hashes.size(), probes, 1, 0, &masks);
      for (int effort = 0; effort < kEfforts; effort++) {
        uint64_t expected[8];
        ObviousChooseSeeds(masks, kBeams[effort], expected);
        uint8_t line[kLineBytes];
        kernel->seed_choice_for(static_cast<Effort>(effort))(masks, line);
        for (int i = 0; i < 8; i++) {
          ASSERT_EQ(LoadLittleEndian64(line + 8 * i), expected[i]) << kernel->name << " word " << i;
        }
      }
    }
  }
}

std::vector<uint8_t> BytesBuilt(const std::vector<uint64_t>& hashes, const Plan& plan,
                                const Kernel& kernel) {
  const Payload built = Build(HashList(hashes.begin(), hashes.end()), plan, 0, 0, kernel);
  return {built.data.get(), built.data.get() + built.size};
}

TEST(BloomKernel, FindsEveryKeyAtEveryProbeCountAndSize) {
  std::mt19937_64 random(13);
  for (int probes : kProbeCounts) {
    // 32 lines are a run of the builder; above 32,768 lines, runs grow, whatever the kernel does.
    for (uint64_t lines : {1, 2, 31, 32, 33, 3000, 33000}) {
      if (lines == 33000 && probes % 5 != 1) continue;
      std::vector<uint64_t> hashes(lines * 20);
      for (uint64_t& hash : hashes) hash = random();
      const std::vector<uint8_t> portable = BytesBuilt(hashes, {lines, probes}, kPortableKernel);
      for (const Kernel* kernel : Kernels()) {
        const std::vector<uint8_t> payload = BytesBuilt(hashes, {lines, probes}, *kernel);
        ASSERT_EQ(payload, portable) << kernel->name << ", " << probes << " probes";
        const Queries queries = kernel->queries_for(probes);
        const LineArray built(payload.data(), lines, 0, queries);
        for (uint64_t hash : hashes) ASSERT_TRUE(queries.one(built, hash));
      }
    }
  }
}

// The mathematics of the Bloom family.

TEST(BloomModel, TheChosenProbesAreNearTheBest) {
  for (double bits = 1; bits <= 64; bits += 0.25) {
    double best = 1;
    for (int probes : kProbeCounts) {
      best = std::min(best, FalsePositiveRateOfManyLines(probes, Effort::kUsual, 512 / bits));
    }
    const double chosen =
        FalsePositiveRateOfManyLines(ProbesFor(bits), Effort::kUsual, 512 / bits);
    EXPECT_LE(chosen, best * 1.10) << bits << " bits per key";
  }
}

}  // namespace
}  // namespace rocksieve::bloom

namespace rocksieve::cuckoo {

// The cuckoo family: placing keys into a shard, and its mathematics.

namespace {

// Placing keys into a shard, and what happens when that cannot be done.

// Every key exactly once, in one of its four slots.
void ExpectProperPlacement(const std::vector<uint64_t>& hashes, uint32_t slots,
                           const Placement& placement) {
  std::unordered_set<uint32_t> placed;
  for (uint32_t slot = 0; slot < slots; slot++) {
    const uint32_t key = placement.KeyInSlot(slot);
    if (key == Placement::kEmpty) continue;
    EXPECT_TRUE(placed.insert(key).second) << "key " << key << " twice";
    const KeyBits bits = KeyBitsOf(hashes[key]);
    const uint32_t first = WindowAt(bits.first_position, slots);
    const uint32_t second = WindowAt(bits.second_position, slots);
    EXPECT_TRUE(slot - first < 2 || slot - second < 2) << "key " << key << " in slot " << slot;
  }
  EXPECT_EQ(placed.size(), hashes.size());
}

TEST(CuckooPlacement, PutsEveryKeyIntoOneOfItsSlots) {
  std::mt19937_64 random(41);
  for (uint32_t keys : {1, 2, 3, 10, 100, 4096, 14000, 16000, 20000}) {
    int failures = 0;
    for (int round = 0; round < 20; round++) {
      std::vector<uint64_t> hashes(keys);
      for (uint64_t& hash : hashes) hash = random();
      Placement placement;
      const uint32_t slots = keys + keys / 10 + 3;  // load 0.91 and less
      if (placement.Place(hashes, slots)) {
        ExpectProperPlacement(hashes, slots, placement);
      } else {
        failures++;
      }
    }
    EXPECT_LE(failures, 4) << keys << " keys";
  }
}

TEST(CuckooPlacement, GivesUpOnWhatCannotBePlaced) {
  // Five keys with the same four slots, however many slots there are.
  const std::vector<uint64_t> same(5, 0x123456789ABCDEF);
  Placement placement;
  EXPECT_FALSE(placement.Place(same, 100));
  // More keys than slots.
  std::mt19937_64 random(42);
  std::vector<uint64_t> many(200);
  for (uint64_t& hash : many) hash = random();
  EXPECT_FALSE(placement.Place(many, 199));
}

// Finds hashes that share both windows up to ten thousand slots: the last resort must catch them.
std::vector<uint64_t> UnplaceableHashes(size_t count) {
  // The windows depend on the upper halves of two products. Differences of hashes that change only
  // the lowest bits of the first product, and happen to leave the second nearly alone, do it.
  std::vector<uint64_t> hashes;
  constexpr uint64_t kInverse = 0x02AB9C720D1024ADULL;
  const uint64_t start = uint64_t{0x5555555555555555};
  EXPECT_EQ(0x9FB21C651E98DF25ULL * kInverse, 1u);
  for (uint64_t low = 0; hashes.size() < count; low++) {
    const uint64_t hash = (start + low) * kInverse;
    const KeyBits bits = KeyBitsOf(hash);
    if (bits.second_position < (1u << 17)) hashes.push_back(hash);
  }
  return hashes;
}

TEST(CuckooBuilder, AShardThatCannotBeFilledMayContainEverything) {
  const std::vector<uint64_t> hashes = UnplaceableHashes(9);
  const Plan plan = PlanFor(hashes.size(), Budget());
  const Payload built = Build(HashList(hashes.begin(), hashes.end()), plan, 0, 16);
  FilterBlockInfo info;
  info.family = Family::kCuckoo;
  info.key_count = hashes.size();
  info.parameter = built.parameter;
  info.payload = {built.data.get(), built.size};
  Table table;
  ASSERT_TRUE(ParseTable(info, &table));
  EXPECT_EQ(table.Offset(1) - table.Offset(0), 1u);
  const auto filter = Open(info);
  std::mt19937_64 random(43);
  for (uint64_t hash : hashes) EXPECT_TRUE(filter->MayContainHash(hash));
  for (int i = 0; i < 100; i++) EXPECT_TRUE(filter->MayContainHash(random()));
  EXPECT_EQ(SaturatedFraction(table), 1);
  EXPECT_EQ(ExpectedFalsePositiveRate(info), 1);
}

// The mathematics of the cuckoo family.

// In shards as large as this, one percent below is always enough, and one percent above never.
TEST(CuckooModel, KeysCanBePlacedBelowTheThresholdOnly) {
  std::mt19937_64 random(32);
  constexpr uint32_t kSlots = 60000;
  Placement placement;
  for (double distance : {-0.01, 0.01}) {
    for (int round = 0; round < 5; round++) {
      std::vector<uint64_t> hashes(static_cast<size_t>((kLoadThreshold + distance) * kSlots));
      for (uint64_t& hash : hashes) hash = random();
      EXPECT_EQ(placement.Place(hashes, kSlots), distance < 0) << distance;
    }
  }
}

}  // namespace
}  // namespace rocksieve::cuckoo
