// SPDX-License-Identifier: Apache-2.0
// The toolbox's types as bytes from elsewhere. The first byte chooses the type, the second whether
// envelope and check are made right around the rest, so that changed payloads get in.
//
// Oracle: what is read is written as the same bytes, and can be asked, added to, and merged.
#include <optional>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>
#include <rocksieve/estimate/count_min_sketch.h>
#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>
#include <rocksieve/estimate/lsh_index.h>
#include <rocksieve/estimate/min_hash.h>
#include <rocksieve/estimate/top_k.h>
#include <rocksieve/routing/filter_tree.h>

#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"
#include "tests/fuzz/target.h"

namespace rocksieve {
namespace {

constexpr char kKey[] = "a key that nobody added";

void Exercise(BloomFilter* filter) {
  fuzz::Use(filter->EstimateKeys());
  fuzz::Use(filter->ExpectedFalsePositiveRate());
  filter->Add(kKey);
  FUZZ_CHECK(filter->MayContain(kKey));
  const BloomFilter copy = *filter;
  FUZZ_CHECK(filter->Merge(copy) && *filter == copy);
  fuzz::Use(BloomFilter::EstimateIntersection(*filter, copy));
  filter->RemoveLosingOthers(kKey, ZeroedBits::kAllBits);
}
void Exercise(CountingBloomFilter* filter) {
  fuzz::Use(filter->SaturatedCounters());
  filter->Add(kKey);
  FUZZ_CHECK(filter->MayContain(kKey) && filter->ToBloomFilter().MayContain(kKey));
  filter->Remove(kKey);
  const CountingBloomFilter copy = *filter;
  FUZZ_CHECK(filter->Merge(copy));
}
void Exercise(ScalableBloomFilter* filter) {
  fuzz::Use(filter->EstimateKeys());
  fuzz::Use(filter->ExpectedFalsePositiveRate());
  filter->Add(kKey);
  FUZZ_CHECK(filter->MayContain(kKey));
}
void Exercise(CuckooFilter* filter) {
  fuzz::Use(filter->ExpectedFalsePositiveRate());
  if (filter->Add(kKey)) {
    FUZZ_CHECK(filter->MayContain(kKey) && filter->Count(kKey) > 0);
    FUZZ_CHECK(filter->Remove(kKey));
  }
  const CuckooFilter copy = *filter;
  fuzz::Use(filter->Merge(copy));
}
void Exercise(CountMinSketch* sketch) {
  const uint64_t before = sketch->Count(kKey);
  if (sketch->Add(kKey, 5)) FUZZ_CHECK(sketch->Count(kKey) >= before && sketch->Count(kKey) >= 5);
  const CountMinSketch copy = *sketch;
  fuzz::Use(sketch->Merge(copy));
  if (!sketch->options().conservative) fuzz::Use(sketch->Remove(kKey, 3));  // else it throws
}
void Exercise(TopK* top) {
  fuzz::Use(top->Top(3));
  if (top->Add(kKey, 5)) FUZZ_CHECK(top->Count(kKey) >= 5);
  const TopK copy = *top;
  fuzz::Use(top->Merge(copy));
}
template <typename Counter>
void ExerciseCounter(Counter* counter) {
  FUZZ_CHECK(counter->DistinctCount().value >= 0);
  counter->Add(kKey);
  const Counter copy = *counter;
  FUZZ_CHECK(counter->Merge(copy));
  FUZZ_CHECK(counter->DistinctCount().value == copy.DistinctCount().value);
}
void Exercise(HyperLogLog* counter) { ExerciseCounter(counter); }
void Exercise(KMinimumValues* counter) {
  KMinimumValues own({.k = 7, .seed = counter->options().seed});
  for (uint64_t i = 0; i < 100; i++) own.AddHash(SplitMix64(7, i));
  fuzz::Use(KMinimumValues::Overlap(own, *counter));
  FUZZ_CHECK(own.Merge(*counter) && own.DistinctCount().value >= 0);
  ExerciseCounter(counter);
}
void Exercise(MinHash* hash) {
  hash->Add(kKey);
  FUZZ_CHECK(!hash->empty());
  const MinHash copy = *hash;
  FUZZ_CHECK(hash->Merge(copy));
  fuzz::Use(MinHash::Jaccard(*hash, copy));
  fuzz::Use(hash->Signature());
}
void Exercise(LshIndex* index) {
  fuzz::Use(index->CandidatePairs());
  fuzz::Use(index->SimilarPairs(0.5));
  fuzz::Use(index->Find(1));
  index->Remove(1);
}
void Exercise(FilterTreeNode* node) {
  node->Add(kKey);
  FUZZ_CHECK(node->Holds(kKey));
  const auto nowhere = [](NodeId, NodeId, std::string_view, RouteScope) { return RouteAnswer(); };
  fuzz::Use(node->Route("elsewhere", node->id(), RouteScope(), nowhere));
  node->Publish([](NodeId, const FilterUpdate&) {});
}

template <typename T>
void Read(EnvelopeType type, bool envelope, std::string_view bytes) {
  const fuzz::ExactCopy copy(envelope ? WriteEnvelope(type, bytes) : std::string(bytes));
  std::string error;
  std::optional<T> read = T::Deserialize(copy.view(), &error);
  if (!read) return FUZZ_CHECK(!error.empty());
  // Rounded hashes can be written in more ways than one.
  const std::string written = read->Serialize();
  if (type != EnvelopeType::kKMinimumValues) FUZZ_CHECK(written == copy.view());
  const std::optional<T> again = T::Deserialize(written, &error);
  FUZZ_CHECK(again && again->Serialize() == written);
  Exercise(&*read);
  const std::string changed = read->Serialize();
  FUZZ_CHECK(T::Deserialize(changed, nullptr).has_value());
}

}  // namespace
}  // namespace rocksieve

FUZZ_TARGET(toolbox) {
  using namespace rocksieve;
  fuzz::Choices choices(input);
  const auto type = static_cast<EnvelopeType>(choices.Byte());
  const bool right = choices.Flag();
  const std::string_view bytes = choices.Rest();
  using Type = EnvelopeType;
  if (type == Type::kBloom) Read<BloomFilter>(type, right, bytes);
  if (type == Type::kPartitionedBloom) Read<BloomFilter>(type, right, bytes);
  if (type == Type::kScalableBloom) Read<ScalableBloomFilter>(type, right, bytes);
  if (type == Type::kCountingBloom) Read<CountingBloomFilter>(type, right, bytes);
  if (type == Type::kCuckoo) Read<CuckooFilter>(type, right, bytes);
  if (type == Type::kCountMin) Read<CountMinSketch>(type, right, bytes);
  if (type == Type::kTopK) Read<TopK>(type, right, bytes);
  if (type == Type::kHyperLogLog) Read<HyperLogLog>(type, right, bytes);
  if (type == Type::kKMinimumValues) Read<KMinimumValues>(type, right, bytes);
  if (type == Type::kMinHash) Read<MinHash>(type, right, bytes);
  if (type == Type::kLshIndex) Read<LshIndex>(type, right, bytes);
  if (type == Type::kFilterTree) Read<FilterTreeNode>(type, right, bytes);
}
