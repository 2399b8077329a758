// SPDX-License-Identifier: Apache-2.0
// The envelope, and all types as bytes but those whose tests have them: beside the golden ones, and
// damaged in every way.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>
#include <rocksieve/estimate/count_min_sketch.h>
#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>
#include <rocksieve/estimate/lsh_index.h>
#include <rocksieve/estimate/min_hash.h>
#include <rocksieve/estimate/top_k.h>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/envelope.h"
#include "support/text.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

TEST(Envelope, SaysWhatIsWrong) {
  const std::string envelope = WriteEnvelope(EnvelopeType::kBloom, "payload");
  std::string error = "untouched";
  EXPECT_EQ(PayloadReader(envelope, EnvelopeType::kBloom, &error).Rest(), "payload");
  EXPECT_EQ(error, "untouched");
  const auto error_of = [](std::string bytes) {
    std::string text;
    EXPECT_FALSE(PayloadReader(bytes, EnvelopeType::kBloom, &text).ok());
    EXPECT_FALSE(PayloadReader(bytes, EnvelopeType::kBloom, nullptr).ok());
    return text;
  };
  EXPECT_THAT(error_of(""), HasSubstr("cut off"));
  EXPECT_THAT(error_of(envelope.substr(0, 3)), HasSubstr("cut off"));
  EXPECT_THAT(error_of(envelope.substr(0, envelope.size() - 1)), HasSubstr("cut off"));
  EXPECT_THAT(error_of(envelope + "x"), HasSubstr("1 bytes too many"));
  EXPECT_THAT(error_of("x" + envelope), HasSubstr("does not begin with \"RSTB\""));
  EXPECT_THAT(error_of(WriteEnvelope(EnvelopeType::kTopK, "payload")),
              HasSubstr("this is a top-k summary, not a Bloom filter"));
  EXPECT_THAT(error_of(WriteEnvelope(static_cast<EnvelopeType>(99), "")),
              HasSubstr("unknown type 99"));
  std::string other = envelope;
  other[4] = 2;
  EXPECT_THAT(error_of(other), HasSubstr("unknown version 2"));
  other = envelope;
  other[15] ^= 1;
  EXPECT_THAT(error_of(other), HasSubstr("damaged"));
  other = envelope;
  other.replace(6, 8, std::string(8, '\xff'));
  EXPECT_THAT(error_of(other), HasSubstr("cut off"));
}

// Golden, and what is read from the bytes knows the keys.
template <typename T>
void ExpectGoldenWithKeys(const std::string& name, const T& made) {
  ExpectGolden(name, made);
  const std::optional<T> read = T::Deserialize(GoldenBytes(name), nullptr);
  ASSERT_TRUE(read) << name;
  for (int i = 0; i < 40; i++) EXPECT_TRUE(read->MayContain("key" + std::to_string(i))) << name;
}

// With the keys `begin` to `end` - 1.
template <typename T>
T WithKeys(T to, int begin, int end) {
  for (int i = begin; i < end; i++) to.Add("key" + std::to_string(i));
  return to;
}

TEST(BloomFilterBytes, Golden) {
  const auto one = BloomLayout::kOneArray, partitioned = BloomLayout::kPartitioned;
  using Hashing = BloomHashing;
  const auto expect = [](const std::string& name, const BloomFilterOptions& options) {
    ExpectGoldenWithKeys(name, WithKeys(BloomFilter(options), 0, 40));
  };
  expect("bloom_independent", {383, 7, Hashing::kIndependent, one, 0});
  expect("bloom_double", {400, 6, Hashing::kDouble, one, 1});
  expect("bloom_enhanced_double", {50, 7, Hashing::kEnhancedDouble, one, UINT64_MAX});
  expect("bloom_partitioned", {383, 7, Hashing::kIndependent, partitioned, 3});
  expect("bloom_partitioned_double", {384, 6, Hashing::kDouble, partitioned, 4});
  expect("bloom_one_bit", {1, 1, Hashing::kEnhancedDouble, one, 0});
}

TEST(BloomFilterBytes, BitsBehindTheLastOneAreRefused) {
  const std::string envelope = BloomFilter({60, 3}).Serialize();
  std::string payload(PayloadReader(envelope, EnvelopeType::kBloom, nullptr).Rest());
  payload.back() = '\x08';
  EXPECT_TRUE(BloomFilter::Deserialize(WriteEnvelope(EnvelopeType::kBloom, payload), nullptr));
  payload.back() = '\x10';
  EXPECT_FALSE(BloomFilter::Deserialize(WriteEnvelope(EnvelopeType::kBloom, payload), nullptr));
}

