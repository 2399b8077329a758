// The envelope, and the dynamic filters as bytes: beside the golden ones, and damaged in every way.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "lib/toolbox/envelope.h"
#include "support/printable.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

TEST(Envelope, SaysWhatIsWrong) {
  const std::string envelope = WriteEnvelope(EnvelopeType::kBloom, "payload");
  std::string error = "untouched";
  EXPECT_EQ(ReadEnvelope(envelope, EnvelopeType::kBloom, &error), "payload");
  EXPECT_EQ(error, "untouched");
  const auto error_of = [](std::string bytes) {
    std::string text;
    EXPECT_FALSE(ReadEnvelope(bytes, EnvelopeType::kBloom, &text));
    EXPECT_FALSE(ReadEnvelope(bytes, EnvelopeType::kBloom, nullptr));
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

template <typename T, typename Options>
T WithKeys(const Options& options) {
  T filter(options);
  for (int i = 0; i < 40; i++) filter.Add("key" + std::to_string(i));
  return filter;
}

TEST(BloomFilterBytes, Golden) {
  const auto one = BloomLayout::kOneArray, partitioned = BloomLayout::kPartitioned;
  using Hashing = BloomHashing;
  const auto expect = [](const std::string& name, const BloomFilterOptions& options) {
    ExpectGoldenWithKeys(name, WithKeys<BloomFilter>(options));
  };
  expect("bloom_independent", {383, 7, Hashing::kIndependent, one, 0});
  expect("bloom_double", {400, 6, Hashing::kDouble, one, 1});
  expect("bloom_enhanced_double", {50, 7, Hashing::kEnhancedDouble, one, UINT64_MAX});
  expect("bloom_partitioned", {383, 7, Hashing::kIndependent, partitioned, 3});
  expect("bloom_partitioned_double", {384, 6, Hashing::kDouble, partitioned, 4});
  expect("bloom_one_bit", {1, 1, Hashing::kEnhancedDouble, one, 0});
}

TEST(BloomFilterBytes, DamageIsRefused) {
  ExpectRefusesDamage<BloomFilter>(GoldenBytes("bloom_enhanced_double"), EnvelopeType::kBloom);
  ExpectRefusesDamage<BloomFilter>(GoldenBytes("bloom_partitioned"),
                                   EnvelopeType::kPartitionedBloom);
  std::string error;
  EXPECT_FALSE(BloomFilter::Deserialize(WriteEnvelope(EnvelopeType::kTopK, ""), &error));
  EXPECT_THAT(error, HasSubstr("top-k summary, not a Bloom filter"));
}

TEST(BloomFilterBytes, BitsBehindTheLastOneAreRefused) {
  const std::string envelope = BloomFilter({60, 3}).Serialize();
  std::string payload(ReadEnvelope(envelope, EnvelopeType::kBloom, nullptr).value());
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
    CountingBloomFilter filter = WithKeys<CountingBloomFilter>(options);
    for (int i = 0; i < 19; i++) filter.Add("key0");
    ExpectGoldenWithKeys(name, filter);
  }
}

TEST(CountingBloomFilterBytes, DamageIsRefused) {
  ExpectRefusesDamage<CountingBloomFilter>(GoldenBytes("counting_bloom_4"),
                                           EnvelopeType::kCountingBloom);
  ExpectRefusesDamage<CountingBloomFilter>(GoldenBytes("counting_bloom_8"),
                                           EnvelopeType::kCountingBloom);
}

ScalableBloomFilter ScalableWithKeys(int keys) {
  ScalableBloomFilterOptions options;
  options.initial_keys = 64;
  options.false_positive_rate = 0.05;
  options.seed = 5;
  ScalableBloomFilter filter(options);
  for (int i = 0; i < keys; i++) filter.Add("key" + std::to_string(i));
  return filter;
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

TEST(ScalableBloomFilterBytes, DamageIsRefused) {
  ExpectRefusesDamage<ScalableBloomFilter>(GoldenBytes("scalable_bloom"),
                                           EnvelopeType::kScalableBloom);
}

}  // namespace
}  // namespace rocksieve
