// SPDX-License-Identifier: Apache-2.0
// What a join would cost: PlanJoin().
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <rocksieve/join/join.h>

#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/reconciliation.h"
#include "lib/join/session/session.h"
#include "lib/transport/client.h"
#include "lib/transport/status.h"
#include "plugin/join/status.h"
#include "plugin/join_api/join_impl.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kRange = 0;  // the only one
constexpr uint32_t kMostAttempts = 5;

// "filter of 4.5 bits, list"
std::string Words(const PlannedStep& planned) {
  std::string words;
  if (planned.filter_width > 0)
    words = absl::StrFormat("filter of %.1f bits", planned.filter_width);
  if (planned.ending) words.append(words.empty() ? "" : ", ").append(NameOf(*planned.ending));
  return words;
}

// Asks a server what the first range of a join looks like, and computes what each strategy would
// cost there. Nothing is joined.
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

PlanSession::PlanSession(Source* source, const ClientSessionOptions& options)
    : source_(source), options_(options), keys_memory_(options.memory) {
  plan_.local_keys = source->EstimateKeys();
  messages_.push_back(
      Encode(Hello{kProtocolVersion, Operation::kLocalOnly, options.salt, plan_.local_keys}));
}

absl::StatusOr<std::string> PlanSession::Next() {
  if (messages_.empty()) return std::string();
  std::string message = std::move(messages_.front());
  messages_.erase(messages_.begin());
  return message;
}

absl::Status PlanSession::Receive(std::string_view message) {
  ASSIGN_OR_RETURN(const Message decoded, Decode(message));
  if (const auto* failure = std::get_if<Failure>(&decoded)) {
    done_ = true;
    return absl::Status(failure->status.code(),
                        absl::StrCat("the other side failed: ", failure->status.message()));
  }
  const Expected expected = std::exchange(expected_, Expected::kNothing);
  const auto* answer = std::get_if<HelloAnswer>(&decoded);
  if (expected == Expected::kGreeting && answer != nullptr) {
    plan_.remote_keys = answer->keys;
    return Open(options_.interval);
  }
  const auto* facts = std::get_if<Facts>(&decoded);
  if (expected == Expected::kFacts && facts != nullptr && facts->range == kRange &&
      facts->attempt == attempt_) {
    return On(*facts);
  }
  return absl::InvalidArgumentError("the server speaks out of turn");
}

absl::Status PlanSession::Open(KeyInterval interval) {
  const uint64_t salt = RangeSalt(options_.salt, kRange, attempt_);
  RETURN_IF_ERROR(ScanKeys(source_, interval, salt, options_.keys_per_range, &keys_,
                           /*existing=*/{}, &keys_memory_));
  if (keys_.next_key) interval.end = *keys_.next_key;
  interval_ = interval;
  join::Open open;
  open.range = kRange;
  open.attempt = attempt_;
  open.interval = std::move(interval);
  open.sum = keys_.sum;
  open.server_begins = false;  // it need not make what will not be used
  const size_t counters = CountersFor(plan_.local_keys, plan_.remote_keys);
  if (counters != 0 && !keys_.candidates.empty()) {
    open.estimator = EncodeEstimator(keys_.candidates, counters, salt);
  }
  messages_.push_back(Encode(open));
  expected_ = Expected::kFacts;
  return absl::OkStatus();
}

absl::Status PlanSession::On(const Facts& facts) {
  if (facts.outcome == Facts::Outcome::kTooLarge) {
    if (!interval_.Contains(facts.next_key) || ++attempt_ == kMostAttempts) {
      return absl::InvalidArgumentError("the server cut a range outside of it");
    }
    return Open({interval_.begin, facts.next_key});
  }
  plan_.range_is_equal = facts.outcome == Facts::Outcome::kEqual;
  plan_.range_local_keys = keys_.sum.count;
  plan_.range_remote_keys = facts.sum.count;
  plan_.range_common_keys =  // an estimate, which may be more than there can be
      plan_.range_is_equal ? keys_.sum.count
                           : std::min({facts.common, keys_.sum.count, facts.sum.count});
  if (!plan_.range_is_equal) Weigh();
  messages_.push_back(Encode(Goodbye()));
  done_ = true;
  return absl::OkStatus();
}

void PlanSession::Weigh() {
  RangeEstimate estimate;
  estimate.mine = static_cast<double>(plan_.range_local_keys);
  estimate.theirs = static_cast<double>(plan_.range_remote_keys);
  estimate.common = static_cast<double>(plan_.range_common_keys);
  if (estimate.mine == 0 || estimate.theirs == 0) return;  // reconciled without a word
  // As in a join: the smaller side begins.
  const bool client_begins = plan_.remote_keys > 2 * plan_.local_keys;
  if (!client_begins) std::swap(estimate.mine, estimate.theirs);
  PlannerOptions options = options_.planner;
  options.keys = keys_.bits;
  const TurnLimit limit{client_begins, TurnsOf(options.most_round_trips, client_begins)};
  for (const Strategy strategy : kAllStrategies) {
    options.strategy = strategy;
    const PlannedStep planned = CheapestStep(estimate, limit, /*begun=*/{}, options);
    if (strategy == Strategy::kAuto) plan_.first_move = Words(planned);
    plan_.strategies.push_back({std::string(NameOf(strategy)), planned.bits()});
  }
  options.strategy = Strategy::kAuto;
  plan_.keys_are_as_cheap = KeysAreAsCheap(estimate, limit, options);
  std::stable_sort(
      plan_.strategies.begin(), plan_.strategies.end(),
      [](const JoinPlan::Strategy& a, const JoinPlan::Strategy& b) { return a.bits < b.bits; });
}

absl::StatusOr<JoinPlan> PlanWith(const Remote& remote, Source* source,
                                  const RemoteJoinOptions& options,
                                  const Cancellation* cancellation) {
  MemoryAccount memory(options.memory_bytes);
  ASSIGN_OR_RETURN(const std::unique_ptr<RemoteSession> session,
                   RemoteSession::Start(remote, options.request, {}, cancellation,
                                        Within(&memory, options.limits)));
  ClientSessionOptions client_options = options.client;
  client_options.memory = &memory;
  client_options.salt = std::random_device()();
  PlanSession plan(source, client_options);
  WireCounts counts;
  RETURN_IF_ERROR(session->Run(&plan, &counts));
  JoinPlan made = plan.plan();
  made.address = remote.address;
  return made;
}

absl::Status Plan(const Input& input, const Peer& peer, const JoinOptions& options,
                  std::vector<JoinPlan>* plans) {
  const RemoteJoinOptions remote_options = RemoteOptions(Operation::kCount, peer, options);
  return WithSources(input, peer, options, /*each_server=*/false,
                     [&](const auto& remotes, const auto& opened, auto* cancellation) {
                       CancellableSource source(opened.sources.front().get(), cancellation);
                       for (const Remote& remote : remotes) {
                         absl::StatusOr<JoinPlan> plan =
                             PlanWith(remote, &source, remote_options, cancellation);
                         if (!plan.ok()) return NamingPeer(remote.address, plan.status());
                         plans->push_back(*std::move(plan));
                       }
                       return absl::OkStatus();
                     });
}

}  // namespace

rocksdb::Status PlanJoin(const Input& input, const Peer& peer, const JoinOptions& options,
                         std::vector<JoinPlan>* plans) {
  plans->clear();
  return ToRocksDb(Guarded([&] { return Plan(input, peer, options, plans); }));
}

}  // namespace rocksieve::join
