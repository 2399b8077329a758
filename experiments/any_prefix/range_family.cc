// SPDX-License-Identifier: Apache-2.0
// What exists: rocksieve.range, with the lengths that it chooses from the keys.
#include <cmath>
#include <stdexcept>

#include <rocksieve/filter.h>

#include "experiments/any_prefix/prefix_filter.h"

namespace rocksieve::experiments {
namespace {

class RangeFamily : public PrefixFilter {
 public:
  RangeFamily(const SortedKeys& keys, double bits_per_key) {
    FilterSpec spec;
    const std::string error =
        FilterSpec::Parse("rocksieve.range:" + std::to_string(std::lround(bits_per_key)), &spec);
    if (!error.empty()) throw std::runtime_error(error);
    FilterBuilder builder(spec);
    for (const std::string& key : keys) builder.AddKey(key);
    block_ = builder.Finish();
    opened_ = OpenFilter(block_.view());
  }

  bool MayHavePrefix(std::string_view prefix) const override {
    const std::string end = EndOfPrefix(prefix);
    return end.empty() || MayHaveRange(prefix, end);
  }
  bool MayHaveRange(std::string_view begin, std::string_view end) const override {
    return opened_.filter->MayContainRange(begin, end);
  }
  uint64_t size_bits() const override { return 8 * block_.size; }

 private:
  FilterBlock block_;
  OpenedFilter opened_;
};

}  // namespace

std::unique_ptr<PrefixFilter> BuildRangeFamily(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<RangeFamily>(keys, bits_per_key);
}

std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) end.back()++;
  return end;
}

}  // namespace rocksieve::experiments
