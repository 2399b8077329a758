// SPDX-License-Identifier: Apache-2.0
// The filters that C has by their bytes: static ones, and kinds that take their keys one by one.
#pragma once

#include <variant>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>
#include <rocksieve/filter.h>

#include "lib/c_api/errors.h"

namespace rocksieve {

using AnyDynamic =
    std::variant<BloomFilter, ScalableBloomFilter, CountingBloomFilter, CuckooFilter>;
inline constexpr KindNames<4> kDynamicKinds = {"bloom", "scalable-bloom", "counting-bloom",
                                               "cuckoo"};

// Why bytes gave no static filter.
inline const char* Describe(BlockState state) {
  switch (state) {
    case BlockState::kIntact:
      break;
    case BlockState::kForeign:
      return "these bytes are not a filter of rocksieve";
    case BlockState::kDamaged:
      return "this filter is damaged";
    case BlockState::kFutureVersion:
      return "this filter comes from a later version of rocksieve";
  }
  return "";
}

}  // namespace rocksieve
