#include "join/asking_side.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join/common_estimate.h"
#include "join/interval_text.h"
#include "join/key_reader.h"
#include "join/message_accounting.h"

namespace rocksieve::join {
namespace {

constexpr double kShareOfTheirLimit = 0.9;  // their ranges are not all alike
constexpr double kFewKeys = 1000;           // ranges are not cut smaller because of the other side
constexpr double kEstimatedKeys = 1.02;     // what estimates of our own keys are wrong by
constexpr size_t kFetchedAhead = 2;         // ranges whose rows are on their way

}  // namespace

// One range, from its opening until its result is with the sink.
struct AskingSide::Task {
  enum class Phase { kToOpen, kOpening, kMatching, kSettled, kFetching };

  explicit Task(uint64_t id, KeyInterval part) : range(id), interval(std::move(part)) {}

  const uint64_t range;
  KeyInterval interval;
  uint32_t attempt = 0;
  uint32_t attempts_without_fault = 0;  // given up since ready filters were withdrawn
  bool answering_side_begins = true;
  bool pruned = false;        // its candidates, by ready filters
  uint64_t pruned_keys = 0;   // by these
  bool ignores_turn = false;  // the next one, which belongs to an attempt that was given up
  Phase phase = Phase::kToOpen;
  RangeKeys keys;  // the candidates are given away when matching begins
  SetSum theirs;
  bool equal = false;
  std::unique_ptr<SourceKeyReader> reader;
  std::unique_ptr<Matching> matching;
  std::unique_ptr<RangeResult> result;
  RangeReport report;
  std::chrono::steady_clock::time_point opened;
  bool scanned = false;                  // at least once
  std::shared_ptr<FilterMaker> filters;  // shared with other sessions; may be null
  bool asked = false;                    // since something was heard
};

AskingSide::AskingSide(Source* source, Sink* sink, const AskingOptions& options)
    : source_(source),
      sink_(sink),
      options_(options),
      ready_(source, options.ready),
      rest_(options.interval) {
  Hello hello;
  hello.operation = options_.operation;
  hello.salt = options_.salt;
  hello.keys = source_->EstimateKeys();
  hello.strategy = options_.planner.strategy;
  hello.most_round_trips = static_cast<uint32_t>(options_.planner.most_round_trips);
  // Sessions that share a scan all need the same of it.
  if (WantsReadyFilters(options_.planner.strategy) && options_.shared == nullptr) {
    hello.interval = options_.interval;
    hello.ready = offer_ = ready_.Offer(options_.interval);
    hello.accepted_ready_bytes = options_.ready.most_bytes;
    hello.readable_formats = options_.ready.readable_formats();
  }
  Send(hello);
}

AskingSide::~AskingSide() = default;

void AskingSide::Send(const Message& message, Task* task) {
  messages_.push_back(Encode(message));
  CountBytes(message, messages_.back().size(), &statistics_.sent);
  if (task == nullptr) return;
  CountBytes(message, messages_.back().size(), &task->report.sent);
  NoteMoves(message, &task->report);
  task->asked = true;
}

absl::Status AskingSide::Receive(std::string_view message) {
  absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
  CountBytes(*decoded, message.size(), &statistics_.received);
  const std::optional<uint64_t> range = RangeOf(*decoded);
  for (Task& task : tasks_) {
    if (range != task.range) continue;
    CountBytes(*decoded, message.size(), &task.report.received);
    NoteMoves(*decoded, &task.report);
    task.report.round_trips += std::exchange(task.asked, false);
    const KeyInterval interval = task.interval;  // the task may be done after this
    return Naming(interval, std::visit([this](const auto& alternative) { return On(alternative); },
                                       *decoded));
  }
  return std::visit([this](const auto& alternative) { return On(alternative); }, *decoded);
}

template <typename Other>
absl::Status AskingSide::On(const Other&) {
  return absl::InvalidArgumentError("the answering side sent a message that only askers may send");
}

absl::Status AskingSide::On(const HelloAnswer& answer) {
  if (answer_) return absl::InvalidArgumentError("the answering side answered hello twice");
  if (answer.version != kProtocolVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the answering side speaks version ", answer.version, " of the join protocol, this side ",
        kProtocolVersion, ": use the same version of rocksieve on both sides"));
  }
  if (answer.hash_check != HashCheck(options_.salt)) {
    return absl::InvalidArgumentError(
        "the answering side computes other hashes than this side: use the same version of "
        "rocksieve on both sides");
  }
  answer_ = answer;
  statistics_.ready.choice = answer.ready_choice;
  if (answer.ready_choice == ReadyChoice::kAnswering) ready_.BeginReceiving();
  if (answer.ready_choice == ReadyChoice::kAsking) {
    if (!offer_.exists()) {
      return absl::InvalidArgumentError("the answering side wants filters that were not offered");
    }
    ready_.BeginSending(answer.accepted_ready_bytes);
  }
  keys_per_range_ = KeysPerRange();
  return absl::OkStatus();
}

