// SPDX-License-Identifier: Apache-2.0
// The side of a join that wants to know.
//
// RangeReconciler opens a range and finds out which of its keys are matched,
// ResultDelivery brings the rows to the sink; ClientRange says in which phase of that a range is.
// Here are the hello, and the order of work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/session/client_ranges.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_reconciler.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/session.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::join {

// Brings the results of reconciled ranges to the sink of a client, in key order: asks for the rows
// of the other side that belong to them, and proves what comes.
class ResultDelivery {
 public:
  // `context` must outlive it.
  explicit ResultDelivery(ClientState* context) : context_(context) {}

  // Asks for rows of the first reconciled ranges; makes their results, if no rows are needed.
  absl::Status Advance();
  // Rows of a range. The range is done with the last ones, or repeated if they contradict what was
  // reconciled.
  absl::Status Receive(const Rows& rows);

 private:
  void BeginFetching(ClientRange* range);
  absl::Status IgnoreRows(ClientRange* range, const Rows& rows) const;
  // Gives the first range's result to the sink.
  absl::Status FinishFirst();
  absl::Status DiscardAndRepeat(ClientRange* range, const absl::Status& why);
  void Report(ClientRange* range);

  ClientState* const context_;
};

// Those of both sides, on their way to the sink of a client.
class AbsentRowsFetch {
 public:
  // `context` must outlive it.
  explicit AbsentRowsFetch(ClientState* context) : context_(context) {}

  // Once all ranges are done. True when there is no more to do.
  absl::StatusOr<bool> Advance();
  absl::Status Receive(const Rows& rows);

 private:
  absl::Status GiveOwnRows();
  absl::Status Repeat();

  ClientState* const context_;
  bool received_ = false;
  uint32_t attempt_ = 0;
  std::unique_ptr<AbsentRowsReader> reader_;  // while they are received
};

class ClientSession final : public Session {
 public:
  // The pointers must outlive it.
  ClientSession(Source* source, Sink* sink, const ClientSessionOptions& options);

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return true; }
  bool done() const override { return done_; }
  bool computes() const override { return !context_.turns.empty(); }
  void WhenReady(std::function<void()> ready) override {
    context_.turns.WhenReady(std::move(ready));
  }

  const Statistics& statistics() const { return context_.statistics; }
  // The error is what the other side said, not what went wrong here.
  bool other_side_failed() const { return other_side_failed_; }

  // The part of the key space whose results were not yet committed to the sink: where another
  // session with the same data goes on after this one broke. An empty interval if only rows with a
  // NULL key are left; nothing if nothing is.
  std::optional<KeyInterval> Uncommitted() const;

 private:
  absl::Status On(const HelloAnswer& answer);
  absl::Status On(const Filters& filters) { return context_.existing.Receive(filters); }
  absl::Status On(const Facts& facts) { return reconciler_.Receive(facts); }
  absl::Status On(Step step) { return reconciler_.Receive(std::move(step)); }
  absl::Status On(const Rows& rows);
  absl::Status On(const Failure& failure);
  template <typename Other>
  absl::Status On(const Other&);

  absl::Status SayHello();
  // Says what there is to be said when nothing has to be heard first.
  absl::Status Advance();

  const PagePool::User pool_user_;  // outlives all that lies in pages
  ClientState context_;
  RangeReconciler reconciler_;
  ResultDelivery delivery_;
  AbsentRowsFetch absent_;
  absl::Status begun_;  // of the hello
  bool answered_ = false, done_ = false, other_side_failed_ = false;
  bool all_is_given_ = false;  // rows with a NULL key too
};

}  // namespace rocksieve::join