TEST(CountingBloomFilterBytes, Golden) {
  for (const auto& [name, options] :
       {std::pair("counting_bloom_4",
                  CountingBloomFilterOptions{383, 7, 4, BloomHashing::kIndependent, 0}),
        std::pair("counting_bloom_8",
                  CountingBloomFilterOptions{200, 3, 8, BloomHashing::kDouble, 9})}) {
    CountingBloomFilter filter = WithKeys(CountingBloomFilter(options), 0, 40);
    for (int i = 0; i < 19; i++) filter.Add("key0");
    ExpectGoldenWithKeys(name, filter);
  }
}

ScalableBloomFilter ScalableWithKeys(int keys) {
  ScalableBloomFilterOptions options;
  options.initial_keys = 64;
  options.false_positive_rate = 0.05;
  options.seed = 5;
  return WithKeys(ScalableBloomFilter(options), 0, keys);
}

TEST(ScalableBloomFilterBytes, Golden) {
  ExpectGoldenWithKeys("scalable_bloom_one_layer", ScalableWithKeys(40));
  ExpectGoldenWithKeys("scalable_bloom", ScalableWithKeys(300));
}

TEST(ScalableBloomFilterBytes, ReadFiltersGrowOn) {
  std::optional<ScalableBloomFilter> read =
      ScalableBloomFilter::Deserialize(ScalableWithKeys(123).Serialize(), nullptr);
  ASSERT_TRUE(read);
  for (int i = 123; i < 300; i++) read->Add("key" + std::to_string(i));
  EXPECT_EQ(HexBytes(read->Serialize()), HexBytes(GoldenBytes("scalable_bloom")));
}

template <typename T>
T WithSquares(T to) {
  for (int i = 0; i < 200; i++) to.Add("key" + std::to_string(i * i % 64));
  return to;
}

// A seed of 0, the bytes and the numbers as varints, and the words: by hand, in a good envelope.
template <typename T>
bool Reads(EnvelopeType type, const std::vector<uint8_t>& bytes,
           const std::vector<uint64_t>& varints, const std::vector<uint64_t>& words = {}) {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(0);
  for (const uint8_t byte : bytes) out.U8(byte);
  for (const uint64_t varint : varints) out.Varint(varint);
  for (const uint64_t word : words) out.U64(word);
  return T::Deserialize(WriteEnvelope(type, payload), nullptr).has_value();
}

// What no sequence of calls leads to.
TEST(EstimatorBytes, ContradictionsAreRefused) {
  const auto count_min = [](uint8_t conservative, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return Reads<CountMinSketch>(EnvelopeType::kCountMin, {conservative}, {2, 2, 3, a, b, c, d});
  };
  EXPECT_TRUE(count_min(0, 1, 2, 3, 0));
  EXPECT_FALSE(count_min(0, 1, 1, 3, 0));  // rows that do not add up
  EXPECT_FALSE(count_min(0, 1, 2, 2, 0));
  EXPECT_TRUE(count_min(1, 1, 1, 2, 0));
  EXPECT_FALSE(count_min(1, 1, 2, 2, 2));

  const auto top_k = [](uint64_t counters, const std::vector<uint64_t>& items) {
    std::vector<uint64_t> numbers = {counters, 5, items.size() / 4};  // in all 5
    numbers.insert(numbers.end(), items.begin(), items.end());
    return Reads<TopK>(EnvelopeType::kTopK, {}, numbers);  // 1: a key of one byte
  };
  EXPECT_TRUE(top_k(2, {1, 'a', 3, 1, 1, 'b', 2, 2}));
  EXPECT_FALSE(top_k(2, {1, 'a', 3, 1, 1, 'a', 2, 2}));  // a key twice
  EXPECT_FALSE(top_k(2, {1, 'a', 3, 3, 1, 'b', 2, 2}));  // an error above the least count
  EXPECT_FALSE(top_k(3, {1, 'a', 3, 1, 1, 'b', 2, 0}));  // an error, though all keys fit
  EXPECT_FALSE(top_k(2, {1, 'a', 3, 1, 1, 'b', 3, 2}));  // more than all

  std::vector<uint8_t> registers(1 + 12, 0);
  registers[0] = 4;
  registers[1] = 61;
  EXPECT_TRUE(Reads<HyperLogLog>(EnvelopeType::kHyperLogLog, registers, {}));
  registers[1] = 62;
  EXPECT_FALSE(Reads<HyperLogLog>(EnvelopeType::kHyperLogLog, registers, {}));

  const auto min_hash = [](uint8_t method, uint64_t first, uint64_t second) {
    return Reads<MinHash>(EnvelopeType::kMinHash, {method}, {2}, {first, second});
  };
  constexpr uint64_t kLow = 5, kHigh = uint64_t{1} << 63, kNone = UINT64_MAX;
  EXPECT_TRUE(min_hash(1, kLow, kHigh));
  EXPECT_TRUE(min_hash(1, kNone, kHigh));
  EXPECT_FALSE(min_hash(1, kHigh, kHigh));  // a hash of the other place
  EXPECT_FALSE(min_hash(1, kLow, kLow));
  EXPECT_TRUE(min_hash(2, kHigh, kLow));
  EXPECT_FALSE(min_hash(2, kHigh, kNone));  // one place without a value, but not all
  EXPECT_FALSE(min_hash(3, kLow, kHigh));

  const auto lsh_index = [](uint64_t bands, uint64_t rows, uint64_t place) {
    return Reads<LshIndex>(EnvelopeType::kLshIndex, {1}, {1, bands, rows, 1, 9}, {place});
  };
  EXPECT_TRUE(lsh_index(1, 1, kLow));
  EXPECT_FALSE(lsh_index(1, 1, kNone));  // an empty set
  EXPECT_FALSE(lsh_index(1, 2, kLow));
  EXPECT_FALSE(lsh_index(0, 1, kLow));
}

