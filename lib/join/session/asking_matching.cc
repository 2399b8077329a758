// What the asking side makes of an opened range, until it is settled.
#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"
#include "lib/join/session/asking_task.h"

namespace rocksieve::join {
namespace {

// One after another of the same range: an honest side cuts a range once, and once more if it scans
// it again without the filters that were withdrawn meanwhile.
constexpr uint32_t kMostCuts = 2;

}  // namespace

absl::Status AskingSide::On(const Facts& facts) {
  absl::StatusOr<Task*> found = Find(facts.range);
  if (!found.ok()) return found.status();
  Task* task = *found;
  if (!task->Is<Task::Opening>() || task->attempt != facts.attempt) {
    return absl::InvalidArgumentError("the answering side opened a range that it was not asked to");
  }
  if (facts.sum.count > kMostKeysOfARange) {
    return absl::InvalidArgumentError(absl::StrCat("the answering side says that it has ",
                                                   facts.sum.count, " keys, where ",
                                                   kMostKeysOfARange, " are allowed"));
  }
  task->theirs = facts.sum;
  if (facts.pruning.filters) {
    const bool sent = task->attempt == 0 && ready_.role() == ReadyExchange::Role::kSender;
    if (!sent || facts.pruning.candidates > facts.sum.count) {
      return absl::InvalidArgumentError("the answering side dropped keys for no reason");
    }
    if (ready_.set() == nullptr ||
        !ready_.set()->IsCoveredBy(*facts.pruning.filters, facts.pruning.digest,
                                   task->interval.end)) {
      task->ignores_turn = facts.outcome == Facts::Outcome::kOpened && task->answering_side_begins;
      return RepeatWithoutReady(task);
    }
    if (facts.outcome != Facts::Outcome::kTooLarge) {
      statistics_.ready.pruned_keys += facts.sum.count - facts.pruning.candidates;
    }
  }
  if (facts.outcome == Facts::Outcome::kTooLarge) {
    if (!task->interval.Contains(facts.next_key) || facts.next_key == task->interval.begin) {
      return absl::InvalidArgumentError("the answering side cut a range outside of it");
    }
    if (++task->cuts > kMostCuts) {
      return absl::InvalidArgumentError(
          "the answering side cut a range again that ends where it wanted it to");
    }
    statistics_.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);  // scanned again
    task->phase = Task::ToOpen();
    return CutShort(task, facts.next_key);
  }
  if (facts.outcome == Facts::Outcome::kWithdrawn) {
    if (task->attempt > 0 || ready_.role() != ReadyExchange::Role::kReceiver) {
      return absl::InvalidArgumentError("the answering side withdrew filters that were not used");
    }
    return RepeatWithoutReady(task);
  }
  if (facts.outcome == Facts::Outcome::kEqual) {
    if (!(facts.sum == task->keys.sum)) {
      return absl::InvalidArgumentError("the answering side takes different ranges for equal");
    }
    statistics_.equal_ranges++;
    task->keys.candidates = {};
    task->keys_memory.Release();
    task->phase = Task::Settled{/*equal=*/true, {}, facts.sum.count, {}};
    return absl::OkStatus();
  }
  const Matching::Options options = OptionsFor(*task, facts);
  const Standing mine = {static_cast<double>(task->keys.candidates.size()), options.their_count,
                         options.common, options.common_error};
  const absl::Status affordable = CheckMostBytes(
      options.begins ? mine : Standing{mine.theirs, mine.mine, mine.common, mine.common_error},
      options.begins, options.planner);
  if (!affordable.ok()) return affordable;
  Task::Reconciling reconciling;
  reconciling.reader = std::make_unique<SourceKeyReader>(source_, task->interval);
  task->keys_memory.Release();  // the Matching holds them from now on
  reconciling.matching = std::make_unique<Matching>(std::move(task->keys.candidates), options,
                                                    reconciling.reader.get());
  task->phase = std::move(reconciling);
  return Continue(task);
}

