// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/quality/schemes.h"

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/bloom/layout.h"
#include "lib/cuckoo/layout.h"
#include "lib/hash/key_hash.h"
#include "lib/ribbon/layout.h"
#include "lib/toolbox/bloom_options.h"
#include "lib/toolbox/cuckoo_buckets.h"

namespace rocksieve::experiments {
namespace {

using KeyHasher = uint64_t (*)(std::string_view key);

uint64_t Xxh3(std::string_view key) { return HashKey(key, /*salt=*/0); }

// The hash of many a textbook's first page: words with the same letters collide, and all values are
// small.
uint64_t SumOfBytes(std::string_view key) {
  uint64_t sum = 0;
  for (const char c : key) sum += static_cast<unsigned char>(c);
  return sum;
}

std::vector<Coordinate> Numbered(const char* name, int count, uint64_t range) {
  std::vector<Coordinate> coordinates;
  for (int i = 0; i < count; i++) coordinates.push_back({name + std::to_string(i), range});
  return coordinates;
}

// The optimum for 100,000 keys at 10 bits each; the range is no power of two.
constexpr uint64_t kBloomBits = 1'000'003;
constexpr int kBloomHashes = 7;

Scheme DynamicBloom(std::string name, KeyHasher hasher, BloomHashing hashing,
                    Expectation expectation) {
  BloomFilterOptions options;
  options.bits = kBloomBits;
  options.hashes = kBloomHashes;
  options.hashing = hashing;
  return {std::move(name), expectation, Numbered("probe", kBloomHashes, kBloomBits),
          [options, hasher](std::string_view key, uint64_t* values) {
            bloom::VisitProbes(options, hasher(key), [&values](uint64_t position) {
              *values++ = position;
              return true;
            });
          }};
}

// Double hashing whose second hash was forgotten: probe after probe, the next bit.
Scheme AdjacentProbes() {
  return {"XXH3, adjacent bits", Expectation::kFail, Numbered("probe", kBloomHashes, kBloomBits),
          [](std::string_view key, uint64_t* values) {
            const uint64_t first = MultiplyHigh64(Xxh3(key), kBloomBits);
            for (uint64_t i = 0; i < kBloomHashes; i++) values[i] = (first + i) % kBloomBits;
          }};
}

constexpr uint64_t kLines = 2'003, kShards = 251, kShardSlots = 4'271, kBuckets = 3'907;
constexpr uint64_t kBucketGroups = ribbon::kNominalGroups;

Scheme StaticBloom() {
  std::vector<Coordinate> coordinates = Numbered("probe", 16, 64);
  coordinates.push_back({"line", kLines});
  coordinates.push_back({"group", bloom::kGroups});
  return {"rocksieve.bloom", Expectation::kPass, coordinates,
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            bloom::ForEachProbe(hash, 16, [&values](int, int position) {
              *values++ = static_cast<uint64_t>(position);
            });
            *values++ = bloom::LineIndex(hash, kLines);
            *values++ = bloom::Group(hash);
          }};
}

Scheme StaticCuckoo() {
  return {"rocksieve.cuckoo",
          Expectation::kPass,
          {{"shard", kShards},
           {"first window", kShardSlots - 1},
           {"second window", kShardSlots - 1},
           {"fingerprint", 1 << 8}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const cuckoo::KeyBits bits = cuckoo::KeyBitsOf(hash);
            values[0] = cuckoo::ShardIndex(hash, kShards);
            values[1] = cuckoo::WindowAt(bits.first_position, kShardSlots);
            values[2] = cuckoo::WindowAt(bits.second_position, kShardSlots);
            values[3] = bits.fingerprint & 0xFF;
          }};
}

Scheme StaticRibbon() {
  return {"rocksieve.ribbon",
          Expectation::kPass,
          {{"bucket", kBuckets},
           {"first group", kBucketGroups},
           {"third group", 4},
           {"coefficients 0", 1 << 8},
           {"coefficients 1", 1 << 8},
           {"coefficients 2", 1 << 8},
           {"fingerprint", 1 << 8}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const ribbon::Row row(hash, kBucketGroups);
            values[0] = ribbon::BucketIndex(hash, kBuckets);
            values[1] = row.FirstGroup(kBucketGroups);
            values[2] = row.ThirdGroupDistance() - 4;
            for (int i = 0; i < 3; i++) values[3 + i] = row.Coefficients() >> (8 * i) & 0xFF;
            values[6] = ribbon::Fingerprint(hash) & 0xFF;
          }};
}

// Partial keys: the second bucket follows from the first one and the fingerprint, of which there
// are only 255.
Scheme PartialKeys() {
  return {"cuckoo, 8-bit partial keys",
          Expectation::kPartial,
          {{"first bucket", kBuckets}, {"second bucket", kBuckets}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const uint64_t stored = cuckoo::StoredFingerprint(hash, 8);
            values[0] = MultiplyHigh64(hash, kBuckets);
            values[1] = AlternateCuckooBucket(values[0], static_cast<uint32_t>(stored), kBuckets);
          }};
}

}  // namespace

std::vector<Scheme> Schemes() {
  using enum Expectation;
  return {DynamicBloom("XXH3, double hashing", Xxh3, BloomHashing::kDouble, kPass),
          DynamicBloom("XXH3, enhanced double", Xxh3, BloomHashing::kEnhancedDouble, kPass),
          DynamicBloom("XXH3, independent", Xxh3, BloomHashing::kIndependent, kPass),
          StaticBloom(),
          StaticCuckoo(),
          StaticRibbon(),
          PartialKeys(),
          AdjacentProbes(),
          DynamicBloom("sum of bytes, double", SumOfBytes, BloomHashing::kDouble, kFail)};
}

}  // namespace rocksieve::experiments
