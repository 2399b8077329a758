// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <rocksdb/comparator.h>

#include <rocksieve/range.h>

#include "lib/budget/auto_spec.h"
#include "plugin/range/extractors.h"

namespace rocksieve {

rocksdb::Status ConfigureRangeFilters(std::string_view spec, rocksdb::ColumnFamilyOptions* options,
                                      rocksdb::BlockBasedTableOptions* table_options) {
  OwnSpec parsed;
  const std::string error = ParseOwnSpec(spec, &parsed);
  if (!error.empty()) return rocksdb::Status::InvalidArgument(error);
  if (!AnswersRanges(parsed)) {
    return rocksdb::Status::InvalidArgument(
        "\"" + std::string(spec) +
        "\" does not answer for ranges; take rocksieve.range, for example rocksieve.range:12, or "
        "rocksieve.auto:12:range");
  }
  if (options->comparator != rocksdb::BytewiseComparator()) {
    return rocksdb::Status::InvalidArgument(
        std::string("range filters know the bytewise order alone, and the comparator is ") +
        options->comparator->Name() + "; take rocksieve.ribbon:10 for lookups of single keys");
  }
  if (options->prefix_extractor != nullptr &&
      options->prefix_extractor->GetId() != kRangeExtractorName) {
    return rocksdb::Status::InvalidArgument(
        "there is a prefix extractor already, " + options->prefix_extractor->GetId() +
        "; range filters need its place: set it to null first if nothing relies on it, and name "
        "its lengths in the spec, for example rocksieve.range:12:prefixes-8");
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status made = NewFilterPolicy(spec, &policy);
  if (!made.ok()) return made;
  table_options->filter_policy = std::move(policy);
  options->prefix_extractor = std::make_shared<RangeExtractor>();
  return rocksdb::Status::OK();
}

}  // namespace rocksieve
