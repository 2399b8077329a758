// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/plan_session.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "lib/join/matching/common_estimate.h"
#include "lib/join/matching/planner.h"
#include "lib/join/matching/strategy.h"

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

}  // namespace

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
  const absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
  if (const auto* failure = std::get_if<Failure>(&*decoded)) {
    done_ = true;
    return absl::Status(failure->status.code(),
                        absl::StrCat("the other side failed: ", failure->status.message()));
  }
  const Expected expected = std::exchange(expected_, Expected::kNothing);
  const auto* answer = std::get_if<HelloAnswer>(&*decoded);
  if (expected == Expected::kGreeting && answer != nullptr) {
    plan_.remote_keys = answer->keys;
    return Open(options_.interval);
  }
  const auto* facts = std::get_if<Facts>(&*decoded);
  if (expected == Expected::kFacts && facts != nullptr && facts->range == kRange &&
      facts->attempt == attempt_) {
    return On(*facts);
  }
  return absl::InvalidArgumentError("the server speaks out of turn");
}

absl::Status PlanSession::Open(KeyInterval interval) {
  const uint64_t salt = RangeSalt(options_.salt, kRange, attempt_);
  const absl::Status status = ScanKeys(source_, interval, salt, options_.keys_per_range, &keys_,
                                       /*existing=*/{}, &keys_memory_);
  if (!status.ok()) return status;
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
  options.keys = {keys_.bits_per_key, keys_.sparse_bits_per_key,
                  static_cast<double>(plan_.range_local_keys), keys_.front_coded_bits_per_key};
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

}  // namespace rocksieve::join