absl::Status AskingSide::On(const Filters& filters) { return ready_.Receive(filters); }

absl::Status AskingSide::On(const Failure& failure) {
  done_ = other_side_failed_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the other side failed: ", failure.status.message()));
}

absl::StatusOr<AskingSide::Task*> AskingSide::Find(uint64_t range) {
  for (Task& task : tasks_) {
    if (task.range == range) return &task;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the answering side speaks of range ", range, ", which is not open"));
}

absl::StatusOr<std::string> AskingSide::Next() {
  if (messages_.empty() && answer_ && !done_) {
    absl::Status status = AdvanceSettled();
    Filters filters;
    if (status.ok() && messages_.empty() && ready_.has_unsent() && ready_.Next(&filters)) {
      Send(filters);
    }
    if (status.ok() && messages_.empty()) status = OpenNext();
    if (!status.ok()) return status;
    if (messages_.empty() && !ready_.finished() && ready_.Next(&filters)) Send(filters);
    statistics_.ready.filters = ready_.filters();
    statistics_.ready.bytes = ready_.bytes();
    if (messages_.empty() && tasks_.empty() && !rest_) {
      const absl::StatusOr<bool> finished = AdvanceAbsent();
      if (!finished.ok()) return finished.status();
      if (*finished) {
        Send(Goodbye());
        done_ = true;
      }
    }
  }
  if (messages_.empty()) return std::string();
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

absl::Status AskingSide::OpenNext() {
  size_t under_way = 0;
  for (Task& task : tasks_) {
    if (under_way++ == options_.ranges_ahead) return absl::OkStatus();
    if (task.phase == Task::Phase::kToOpen) return Open(&task, /*ends_at_rest=*/false);
  }
  if (under_way == options_.ranges_ahead || !rest_) return absl::OkStatus();
  KeyInterval interval = *rest_;
  if (!ready_.MayOpen(interval.begin, &interval.end)) return absl::OkStatus();
  if (interval.end == rest_->end) {
    rest_.reset();
  } else {
    rest_->begin = *interval.end;
  }
  tasks_.emplace_back(next_range_, std::move(interval));
  next_range_ += 2;
  statistics_.ranges++;
  return Open(&tasks_.back(), /*ends_at_rest=*/true);
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
    status = ScanKeys(source_, task->interval, salt,
                      first ? keys_per_range_ : options_.keys_per_range, &task->keys, ready);
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
    RepeatWithoutReady(task);
  }
  if (task->keys.next_key && ends_at_rest) {
    rest_ = KeyInterval{*task->keys.next_key, options_.interval.end};
    task->interval.end = *task->keys.next_key;
  } else if (task->keys.next_key) {
    CutShort(task, *task->keys.next_key);
  }
  task->phase = Task::Phase::kOpening;
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
  Send(open, task);
  return absl::OkStatus();
}

absl::Status AskingSide::On(const Facts& facts) {
  absl::StatusOr<Task*> found = Find(facts.range);
  if (!found.ok()) return found.status();
  Task* task = *found;
  if (task->phase != Task::Phase::kOpening || task->attempt != facts.attempt) {
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
      RepeatWithoutReady(task);
      return absl::OkStatus();
    }
    if (facts.outcome != Facts::Outcome::kTooLarge) {
      statistics_.ready.pruned_keys += facts.sum.count - facts.pruning.candidates;
    }
  }
  if (facts.outcome == Facts::Outcome::kTooLarge) {
    if (!task->interval.Contains(facts.next_key) || facts.next_key == task->interval.begin) {
      return absl::InvalidArgumentError("the answering side cut a range outside of it");
    }
    CutShort(task, facts.next_key);
    statistics_.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);  // scanned again
    task->phase = Task::Phase::kToOpen;
    return absl::OkStatus();
  }
  if (facts.outcome == Facts::Outcome::kWithdrawn) {
    if (task->attempt > 0 || ready_.role() != ReadyExchange::Role::kReceiver) {
      return absl::InvalidArgumentError("the answering side withdrew filters that were not used");
    }
    RepeatWithoutReady(task);
    return absl::OkStatus();
  }
  if (facts.outcome == Facts::Outcome::kEqual) {
    if (!(facts.sum == task->keys.sum)) {
      return absl::InvalidArgumentError("the answering side takes different ranges for equal");
    }
    task->equal = true;
    statistics_.equal_ranges++;
    task->phase = Task::Phase::kSettled;
    return absl::OkStatus();
  }
  Matching::Options options;
  options.salt = RangeSalt(options_.salt, task->range, task->attempt);
  options.asks = true;
  options.begins = !task->answering_side_begins;
  options.their_count =
      static_cast<double>(facts.pruning.filters ? facts.pruning.candidates : facts.sum.count);
  options.their_count_is_exact = true;
  options.most_list_entries = facts.sum.count;
  options.common = static_cast<double>(facts.common);
  options.common_error =
      CommonError(CountersFor(source_->EstimateKeys(), answer_->keys), options.common,
                  static_cast<double>(task->keys.candidates.size()), options.their_count);
  if (facts.pruning.filters) {
    options.common_error = CommonAfterReadyFilters(static_cast<double>(facts.sum.count),
                                                   options.their_count, offer_.pass_rate)
                               .standard_error;
  } else if (task->pruned) {
    options.common_error =
        CommonAfterReadyFilters(static_cast<double>(task->keys.sum.count),
                                static_cast<double>(task->keys.candidates.size()),
                                answer_->ready_pass_rate)
            .standard_error;
  }
  options.planner = options_.planner;
  if (options.planner.strategy == Strategy::kSstFilters) options.planner.strategy = Strategy::kAuto;
  options.planner.keys = {task->keys.bits_per_key, task->keys.sparse_bits_per_key,
                          static_cast<double>(task->keys.sum.count)};
  options.filters = task->filters.get();
  const Standing mine = {static_cast<double>(task->keys.candidates.size()), options.their_count,
                         options.common, options.common_error};
  const absl::Status affordable = CheckMostBytes(
      options.begins ? mine : Standing{mine.theirs, mine.mine, mine.common, mine.common_error},
      options.begins, options.planner);
  if (!affordable.ok()) return affordable;
  task->reader = std::make_unique<SourceKeyReader>(source_, task->interval);
  task->matching =
      std::make_unique<Matching>(std::move(task->keys.candidates), options, task->reader.get());
  task->phase = Task::Phase::kMatching;
  return Continue(task);
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
  if ((*task)->phase != Task::Phase::kMatching ||
      (*task)->matching->state() != Matching::State::kTheirTurn) {
    return absl::InvalidArgumentError("the answering side spoke out of turn");
  }
  const absl::Status status = (*task)->matching->Receive(turn.message);
  return status.ok() ? Continue(*task) : status;
}