TEST(EstimatorBytes, CountMin) {
  for (const bool conservative : {false, true}) {
    CountMinOptions options;
    options.width = 13;
    options.depth = 3;
    options.conservative = conservative;
    options.seed = UINT64_MAX;
    CountMinSketch sketch = WithSquares(CountMinSketch(options));
    sketch.Add("many", 1000);
    const std::string name = conservative ? "count_min_conservative" : "count_min";
    ExpectGolden(name, sketch);
  }
}

TEST(EstimatorBytes, TopK) {
  for (const auto& [name, counters] : {std::pair("top_k", 7), {"top_k_of_few_keys", 1000}}) {
    TopKOptions options;
    options.counters = static_cast<uint64_t>(counters);
    options.seed = 5;
    ExpectGolden(name, WithSquares(TopK(options)));
  }
}

TEST(EstimatorBytes, HyperLogLog) {
  HyperLogLogOptions options;
  options.precision = 5;
  options.seed = UINT64_MAX;
  ExpectGolden("hyper_log_log", WithKeys(HyperLogLog(options), 0, 1000));
}

TEST(EstimatorBytes, KMinimumValues) {
  KMinimumValuesOptions options;
  options.k = 50;
  options.seed = 1;
  const KMinimumValues many = WithKeys(KMinimumValues(options), 0, 1000);
  ExpectGolden("k_minimum_values", many);
  ExpectGolden("k_minimum_values_of_few_keys", WithKeys(KMinimumValues(options), 0, 5));
  options.k = 3;
  ExpectGolden("k_minimum_values_of_none", KMinimumValues(options));
  EXPECT_EQ(HexBytes(many.Serialize(12)), HexBytes(GoldenBytes("k_minimum_values_rounded")));
  ExpectRefusesDamage<KMinimumValues>(GoldenBytes("k_minimum_values_rounded"));
}

TEST(EstimatorBytes, MinHash) {
  constexpr MinHashMethod kOne = MinHashMethod::kOnePermutation,
                          kMany = MinHashMethod::kIndependent;
  ExpectGolden("min_hash_one_permutation", WithKeys(MinHash(SignatureOptions(20, kOne, 0)), 0, 40));
  ExpectGolden("min_hash_of_few_keys",
               WithKeys(MinHash(SignatureOptions(20, kOne, UINT64_MAX)), 0, 3));
  ExpectGolden("min_hash_of_none", MinHash(SignatureOptions(3, kMany, 0)));
  ExpectGolden("min_hash_independent", WithKeys(MinHash(SignatureOptions(9, kMany, 1)), 0, 40));
}

// The digest stands in docs/formats/toolbox.md. So few values that some places order all of them.
TEST(EstimatorBytes, BorrowedValues) {
  const MinHash few =
      WithKeys(MinHash(SignatureOptions(1000, MinHashMethod::kOnePermutation, 5)), 0, 3);
  std::string bytes;
  for (const uint64_t value : few.Signature()) {
    bytes.resize(bytes.size() + 8);
    StoreLittleEndian64(&bytes[bytes.size() - 8], value);
  }
  EXPECT_EQ(HashKey(bytes, 0), 0xC89C075FAE749691u);
}

TEST(EstimatorBytes, LshIndex) {
  LshOptions options;
  options.signature = SignatureOptions(30, MinHashMethod::kOnePermutation, 4);
  options.banding = {10, 3};
  LshIndex index(options);
  index.Add(7, WithKeys(MinHash(options.signature), 0, 8));
  index.Add(1000, WithKeys(MinHash(options.signature), 0, 9));
  index.Add(UINT64_MAX, WithKeys(MinHash(options.signature), 1, 9));
  index.Add(8, WithKeys(MinHash(options.signature), 100, 108));
  ExpectGolden("lsh_index", index);
  const std::vector<std::pair<uint64_t, uint64_t>> pairs = {
      {7, 1000}, {7, UINT64_MAX}, {1000, UINT64_MAX}};
  EXPECT_EQ(index.CandidatePairs(), pairs);
}

}  // namespace
}  // namespace rocksieve
