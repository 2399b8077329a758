// Properties of filters over random specs and sets of keys; rapidcheck prints the seed.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <rapidcheck/gtest.h>  // needs the two above

#include <rocksieve/filter.h>

#include "tests/support.h"

namespace rocksieve {
namespace {

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

}  // namespace
}  // namespace rocksieve
