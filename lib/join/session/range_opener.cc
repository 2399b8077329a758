#include "lib/join/session/range_opener.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"
#include "lib/join/rows/interval_text.h"

namespace rocksieve::join {
namespace {

constexpr double kShareOfTheirLimit = 0.9;  // their ranges are not all alike
constexpr double kFewKeys = 1000;           // ranges are not cut smaller because of the other side
constexpr double kEstimatedKeys = 1.02;     // what estimates of our own keys are wrong by
// One after another of the same range: an honest side cuts a range once, and once more if it scans
// it again without the filters that were withdrawn meanwhile.
constexpr uint32_t kMostCuts = 2;

}  // namespace

// Ranges are as large as both sides allow, and about equal: a small one costs nearly as much as a
// large one.
void RangeOpener::Begin() {
  const HelloAnswer& answer = context_->answer;
  const auto mine = static_cast<double>(std::max<uint64_t>(1, context_->source->EstimateKeys()));
  const auto theirs = static_cast<double>(std::max<uint64_t>(1, answer.keys));
  const double fits_there = kShareOfTheirLimit * static_cast<double>(answer.most_keys_per_range) *
                            std::min(1.0, mine / theirs);
  const double most = std::max(1.0, std::min(static_cast<double>(context_->options.keys_per_range),
                                             std::max(fits_there, kFewKeys)));
  const double ranges = std::ceil(mine / most);
  keys_per_range_ =
      static_cast<uint64_t>(std::min(most, std::ceil(kEstimatedKeys * mine / ranges)));
}

absl::Status RangeOpener::OpenNext() {
  AskingTasks& tasks = context_->tasks;
  size_t under_way = 0;
  for (AskingTask& task : tasks) {
    if (under_way++ == context_->options.ranges_ahead) return absl::OkStatus();
    if (task.Is<AskingTask::ToOpen>()) return Open(&task, /*ends_at_rest=*/false);
  }
  if (under_way == context_->options.ranges_ahead || !tasks.rest()) return absl::OkStatus();
  std::optional<std::string> end = tasks.rest()->end;
  if (!context_->ready.MayOpen(tasks.rest()->begin, &end)) return absl::OkStatus();
  const absl::StatusOr<AskingTask*> task = tasks.AddNext(std::move(end));
  return task.ok() ? Open(*task, /*ends_at_rest=*/true) : task.status();
}

absl::Status RangeOpener::Scan(AskingTask* task, const ReadyUse& ready) {
  const AskingOptions& options = context_->options;
  const uint64_t salt = context_->SaltOf(*task);
  const bool first = !task->opened;
  if (first) task->opened = std::chrono::steady_clock::now();
  absl::Status status;
  bool scanned = true;
  if (options.shared != nullptr && first && task->range % 2 == 0) {
    status = options.shared->Take(context_->source, task->interval, salt, options.keys_per_range,
                                  &task->keys, &task->filters, &scanned);
  } else {
    task->filters.reset();
    // What was scanned before is not cut again.
    status = ScanKeys(context_->source, task->interval, salt,
                      first ? keys_per_range_ : options.keys_per_range, &task->keys, ready,
                      &task->keys_memory);
  }
  if (status.ok()) {
    status = task->keys_memory.Resize(task->keys.candidates.capacity() * sizeof(Candidate),
                                      "keys of a range");
  }
  if (scanned) context_->statistics.keys_hashed += task->keys.sum.count;
  return status;
}

// Only the first attempt relies on ready filters.
ReadyUse RangeOpener::ReadyUseFor(const AskingTask& task) const {
  const ReadyExchange& ready = context_->ready;
  if (task.attempt > 0 || !ready.usable() || !ready.set()->Covers(task.interval.end)) return {};
  return {ready.set(), ready.role() == ReadyExchange::Role::kReceiver};
}

absl::Status RangeOpener::Open(AskingTask* task, bool ends_at_rest) {
  ReadyUse ready;
  for (;;) {
    ready = ReadyUseFor(*task);
    const absl::Status status = Scan(task, ready);
    if (!status.ok()) return Naming(task->interval, status);
    if (!task->keys.uncovered) break;
    const absl::Status repeated = context_->RepeatWithoutReady(task);
    if (!repeated.ok()) return repeated;
  }
  const RangeKeys& keys = task->keys;
  if (keys.next_key && ends_at_rest) {
    context_->tasks.GiveBack(task, *keys.next_key);
  } else if (keys.next_key) {
    const absl::Status cut = context_->tasks.CutShort(task, *keys.next_key);
    if (!cut.ok()) return cut;
  }
  join::Open open;
  open.range = task->range;
  open.attempt = task->attempt;
  open.interval = task->interval;
  open.sum = keys.sum;
  task->pruned = ready.prunes;
  if (ready.prunes) {
    open.pruning.filters = ready.set->size();
    open.pruning.digest = ready.set->DigestOf(ready.set->size());
    open.pruning.candidates = keys.candidates.size();
    task->pruned_keys = keys.sum.count - keys.candidates.size();
    context_->statistics.ready.pruned_keys += task->pruned_keys;
  }
  open.answering_side_begins = AnsweringSideBegins(*task, ready);
  const size_t counters = CountersFor(context_->source->EstimateKeys(), context_->answer.keys);
  if (counters != 0 && !keys.candidates.empty() && ready.set == nullptr) {
    open.estimator = EncodeEstimator(keys.candidates, counters, context_->SaltOf(*task));
  }
  task->phase = AskingTask::Opening{open.answering_side_begins};
  return context_->Send(open, task);
}

// The smaller side begins: what it says is shorter, and says more. Where this side cannot know how
// many candidates the other has, it takes what is to be expected.
bool RangeOpener::AnsweringSideBegins(const AskingTask& task, const ReadyUse& ready) const {
  const auto own_keys = static_cast<double>(context_->source->EstimateKeys());
  const auto their_keys = static_cast<double>(context_->answer.keys);
  if (ready.set == nullptr || own_keys < 1) return their_keys <= 2 * own_keys;
  const auto mine = static_cast<double>(task.keys.candidates.size());
  double theirs = their_keys / own_keys * static_cast<double>(task.keys.sum.count);
  if (!ready.prunes) theirs = std::min(mine, theirs) / 2 + context_->offer.pass_rate * theirs;
  return theirs <= 2 * mine;
}

absl::Status RangeOpener::CheckCounts(const AskingTask& task, const Facts& facts) const {
  if (facts.sum.count > kMostKeysOfARange) {
    return absl::InvalidArgumentError(absl::StrCat("the answering side says that it has ",
                                                   facts.sum.count, " keys, where ",
                                                   kMostKeysOfARange, " are allowed"));
  }
  if (!facts.pruning.filters) return absl::OkStatus();
  const bool sent = task.attempt == 0 && context_->ready.role() == ReadyExchange::Role::kSender;
  if (!sent || facts.pruning.candidates > facts.sum.count) {
    return absl::InvalidArgumentError("the answering side dropped keys for no reason");
  }
  return absl::OkStatus();
}

bool RangeOpener::PrunedRightly(const AskingTask& task, const Pruning& pruning) const {
  const ReadyFilterSet* const set = context_->ready.set();
  return set != nullptr && set->IsCoveredBy(*pruning.filters, pruning.digest, task.interval.end);
}

absl::Status RangeOpener::Receive(const Facts& facts) {
  const absl::StatusOr<AskingTask*> found = context_->tasks.Find(facts.range);
  if (!found.ok()) return found.status();
  AskingTask* const task = *found;
  const auto* const opening = std::get_if<AskingTask::Opening>(&task->phase);
  if (opening == nullptr || task->attempt != facts.attempt) {
    return absl::InvalidArgumentError("the answering side opened a range that it was not asked to");
  }
  const absl::Status status = CheckCounts(*task, facts);
  if (!status.ok()) return status;
  task->theirs = facts.sum;
  if (facts.pruning.filters && !PrunedRightly(*task, facts.pruning)) {
    task->ignores_turn = facts.outcome == Facts::Outcome::kOpened && opening->answering_side_begins;
    return context_->RepeatWithoutReady(task);
  }
  if (facts.pruning.filters && facts.outcome != Facts::Outcome::kTooLarge) {
    context_->statistics.ready.pruned_keys += facts.sum.count - facts.pruning.candidates;
  }
  switch (facts.outcome) {
    case Facts::Outcome::kTooLarge:
      return Cut(task, facts.next_key);
    case Facts::Outcome::kWithdrawn:
      if (task->attempt > 0 || context_->ready.role() != ReadyExchange::Role::kReceiver) {
        return absl::InvalidArgumentError("the answering side withdrew filters that were not used");
      }
      return context_->RepeatWithoutReady(task);
    case Facts::Outcome::kEqual:
      return SettleEqual(task);
    case Facts::Outcome::kOpened:
      break;
  }
  return reconciler_->Begin(task, facts);
}

absl::Status RangeOpener::Cut(AskingTask* task, const std::string& next_key) {
  if (!task->interval.Contains(next_key) || next_key == task->interval.begin) {
    return absl::InvalidArgumentError("the answering side cut a range outside of it");
  }
  if (++task->cuts > kMostCuts) {
    return absl::InvalidArgumentError(
        "the answering side cut a range again that ends where it wanted it to");
  }
  context_->statistics.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);  // scanned again
  task->phase = AskingTask::ToOpen();
  return context_->tasks.CutShort(task, next_key);
}

absl::Status RangeOpener::SettleEqual(AskingTask* task) {
  if (!(task->theirs == task->keys.sum)) {
    return absl::InvalidArgumentError("the answering side takes different ranges for equal");
  }
  context_->statistics.equal_ranges++;
  task->keys.candidates = {};
  task->keys_memory.Release();
  task->phase = AskingTask::Settled{{/*all=*/true, {}}, /*equal=*/true, task->theirs.count, {}};
  return absl::OkStatus();
}

}  // namespace rocksieve::join
