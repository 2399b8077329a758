// The one number that tells how strong the filters of a family are.
#pragma once

#include <string>

#include "plugin/tables/decoded_filter.h"

namespace rocksieve {

struct FilterSetting {
  std::string unit;  // "probes", "columns", "fingerprint bits"; empty if there is none
  double value = 0;  // the mean, where a part of the filter has one more than the others
};

FilterSetting SettingOf(const DecodedFilter& filter);

}  // namespace rocksieve
