// SPDX-License-Identifier: Apache-2.0
// The filters that C has by their bytes: static ones, and kinds that take their keys one by one.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
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

// A static filter, with the bytes that it stands on.
struct OwnedFilter {
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<Filter> filter;
  FilterBlockInfo info;
};

// Of a copy of the bytes. Throws std::invalid_argument if they are no filter.
inline OwnedFilter OpenCopy(std::string_view bytes) {
  // Looked at where they are: a copy of what is no filter would be made for nothing.
  const BlockState state = OpenFilter(bytes).state;
  if (state != BlockState::kIntact) throw std::invalid_argument(Describe(state));
  auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  OpenedFilter opened = OpenFilter({copy.get(), bytes.size()});  // they may have changed
  if (opened.filter == nullptr) throw std::invalid_argument(Describe(opened.state));
  return {std::move(copy), std::move(opened.filter), opened.info};
}

}  // namespace rocksieve
