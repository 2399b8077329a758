// SPDX-License-Identifier: Apache-2.0
// The kinds of filters that take their keys one by one, as C has them.
#pragma once

#include <variant>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/cuckoo_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "lib/c_api/errors.h"

namespace rocksieve {

using AnyDynamic =
    std::variant<BloomFilter, ScalableBloomFilter, CountingBloomFilter, CuckooFilter>;
inline constexpr KindNames<4> kDynamicKinds = {"bloom", "scalable-bloom", "counting-bloom",
                                               "cuckoo"};

}  // namespace rocksieve
