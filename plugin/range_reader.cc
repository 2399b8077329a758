// SPDX-License-Identifier: Apache-2.0
#include "plugin/range_reader.h"

#include <algorithm>
#include <string_view>

#include "plugin/range/heard_bounds.h"
#include "plugin/range/range_counts.h"

namespace rocksieve {
namespace {

bool MayAfter(RangeEvent event) {
  RangeCounts::Count(event);
  return true;
}

}  // namespace

bool RangeReader::MayMatch(const rocksdb::Slice& entry) {
  if (entry.size() == 0) return MayMatchRange(entry);
  sampler_->CountLookup();
  if (is_of_hashes_) return filter_.MayMatch(entry);
  return filter_.filter().MayContain({entry.data(), entry.size()});
}

void RangeReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  const bool has_prefix = std::any_of(keys, keys + num_keys,
                                      [](const rocksdb::Slice* key) { return key->size() == 0; });
  if (has_prefix || !is_of_hashes_) {
    for (int i = 0; i < num_keys; i++) may_match[i] = MayMatch(*keys[i]);
    return;
  }
  for (int i = 0; i < num_keys; i++) sampler_->CountLookup();
  filter_.MayMatch(num_keys, keys, may_match);
}

bool RangeReader::MayMatchRange(const rocksdb::Slice& prefix) {
  std::string_view begin, end;
  const bool is_known = HeardBounds::OfThisThread().Take(prefix, &begin, &end);
  if (!answers_ranges_) return MayAfter(RangeEvent::kOtherOrder);
  if (!is_known) return MayAfter(RangeEvent::kNotProven);
  sampler_->CountRange(begin, end);
  // No filter knows whether the empty key is there: builders take it for the prefix.
  if (begin.empty() || filter_.filter().MayContainRange(begin, end)) {
    return MayAfter(begin < end ? RangeEvent::kPositive : RangeEvent::kBeginsAtEnd);
  }
  RangeCounts::Count(RangeEvent::kNegative);
  return false;
}

}  // namespace rocksieve
