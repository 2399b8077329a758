// SPDX-License-Identifier: Apache-2.0
// What a join reads of a database: RocksDB's filters. Table files: tree_walk.cc.
#include <cmath>

#include "plugin/join/sst_filters.h"
#include "plugin/tables/decoded_filter.h"
#include "tests/fuzz/target.h"

// A filter block of RocksDB's own, from an SST file or from the other side of a join, under any
// stored name. The first byte chooses the name.
//
// Oracle: it can be described and asked; what the join reads of it answers the same.
FUZZ_TARGET(builtin_filter) {
  using namespace rocksieve;
  fuzz::Choices choices(input);
  static constexpr std::string_view kNames[] = {kBuiltinStoredName, kOwnStoredName, "another"};
  const std::string_view name = kNames[choices.UpTo(2)];
  const uint64_t keys = choices.Number();
  const fuzz::ExactCopy block(choices.Rest());
  const DecodedFilter filter = DecodedFilter::Decode(block.view(), name);
  const double rate = filter.PredictedRate(keys);
  FUZZ_CHECK(std::isnan(rate) || (rate >= 0 && rate <= 1));
  FUZZ_CHECK(!filter.Family().empty());
  fuzz::Use(filter.Parameters());
  fuzz::Use(filter.Load(keys));
  fuzz::Use(filter.Setting());
  const std::unique_ptr<join::KeyFilter> joined = join::DecodeBuiltinFilter(block.view());
  for (const std::string_view key : {"", "a", "key1000", "another key that is longer than that"}) {
    const bool may_contain = filter.MayContain(key);
    if (joined != nullptr && name == kBuiltinStoredName) {
      FUZZ_CHECK(joined->MayContain(key) == may_contain);
    }
  }
}
