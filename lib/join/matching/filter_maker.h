// Makes the filters that a side sends.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksieve/filter.h>

#include "lib/join/matching/candidate.h"

namespace rocksieve::join {

class FilterMaker {
 public:
  virtual ~FilterMaker() = default;

  // A filter of the hashes of the candidates in the message with this salt. `spec` becomes that of
  // the filter, which may be a little larger or smaller than was asked for. `built`: it was not
  // there before.
  virtual std::shared_ptr<const FilterBlock> Make(FilterSpec* spec, const Candidates& candidates,
                                                  uint64_t message_salt, bool* built) = 0;
};

// Always makes a new one.
std::shared_ptr<const FilterBlock> MakeFilter(const FilterSpec& spec, const Candidates& candidates,
                                              uint64_t message_salt);

}  // namespace rocksieve::join