absl::Status AskingSide::Continue(Task* task) {
  Matching* matching = task->matching.get();
  if (matching->state() == Matching::State::kMyTurn) {
    Turn turn;
    turn.range = task->range;
    const absl::Status status = matching->TakeTurn(&turn.message);
    if (!status.ok()) return status;
    Send(turn, task);
  }
  if (matching->state() == Matching::State::kContradicted) {
    return Repeat(task, absl::AbortedError("the sums of the matched keys differ"));
  }
  if (matching->state() == Matching::State::kSettled) {
    statistics_.filters_built += matching->counts().filters_built;
    statistics_.filters += matching->counts().filters_sent + matching->counts().filters_received;
    CountEnding(matching->ending());
    // The last turn is the answering side's, and its first one comes with the opening.
    statistics_.most_range_round_trips =
        std::max(statistics_.most_range_round_trips, matching->counts().turns / 2);
    task->phase = Task::Phase::kSettled;
  }
  return absl::OkStatus();
}

std::optional<KeyInterval> AskingSide::Uncommitted() const {
  if (!tasks_.empty()) return KeyInterval{tasks_.front().interval.begin, options_.interval.end};
  if (!rest_ && !done_) return KeyInterval{"", ""};
  return rest_;
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
  task->phase = Task::Phase::kToOpen;
  task->matching.reset();
  task->result.reset();
  task->equal = false;
  return absl::OkStatus();
}

