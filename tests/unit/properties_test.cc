// What holds for any keys, any spec and any bytes, on random ones.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <rocksieve/filter.h>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// Properties of filters over random specs and sets of keys; rapidcheck prints the seed.

FilterSpec AnySpec() {
  FilterSpec spec;
  spec.family = *rc::gen::element(Family::kBloom, Family::kCuckoo, Family::kRibbon);
  const int most_bits = spec.family == Family::kRibbon ? 32 : 64;
  spec.amount = 2.5 + 0.001 * *rc::gen::inRange(0, 1000 * most_bits - 2500);
  if (*rc::gen::inRange(0, 4) == 0) {
    spec.unit = FilterSpec::Unit::kFalsePositiveRate;
    spec.amount = *rc::gen::element(0.5, 0.2, 0.01, 0.001, 0.0001, 0.000001);
  }
  spec.salted = *rc::gen::arbitrary<bool>();
  spec.thorough = *rc::gen::arbitrary<bool>();
  spec.verified = *rc::gen::arbitrary<bool>();
  spec.own_name = *rc::gen::arbitrary<bool>();
  return spec;
}

RC_GTEST_PROP(FilterProperties, NoKeyIsEverLost, (const std::vector<std::string>& keys)) {
  const FilterBlock block = BuildFilter(AnySpec(), keys);
  const ExactCopy copy(block.view());
  const OpenedFilter opened = OpenFilter(copy.view());
  RC_ASSERT(opened.state == BlockState::kIntact);
  for (const std::string& key : keys) RC_ASSERT(opened.filter->MayContain(key));
}

RC_GTEST_PROP(FilterProperties, ManyKeysAreNotLostEither, ()) {
  const auto count = *rc::gen::inRange<size_t>(0, 20000);
  const auto prefix = *rc::gen::arbitrary<std::string>();
  const std::vector<std::string> keys = NumberedKeys(count, prefix);
  const FilterBlock block = BuildFilter(AnySpec(), keys);
  const OpenedFilter opened = OpenFilter(block.view());
  RC_ASSERT(opened.state == BlockState::kIntact);
  for (const std::string& key : keys) RC_ASSERT(opened.filter->MayContain(key));
}

RC_GTEST_PROP(FilterProperties, OrderDoesNotMatter, (const std::set<std::string>& keys)) {
  FilterSpec spec = AnySpec();
  spec.salted = false;
  std::vector<std::string> order(keys.begin(), keys.end());
  const FilterBlock sorted = BuildFilter(spec, order);
  std::reverse(order.begin(), order.end());
  RC_ASSERT(BuildFilter(spec, order).view() == sorted.view());
}

RC_GTEST_PROP(FilterProperties, ASpecIsItsCanonicalForm, ()) {
  const FilterSpec spec = AnySpec();
  FilterSpec again;
  RC_ASSERT(FilterSpec::Parse(spec.ToString(), &again) == "");
  RC_ASSERT(again.family == spec.family);
  RC_ASSERT(again.unit == spec.unit);
  RC_ASSERT(again.amount == spec.amount);
  RC_ASSERT(again.salted == spec.salted);
  RC_ASSERT(again.thorough == spec.thorough);
  RC_ASSERT(again.verified == spec.verified);
  RC_ASSERT(again.own_name == spec.own_name);
  RC_ASSERT(again.ToString() == spec.ToString());
}

RC_GTEST_PROP(FilterProperties, AnyTextIsASpecOrAnError, (const std::string& text)) {
  for (const std::string& candidate : {text, "rocksieve." + text, "rocksieve.bloom:" + text}) {
    FilterSpec spec;
    const std::string error = FilterSpec::Parse(candidate, &spec);
    if (error.empty()) RC_ASSERT(FilterSpec::Parse(spec.ToString(), &spec) == "");
  }
}

// Blocks with random damage, with and without a right check word: never a lost key, never a read
// outside. Run under the address sanitizer by every ./run test.

const char* AnySpecText() {
  return *rc::gen::element("rocksieve.bloom:5", "rocksieve.bloom:10", "rocksieve.bloom:20",
                           "rocksieve.cuckoo:8", "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:40",
                           "rocksieve.ribbon:5", "rocksieve.ribbon:10.4", "rocksieve.ribbon:22.5",
                           "rocksieve.bloom:10:salted");
}

// Whoever gets no filter answers "may contain".
bool MayContain(std::string_view block, const std::string& key) {
  const ExactCopy copy(block);
  const OpenedFilter opened = OpenFilter(copy.view());
  return opened.filter == nullptr || opened.filter->MayContain(key);
}

RC_GTEST_PROP(BlockProperties, ChangedBytesLoseNoKey, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 300));
  std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; i++) {
    block[*rc::gen::inRange<size_t>(0, block.size())] = *rc::gen::arbitrary<char>();
  }
  for (const std::string& key : keys) RC_ASSERT(MayContain(block, key));
}

RC_GTEST_PROP(BlockProperties, CutsLoseNoKey, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 300));
  const std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const std::string head = block.substr(0, *rc::gen::inRange<size_t>(4, block.size()));
  const std::string tail = block.substr(*rc::gen::inRange<size_t>(0, block.size() - 5));
  for (const std::string& key : keys) {
    RC_ASSERT(MayContain(head, key));
    RC_ASSERT(MayContain(tail, key));
  }
}

// A hostile peer computes the check word itself. Answers are then anything, but reads stay inside.
RC_GTEST_PROP(BlockProperties, NoBytesLeadOutside, ()) {
  const std::vector<std::string> keys = NumberedKeys(*rc::gen::inRange<size_t>(1, 3000));
  std::string block(BuildFilter(Spec(AnySpecText()), keys).view());
  const size_t check_at = block.size() - 17;
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; i++) {
    // Mostly where the structure is: header, directory, and what stands before the check word.
    const size_t at = *rc::gen::oneOf(rc::gen::inRange<size_t>(4, 60),
                                      rc::gen::inRange<size_t>(check_at - 20, check_at),
                                      rc::gen::inRange<size_t>(4, check_at));
    block[std::min(at, check_at - 1)] = *rc::gen::arbitrary<char>();
  }
  StoreLittleEndian64(block.data() + check_at, XXH3_64bits(block.data(), check_at));
  const ExactCopy copy(block);
  const OpenedFilter opened = OpenFilter(copy.view());
  if (opened.filter == nullptr) return;
  for (const std::string& key : keys) (void)opened.filter->MayContain(key);
  (void)ExpectedFalsePositiveRate(opened.info);
}

RC_GTEST_PROP(BlockProperties, AnyBytesCanBeOpened, (const std::string& bytes)) {
  const ExactCopy copy(bytes);
  const OpenedFilter opened = OpenFilter(copy.view());
  RC_ASSERT((opened.state == BlockState::kIntact) == (opened.filter != nullptr));
}

}  // namespace
}  // namespace rocksieve
