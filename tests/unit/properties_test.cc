// SPDX-License-Identifier: Apache-2.0
// What holds for any keys, any spec and any bytes, on random ones.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <rocksieve/filter.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/builder.h"
#include "lib/format/coding.h"
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
  spec.fast = spec.family == Family::kBloom && !spec.thorough && *rc::gen::arbitrary<bool>();
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

RC_GTEST_PROP(FilterProperties, ASpecIsItsCanonicalForm, ()) {
  const FilterSpec spec = AnySpec();
  FilterSpec again;
  RC_ASSERT(FilterSpec::Parse(spec.ToString(), &again) == "");
  RC_ASSERT(again.family == spec.family);
  RC_ASSERT(again.unit == spec.unit);
  RC_ASSERT(again.amount == spec.amount);
  RC_ASSERT(again.salted == spec.salted);
  RC_ASSERT(again.thorough == spec.thorough);
  RC_ASSERT(again.fast == spec.fast);
  RC_ASSERT(again.verified == spec.verified);
  RC_ASSERT(again.own_name == spec.own_name);
  RC_ASSERT(again.ToString() == spec.ToString());
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

// How RocksDB counts keys and what stands for them, such as prefixes: the comment at
// FilterBitsBuilder::AddKeyAndAlt() of its releases since 9.6, with entries instead of hashes.
class CountingOracle {
 public:
  void AddKey(const std::string& key) {
    if (entries_.empty() || entries_.back() != key) entries_.push_back(key);
  }
  void AddKeyAndAlt(const std::string& key, const std::string& alt) {
    std::set<std::string> not_key, not_alt = {key};
    if (!entries_.empty()) {
      not_key.insert(entries_.back());
      not_alt.insert(entries_.back());
    }
    if (has_alt_) {
      not_key.insert(last_alt_);
      not_alt.insert(last_alt_);
    }
    if (not_alt.count(alt) == 0) entries_.push_back(alt);
    if (not_key.count(key) == 0) entries_.push_back(key);
    has_alt_ = true;
    last_alt_ = alt;
  }
  size_t count() const { return entries_.size(); }

 private:
  std::vector<std::string> entries_;
  bool has_alt_ = false;
  std::string last_alt_;
};

// Several filters in a row from one builder, as of a partitioned filter: what one has must not be
// taken for a duplicate in the next.
RC_GTEST_PROP(BuilderProperties, KeysAndPrefixesAreCountedAsRocksDbDoes, ()) {
  BlockBuilder builder(AnySpec());
  builder.KeepKeysForVerification();
  for (int filter = 0; filter < 3; filter++) {
    CountingOracle oracle;
    std::set<std::string> added;
    const auto calls = *rc::gen::inRange(0, 40);
    for (int call = 0; call < calls; call++) {
      const auto letters = rc::gen::container<std::string>(rc::gen::inRange('a', 'd'));
      const std::string key = *rc::gen::resize(3, letters);
      const bool prefix = *rc::gen::inRange(0, 3) != 0;
      const std::string alt = prefix ? key.substr(0, 1) : *rc::gen::resize(2, letters);
      added.insert(key);
      if (*rc::gen::inRange(0, 3) == 0) {
        builder.AddKey(key);
        oracle.AddKey(key);
      } else {
        builder.AddKeyAndAlt(key, alt);
        oracle.AddKeyAndAlt(key, alt);
        added.insert(alt);
      }
      RC_ASSERT(builder.key_count() == oracle.count());
    }
    const FilterBlock block = builder.Finish();
    RC_ASSERT(builder.key_count() == 0U);
    RC_ASSERT(builder.Verify(block.view()) == "");
    const OpenedFilter opened = OpenFilter(block.view());
    RC_ASSERT(opened.state == BlockState::kIntact);
    RC_ASSERT(opened.info.key_count <= oracle.count());
    for (const std::string& entry : added) RC_ASSERT(opened.filter->MayContain(entry));
  }
}

// A run of sorted keys with prefixes takes one entry for each key and each prefix.
RC_GTEST_PROP(BuilderProperties, SortedKeysCountOnceWithTheirPrefixes, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
  const auto keys = *rc::gen::container<std::set<std::string>>(letters);
  const auto prefix_bytes = *rc::gen::inRange<size_t>(0, 4);
  BlockBuilder builder(AnySpec());
  std::set<std::string> entries(keys);
  for (const std::string& key : keys) {
    builder.AddKeyAndAlt(key, key.substr(0, prefix_bytes));
    entries.insert(key.substr(0, prefix_bytes));
  }
  RC_ASSERT(builder.key_count() == entries.size());
}

RC_GTEST_PROP(BuilderProperties, NoBlockIsLargerThanItMayBe, ()) {
  const FilterSpec spec = AnySpec();
  const auto size = *rc::gen::element<size_t>(8, 300, 5000, 40000);
  const auto count = *rc::gen::inRange<size_t>(0, size);
  const auto repeated = *rc::gen::inRange<size_t>(0, 1 + count / 8);
  const auto prefix = *rc::gen::arbitrary<std::string>();
  BlockBuilder builder(spec);
  const std::vector<std::string> keys = NumberedKeys(count, prefix + std::string(40, 'p'));
  for (const std::string& key : keys) builder.AddKey(key);
  for (size_t i = 0; i < repeated; i++) builder.AddKey(keys[i]);
  const size_t most = MostBlockBytes(spec, builder.key_count());
  RC_ASSERT(builder.Finish().size <= most);
  const double of_many = static_cast<double>(MostBlockBytes(spec, 1000000));
  RC_ASSERT(of_many <= 1.02 * static_cast<double>(EstimateBlockBytes(spec, 1000000)));
}

// Whatever the allocator can be made to choose, by a price or by columns.
RC_GTEST_PROP(BuilderProperties, NoBlockOfAutoIsLargerThanItMayBe, ()) {
  AutoSpec spec;
  spec.families = {*rc::gen::element(Family::kBloom, Family::kCuckoo, Family::kRibbon)};
  spec.options.thorough = *rc::gen::arbitrary<bool>();
  spec.options.salted = *rc::gen::arbitrary<bool>();
  const auto count = *rc::gen::inRange<size_t>(1, *rc::gen::element<size_t>(8, 300, 5000, 40000));
  const Hull hull(spec.families, count, spec.cost_model, spec.options.thorough);
  const FilterChoice choice = hull.Choose(0.1 * *rc::gen::inRange(10, 600));
  RC_PRE(choice.family != Family::kNone);
  RC_ASSERT(BuildFilter(spec.SpecFor(choice), NumberedKeys(count, std::string(40, 'p'))).size <=
            spec.MostBlockBytes(count));
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

}  // namespace
}  // namespace rocksieve
