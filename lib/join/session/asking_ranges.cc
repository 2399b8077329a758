// How the asking side cuts the key space into ranges, and opens them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"
#include "lib/join/rows/interval_text.h"
#include "lib/join/session/asking_task.h"

namespace rocksieve::join {
namespace {

constexpr double kShareOfTheirLimit = 0.9;  // their ranges are not all alike
constexpr double kFewKeys = 1000;           // ranges are not cut smaller because of the other side
constexpr double kEstimatedKeys = 1.02;     // what estimates of our own keys are wrong by

}  // namespace

absl::Status AskingSide::OpenNext() {
  size_t under_way = 0;
  for (Task& task : tasks_) {
    if (under_way++ == options_.ranges_ahead) return absl::OkStatus();
    if (task.Is<Task::ToOpen>()) return Open(&task, /*ends_at_rest=*/false);
  }
  if (under_way == options_.ranges_ahead || !rest_) return absl::OkStatus();
  KeyInterval interval = *rest_;
  if (!ready_.MayOpen(interval.begin, &interval.end)) return absl::OkStatus();
  if (interval.end == rest_->end) {
    rest_.reset();
  } else {
    rest_->begin = *interval.end;
  }
  const absl::Status status = AddTask(tasks_.end(), next_range_, std::move(interval));
  if (!status.ok()) return status;
  next_range_ += 2;
  return Open(&tasks_.back(), /*ends_at_rest=*/true);
}

absl::Status AskingSide::AddTask(Tasks::iterator before, uint64_t range, KeyInterval interval) {
  // In the task, its reader, its result and its report.
  constexpr uint64_t kCopies = 4;
  const uint64_t bytes = interval.begin.size() + (interval.end ? interval.end->size() : 0);
  const auto task = tasks_.emplace(before, range, std::move(interval), options_.memory);
  statistics_.ranges++;
  return task->memory.Resize(sizeof(Task) + kCopies * bytes, "fences of ranges");
}

// As large as both sides allow, and about equal: a small one costs nearly as much as a large one.
uint64_t AskingSide::KeysPerRange() const {
  const auto mine = static_cast<double>(std::max<uint64_t>(1, source_->EstimateKeys()));
  const auto theirs = static_cast<double>(std::max<uint64_t>(1, answer_->keys));
  const double fits_there = kShareOfTheirLimit * static_cast<double>(answer_->most_keys_per_range) *
                            std::min(1.0, mine / theirs);
  const double most = std::max(
      1.0, std::min(static_cast<double>(options_.keys_per_range), std::max(fits_there, kFewKeys)));
  const double ranges = std::ceil(mine / most);
  return static_cast<uint64_t>(std::min(most, std::ceil(kEstimatedKeys * mine / ranges)));
}

absl::Status AskingSide::Scan(Task* task, uint64_t salt, const ReadyUse& ready) {
  const bool first = !task->scanned;
  if (first) task->opened = std::chrono::steady_clock::now();
  task->scanned = true;
  absl::Status status;
  bool scanned = true;
  if (options_.shared != nullptr && first && task->range % 2 == 0) {
    status = options_.shared->Take(source_, task->interval, salt, options_.keys_per_range,
                                   &task->keys, &task->filters, &scanned);
  } else {
    task->filters.reset();
    // What was scanned before is not cut again.
    status =
        ScanKeys(source_, task->interval, salt, first ? keys_per_range_ : options_.keys_per_range,
                 &task->keys, ready, &task->keys_memory);
  }
  if (status.ok()) {
    status = task->keys_memory.Resize(task->keys.candidates.capacity() * sizeof(Candidate),
                                      "keys of a range");
  }
  if (scanned) statistics_.keys_hashed += task->keys.sum.count;
  return status;
}

absl::Status AskingSide::Open(Task* task, bool ends_at_rest) {
  uint64_t salt = 0;
  ReadyUse ready;
  for (;;) {
    salt = RangeSalt(options_.salt, task->range, task->attempt);
    // Only the first attempt relies on ready filters.
    const bool use =
        task->attempt == 0 && ready_.usable() && ready_.set()->Covers(task->interval.end);
    ready =
        use ? ReadyUse{ready_.set(), ready_.role() == ReadyExchange::Role::kReceiver} : ReadyUse();
    const absl::Status status = Scan(task, salt, ready);
    if (!status.ok()) return Naming(task->interval, status);
    if (!task->keys.uncovered) break;
    const absl::Status repeated = RepeatWithoutReady(task);
    if (!repeated.ok()) return repeated;
  }
  if (task->keys.next_key && ends_at_rest) {
    rest_ = KeyInterval{*task->keys.next_key, options_.interval.end};
    task->interval.end = *task->keys.next_key;
  } else if (task->keys.next_key) {
    const absl::Status cut = CutShort(task, *task->keys.next_key);
    if (!cut.ok()) return cut;
  }
  task->phase = Task::Opening();
  join::Open open;
  open.range = task->range;
  open.attempt = task->attempt;
  open.interval = task->interval;
  open.sum = task->keys.sum;
  task->pruned = ready.prunes;
  if (ready.prunes) {
    open.pruning.filters = ready.set->size();
    open.pruning.digest = ready.set->DigestOf(ready.set->size());
    open.pruning.candidates = task->keys.candidates.size();
    task->pruned_keys = task->keys.sum.count - task->keys.candidates.size();
    statistics_.ready.pruned_keys += task->pruned_keys;
  }
  task->answering_side_begins = open.answering_side_begins = AnsweringSideBegins(*task, ready);
  const size_t counters = CountersFor(source_->EstimateKeys(), answer_->keys);
  if (counters != 0 && !task->keys.candidates.empty() && ready.set == nullptr) {
    open.estimator = EncodeEstimator(task->keys.candidates, counters, salt);
  }
  return Send(open, task);
}

// The smaller side begins: what it says is shorter, and says more. Where this side cannot know how
// many candidates the other has, it takes what is to be expected.
bool AskingSide::AnsweringSideBegins(const Task& task, const ReadyUse& ready) const {
  const auto own_keys = static_cast<double>(source_->EstimateKeys());
  const auto their_keys = static_cast<double>(answer_->keys);
  if (ready.set == nullptr || own_keys < 1) return their_keys <= 2 * own_keys;
  const auto mine = static_cast<double>(task.keys.candidates.size());
  double theirs = their_keys / own_keys * static_cast<double>(task.keys.sum.count);
  if (!ready.prunes) theirs = std::min(mine, theirs) / 2 + offer_.pass_rate * theirs;
  return theirs <= 2 * mine;
}

// The part that is cut off is a range of its own, which comes next.
absl::Status AskingSide::CutShort(Task* task, const std::string& next_key) {
  const auto after = std::find_if(tasks_.begin(), tasks_.end(),
                                  [task](const Task& other) { return &other == task; });
  const absl::Status status =
      AddTask(std::next(after), next_cut_range_, KeyInterval{next_key, task->interval.end});
  next_cut_range_ += 2;
  task->interval.end = next_key;
  return status;
}

absl::Status AskingSide::Repeat(Task* task, const absl::Status& why) {
  statistics_.repeated_ranges++;
  task->attempt++;
  const uint32_t faults = task->attempt - task->attempts_without_fault;
  if (faults >= static_cast<uint32_t>(options_.most_attempts)) {
    return absl::DataLossError(absl::StrCat(
        "the two sides still disagree about a range after ", faults, " attempts (", why.message(),
        "); one of them is broken, or changes its data while it is read. No result was given "
        "for the range"));
  }
  task->phase = Task::ToOpen();
  task->keys_memory.Release();
  return absl::OkStatus();
}

absl::Status AskingSide::RepeatWithoutReady(Task* task) {
  absl::Status status;
  if (ready_.usable() && ready_.role() == ReadyExchange::Role::kSender) {
    status = Send(Filters{Filters::State::kWithdrawn, ""});
  }
  ready_.Withdraw();
  statistics_.ready.withdrawn_ranges++;
  statistics_.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);
  task->attempt++;
  task->attempts_without_fault++;
  task->phase = Task::ToOpen();
  return status;
}

}  // namespace rocksieve::join
