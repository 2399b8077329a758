// SPDX-License-Identifier: Apache-2.0
#include "plugin/range_reader.h"

#include <string_view>

#include "plugin/range/heard_bounds.h"

namespace rocksieve {

bool RangeReader::MayMatch(const rocksdb::Slice& entry) {
  if (entry.size() != 0) {
    sampler_->CountLookup();
    return filter_->MayContain({entry.data(), entry.size()});
  }
  std::string_view begin, end;
  if (!HeardBounds::OfThisThread().Take(entry, &begin, &end) || !answers_ranges_) return true;
  sampler_->CountRange(begin, end);
  return filter_->MayContainRange(begin, end);
}

}  // namespace rocksieve