void AskingSide::RepeatWithoutReady(Task* task) {
  if (ready_.usable() && ready_.role() == ReadyExchange::Role::kSender) {
    Send(Filters{Filters::State::kWithdrawn, ""});
  }
  ready_.Withdraw();
  statistics_.ready.withdrawn_ranges++;
  statistics_.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);
  task->attempt++;
  task->attempts_without_fault++;
  task->phase = Task::Phase::kToOpen;
}

// The part that is cut off is a range of its own, which comes next.
void AskingSide::CutShort(Task* task, const std::string& next_key) {
  const auto after = std::find_if(tasks_.begin(), tasks_.end(),
                                  [task](const Task& other) { return &other == task; });
  tasks_.emplace(std::next(after), next_cut_range_, KeyInterval{next_key, task->interval.end});
  next_cut_range_ += 2;
  statistics_.ranges++;
  task->interval.end = next_key;
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

absl::Status AskingSide::AdvanceSettled() {
  const bool rows = SendsMatched(options_.operation) || SendsUnmatched(options_.operation);
  while (!tasks_.empty() && tasks_.front().phase == Task::Phase::kSettled && !rows) {
    const absl::Status status = FinishFirst();
    if (!status.ok()) return status;
  }
  size_t ahead = 0;
  for (Task& task : tasks_) {
    const bool settled = task.phase == Task::Phase::kSettled;
    if (ahead++ == kFetchedAhead || (!settled && task.phase != Task::Phase::kFetching)) break;
    if (!settled) continue;
    task.phase = Task::Phase::kFetching;
    Send(Fetch{task.range, task.attempt}, &task);
  }
  return absl::OkStatus();
}

RangeResult* AskingSide::ResultOf(Task* task) {
  if (task->result == nullptr) {
    SettledRange settled;
    settled.interval = task->interval;
    settled.salt = RangeSalt(options_.salt, task->range, task->attempt);
    settled.equal = task->equal;
    if (!task->equal) settled.matched = task->matching->matched();
    settled.mine = task->keys.sum;
    settled.theirs = task->theirs;
    task->result = std::make_unique<RangeResult>(options_.operation, std::move(settled),
                                                 options_.most_row_bytes, source_, sink_);
  }
  return task->result.get();
}

absl::StatusOr<bool> AskingSide::AdvanceAbsent() {
  if (absent_ != nullptr) return false;
  if (!options_.absent_rows || !WantsAbsentRows(options_.operation)) return true;
  if (SendsUnmatched(options_.operation) && answer_->absent.count > 0 && !absent_received_) {
    absent_ = std::make_unique<AbsentRowsReader>(answer_->absent, options_.salt,
                                                 options_.most_row_bytes, sink_);
    Send(Fetch{kAbsentRange, absent_attempt_});
    return false;
  }
  statistics_.absent_rows_of_answering_side = answer_->absent.count;
  Sink* const sink = EmitsLocalRows(options_.operation) ? sink_ : nullptr;
  absl::Status status;
  if (options_.own_absent_rows) {
    status = EmitAbsentRows(source_, sink, &statistics_.absent_rows_of_asking_side);
  }
  // Those of both sides together, so that a session that breaks has given all of them or none.
  if (status.ok() &&
      (absent_received_ || (statistics_.absent_rows_of_asking_side > 0 && sink != nullptr))) {
    status = sink_->Commit();
  }
  if (!status.ok()) return status;
  return true;
}

absl::Status AskingSide::OnAbsent(const Rows& rows) {
  if (rows.attempt < absent_attempt_) return absl::OkStatus();  // of one that was given up
  if (absent_ == nullptr || rows.attempt != absent_attempt_) {
    return absl::InvalidArgumentError("the answering side sent rows that it was not asked for");
  }
  absl::Status status = absent_->Receive(rows.batch);
  if (status.ok() && !rows.last) return status;
  if (status.ok()) status = absent_->Finish();
  if (!status.ok() && !absl::IsAborted(status)) return status;
  const uint64_t received = absent_->rows();
  absent_.reset();
  if (status.ok()) {
    absent_received_ = true;
    statistics_.rows_received += received;
    return absl::OkStatus();
  }
  statistics_.repeated_ranges++;
  absent_attempt_++;
  if (absent_attempt_ >= static_cast<uint32_t>(options_.most_attempts)) {
    return absl::DataLossError(
        "the rows of the other side that have no such attribute do not add up to what it said that "
        "it has; it is broken, or changes its data while it is read. None of them was given");
  }
  return sink_->Discard();
}

absl::Status AskingSide::On(const Rows& rows) {
  if (rows.range == kAbsentRange) return OnAbsent(rows);
  absl::StatusOr<Task*> found = Find(rows.range);
  if (!found.ok()) return found.status();
  Task* task = *found;
  if (rows.attempt < task->attempt) return absl::OkStatus();  // of one that was given up
  if (task != &tasks_.front() || rows.attempt != task->attempt ||
      task->phase != Task::Phase::kFetching) {
    return absl::InvalidArgumentError("the answering side sent rows that it was not asked for");
  }
  const absl::Status status = ResultOf(task)->Receive(rows.batch);
  if (absl::IsAborted(status)) return DiscardAndRepeat(task, status);
  return status.ok() && rows.last ? FinishFirst() : status;
}

absl::Status AskingSide::DiscardAndRepeat(Task* task, const absl::Status& why) {
  const absl::Status status = sink_->Discard();
  return status.ok() ? Repeat(task, why) : status;
}

absl::Status AskingSide::FinishFirst() {
  Task& task = tasks_.front();
  absl::Status status = ResultOf(&task)->Finish();
  if (absl::IsAborted(status)) return DiscardAndRepeat(&task, status);
  if (!status.ok()) return status;
  status = sink_->Commit();
  if (!status.ok()) return status;
  Report(&task);
  tasks_.pop_front();
  return absl::OkStatus();
}

void AskingSide::Report(Task* task) {
  RangeReport* const report = &task->report;
  report->interval = task->interval;
  report->equal = task->equal;
  report->repeats = task->attempt;
  report->keys_of_asking_side = report->matched_keys = task->keys.sum.count;
  report->keys_of_answering_side = task->theirs.count;
  report->rows_received = task->result->rows_received();
  report->bits_per_key = task->keys.bits_per_key;
  report->milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - task->opened)
          .count();
  if (!task->equal) {
    const uint64_t matched = report->matched_keys = task->matching->matched().size();
    const Matching::Counts& counts = task->matching->counts();
    report->keys_pruned = counts.candidates_pruned + (task->pruned ? task->pruned_keys : 0);
    if (counts.filters_received > 0 || task->pruned) {
      report->false_positives_of_asking_side =
          report->keys_of_asking_side - report->keys_pruned - matched;
    }
    if (counts.filters_sent > 0 && counts.their_candidates) {
      report->false_positives_of_answering_side =
          *counts.their_candidates - std::min(*counts.their_candidates, matched);
    }
  }
  AddRange(*report, &statistics_);
  if (options_.range_done) options_.range_done(*report);
}

}  // namespace rocksieve::join
