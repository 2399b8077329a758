// SPDX-License-Identifier: Apache-2.0
// The first step of a range, and the only one that may be repeated: a side sends a filter of its
// candidates, and the other one drops those of its own that do not pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <rocksieve/filter.h>

#include "lib/join/matching/matching_range.h"

namespace rocksieve::join {

// Makes the filters that a side sends.
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

class FilterStep {
 public:
  // `range` must outlive it.
  explicit FilterStep(MatchingRange* range) : range_(range) {}
  uint64_t KeptBytes() const { return 0; }

  // What this side should send now: a filter, an ending, or both.
  PlannedStep Planned() const;
  void Send(const PlannedStep& planned, std::string* step);
  absl::Status Receive(std::string_view body);

 private:
  MatchingRange* const range_;
};

}  // namespace rocksieve::join
