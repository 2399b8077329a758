// Asks a server what the first range of a join looks like, and computes what each strategy would
// cost there. Nothing is joined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "join/messages.h"
#include "join/range_keys.h"
#include "join/rows/source.h"
#include "join/session.h"

namespace rocksieve::tools {

struct StrategyCost {
  std::string name;
  double bits = 0;  // for the range, rows apart
};

struct Plan {
  uint64_t local_keys = 0, remote_keys = 0;  // of all, estimated
  // Of the range.
  uint64_t range_local_keys = 0, range_remote_keys = 0, range_common_keys = 0;
  bool equal = false;
  std::string first_move;                // of the cheapest way: "filter of 4.0 bits"
  bool keys_are_as_cheap = false;        // shipping them loses nothing
  std::vector<StrategyCost> strategies;  // the cheapest first; "auto" may mix them
};

class PlanSession final : public join::Session {
 public:
  // `source` must outlive it.
  PlanSession(join::Source* source, uint64_t salt, uint64_t keys_per_range);

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return true; }
  bool done() const override { return done_; }

  // REQUIRES: done() without an error.
  const Plan& plan() const { return plan_; }

 private:
  absl::Status Open(join::KeyInterval interval);
  absl::Status On(const join::Facts& facts);
  void Price();

  join::Source* const source_;
  const uint64_t salt_;
  const uint64_t keys_per_range_;
  uint32_t attempt_ = 0;
  join::KeyInterval interval_;
  join::RangeKeys keys_;
  std::vector<std::string> messages_;
  Plan plan_;
  bool done_ = false;
};

}  // namespace rocksieve::tools