Matching::Options AskingSide::OptionsFor(const Task& task, const Facts& facts) const {
  Matching::Options options;
  options.salt = RangeSalt(options_.salt, task.range, task.attempt);
  options.attempt = task.attempt;
  options.asks = true;
  options.begins = !task.answering_side_begins;
  options.their_count =
      static_cast<double>(facts.pruning.filters ? facts.pruning.candidates : facts.sum.count);
  options.their_count_is_exact = true;
  options.most_list_entries = facts.sum.count;
  options.most_message_bytes = options_.most_message_bytes;
  options.longest_key_bytes = task.keys.longest_key_bytes;
  options.common = static_cast<double>(facts.common);
  options.common_error =
      CommonError(CountersFor(source_->EstimateKeys(), answer_->keys), options.common,
                  static_cast<double>(task.keys.candidates.size()), options.their_count);
  if (facts.pruning.filters) {
    options.common_error = CommonAfterReadyFilters(static_cast<double>(facts.sum.count),
                                                   options.their_count, offer_.pass_rate)
                               .standard_error;
  } else if (task.pruned) {
    options.common_error = CommonAfterReadyFilters(static_cast<double>(task.keys.sum.count),
                                                   static_cast<double>(task.keys.candidates.size()),
                                                   answer_->ready_pass_rate)
                               .standard_error;
  }
  options.memory = options_.memory;
  options.planner = options_.planner;
  if (options.planner.strategy == Strategy::kSstFilters) options.planner.strategy = Strategy::kAuto;
  options.planner.keys = {task.keys.bits_per_key, task.keys.sparse_bits_per_key,
                          static_cast<double>(task.keys.sum.count)};
  options.filters = task.filters.get();
  return options;
}

absl::Status AskingSide::CheckMostBytes(const Standing& first_mover, bool asking_side_begins,
                                        const PlannerOptions& planner) const {
  if (options_.most_bytes == 0 || first_mover.mine < 1 || first_mover.theirs < 1) {
    return absl::OkStatus();
  }
  const TurnLimit turns = {asking_side_begins,
                           TurnsOf(planner.most_round_trips, asking_side_begins)};
  const double range_bytes = CheapestMove(first_mover, turns, 0, planner).bits / 8;
  const double ranges =
      std::max(1.0, static_cast<double>(source_->EstimateKeys()) /
                        std::max(1.0, asking_side_begins ? first_mover.mine : first_mover.theirs));
  const Traffic& sent = statistics_.sent;
  const Traffic& received = statistics_.received;
  const auto spent =
      static_cast<double>(sent.total() - sent.payload + received.total() - received.payload);
  const double expected = std::max(range_bytes * ranges, spent + range_bytes);
  if (expected <= static_cast<double>(options_.most_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the join would take about ", static_cast<uint64_t>(expected),
      " bytes, rows apart, and the limit is ", options_.most_bytes,
      "; allow more, join a part of the keys, or allow more round trips. No rows were fetched for "
      "the ranges that are open"));
}

absl::Status AskingSide::On(const Turn& turn) {
  absl::StatusOr<Task*> task = Find(turn.range);
  if (!task.ok()) return task.status();
  if (std::exchange((*task)->ignores_turn, false)) return absl::OkStatus();
  auto* const reconciling = std::get_if<Task::Reconciling>(&(*task)->phase);
  if (reconciling == nullptr || reconciling->matching->state() != Matching::State::kTheirTurn) {
    return absl::InvalidArgumentError("the answering side spoke out of turn");
  }
  const absl::Status status = reconciling->matching->Receive(turn.message);
  return status.ok() ? Continue(*task) : status;
}

absl::Status AskingSide::Continue(Task* task) {
  Matching* const matching = std::get<Task::Reconciling>(task->phase).matching.get();
  if (matching->state() == Matching::State::kMyTurn) {
    Turn turn;
    turn.range = task->range;
    absl::Status status = matching->TakeTurn(&turn.message);
    if (status.ok()) status = Send(turn, task);
    if (!status.ok()) return status;
  }
  const bool contradicted = matching->state() == Matching::State::kContradicted;
  const bool settled = matching->state() == Matching::State::kSettled;
  if (contradicted || settled) {
    statistics_.filters_built += matching->counts().filters_built;
    statistics_.filters += matching->counts().filters_sent + matching->counts().filters_received;
  }
  if (contradicted) {
    return Repeat(task, absl::AbortedError("the sums of the matched keys differ"));
  }
  if (settled) {
    CountEnding(matching->ending());
    // The last turn is the answering side's, and its first one comes with the opening.
    statistics_.most_range_round_trips =
        std::max(statistics_.most_range_round_trips, matching->counts().turns / 2);
    Task::Settled outcome{/*equal=*/false, matching->TakeMatched(), 0, matching->counts()};
    outcome.matched_keys = outcome.matched.size();
    const uint64_t bytes = outcome.matched.capacity() * sizeof(Candidate);
    task->phase = std::move(outcome);  // with all that the Matching held
    return task->keys_memory.Resize(bytes, "matched keys");
  }
  return absl::OkStatus();
}

void AskingSide::CountEnding(MoveKind ending) {
  switch (ending) {
    case MoveKind::kKeys:
      statistics_.ranges_by_keys++;
      break;
    case MoveKind::kSymbols:
      statistics_.ranges_by_symbols++;
      break;
    case MoveKind::kSketch:
      statistics_.ranges_by_sketch++;
      break;
    default:
      statistics_.ranges_by_list++;
  }
}

}  // namespace rocksieve::join
