// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/extractors.h"

#include <utility>

#include "plugin/range/heard_bounds.h"

namespace rocksieve {
namespace {

thread_local bool properties_come_next = false;

}  // namespace

std::string RangeExtractor::GetId() const {
  return std::exchange(properties_come_next, false) ? kRangeFileExtractorName : kRangeExtractorName;
}

void RangeExtractor::FilterWasFinished() { properties_come_next = true; }
void RangeExtractor::FilterIsBuilt() { properties_come_next = false; }

bool RangeFileExtractor::InDomain(const rocksdb::Slice& key) const {
  HeardBounds::OfThisThread().InDomain(this, key);
  return true;
}

rocksdb::Slice RangeFileExtractor::Transform(const rocksdb::Slice& key) const {
  return HeardBounds::OfThisThread().Transform(this, key);
}

}  // namespace rocksieve
