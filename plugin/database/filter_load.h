// How full a filter is.
#pragma once

#include <cstdint>
#include <string>

#include "plugin/tables/decoded_filter.h"

namespace rocksieve {

struct FilterLoad {
  std::string unit;     // "keys per line", "keys per slot"; empty if there is nothing to say
  double load = 0;      // of so many entries
  std::string fill_of;  // "probe bits set", "slots used"; empty if nothing can be counted
  double fill = 0;      // the share of them, counted
};

// Looks at the whole block.
FilterLoad LoadOf(const DecodedFilter& filter, uint64_t entries);

}  // namespace rocksieve
