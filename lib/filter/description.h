// What a filter says of itself to people.
#pragma once

#include <string>

namespace rocksieve {

// The one number that tells how strong filters of a kind are.
struct FilterSetting {
  std::string unit;  // "probes", "columns", "fingerprint bits"; empty if there is none
  double value = 0;  // the mean, where a part of the filter has one more than the others
};

// How full a filter is.
struct FilterLoad {
  std::string unit;     // "keys per line", "keys per slot"; empty if there is nothing to say
  double load = 0;      // of so many entries
  std::string fill_of;  // "probe bits set", "slots used"; empty if nothing can be counted
  double fill = 0;      // the share of them, counted
};

struct FilterDescription {
  std::string parameters;  // "8 probes, 157 lines of 64 bytes"
  FilterSetting setting;
  std::string place;  // where a key may be: "line", "slot"; empty if there is nothing to say
  double places = 0;  // so many of them
};

// The part of a filter that is in use, counted.
struct FilterFill {
  std::string of;  // "probe bits set", "slots used"; empty if nothing can be counted
  double share = 0;
};

}  // namespace rocksieve
