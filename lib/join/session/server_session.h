// SPDX-License-Identifier: Apache-2.0
// The side of a join that has what is asked for. Here are the hello, and the order of what it says;
// ServerRanges has the ranges.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/server_ranges.h"
#include "lib/join/session/session.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

class ServerSession final : public Session {
 public:
  // `source` must outlive it.
  ServerSession(Source* source, const ServerSessionOptions& options);

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return false; }
  bool done() const override { return done_; }
  bool computes() const override { return ranges_ && ranges_->computes(); }
  void WhenReady(std::function<void()> ready) override;

  // What the client wants; nothing before its hello.
  std::optional<Operation> operation() const { return operation_; }
  // Read for the client, those of repeated ranges as often as they were repeated.
  uint64_t rows_sent() const;

 private:
  absl::Status On(const Hello& hello);
  absl::Status On(const Open& open) { return ranges_->Receive(open); }
  absl::Status On(Step step) { return ranges_->Receive(std::move(step)); }
  absl::Status On(const Fetch& fetch);
  absl::Status On(const Goodbye& goodbye);
  absl::Status On(const Failure& failure);
  absl::Status On(const Filters& filters) { return existing_.Receive(filters); }
  template <typename Other>
  absl::Status On(const Other&);

  // Decides whose existing SST filters are used, and says so in the answer. `own`: what this side
  // has.
  absl::Status ChooseFilters(const Hello& hello, ExistingFilterOffer* own, HelloAnswer* answer);

  const PagePool::User pool_user_;  // outlives all that lies in pages
  Source* const source_;
  ServerSessionOptions options_;
  ExistingFilterExchange existing_;
  Outbox outbox_;
  std::optional<Operation> operation_;  // of the hello
  std::optional<ServerRanges> ranges_;  // since the hello
  uint64_t absent_rows_sent_ = 0;
  bool sends_unmatched_ = false;              // rows, and so those with a NULL key
  std::unique_ptr<AbsentRowsWriter> absent_;  // while they are sent
  bool done_ = false;
  std::function<void()> ready_;  // until there are ranges
};

}  // namespace rocksieve::join
