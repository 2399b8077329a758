// SPDX-License-Identifier: Apache-2.0
// Asks a server what the first range of a join looks like, and computes what each strategy would
// cost there. Nothing is joined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksieve/join/join.h>

#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_keys.h"
#include "lib/join/session/session.h"

namespace rocksieve::join {

class PlanSession final : public Session {
 public:
  // Of the options: interval, salt, keys_per_range, round trips and memory. `source` and the
  // account must outlive it.
  PlanSession(Source* source, const ClientSessionOptions& options);

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return true; }
  bool done() const override { return done_; }

  // REQUIRES: done() without an error.
  const JoinPlan& plan() const { return plan_; }

 private:
  // What the server may say.
  enum class Expected { kGreeting, kFacts, kNothing };

  absl::Status Open(KeyInterval interval);
  absl::Status On(const Facts& facts);
  void Weigh();

  Source* const source_;
  const ClientSessionOptions options_;
  Expected expected_ = Expected::kGreeting;
  uint32_t attempt_ = 0;
  KeyInterval interval_;
  MemoryHold keys_memory_;
  RangeKeys keys_;
  std::vector<std::string> messages_;
  JoinPlan plan_;
  bool done_ = false;
};

}  // namespace rocksieve::join
