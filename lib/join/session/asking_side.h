// The side of a join that wants to know.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "lib/join/matching/matching.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/absent_rows.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/outbox.h"
#include "lib/join/session/range_keys.h"
#include "lib/join/session/range_report.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/ready_exchange.h"
#include "lib/join/session/session.h"
#include "lib/join/session/shared_ranges.h"
#include "lib/join/session/statistics.h"

namespace rocksieve::join {

struct AskingOptions {
  Operation operation = Operation::kIntersection;
  KeyInterval interval;  // the part of the key space to join
  // Whether rows without the attribute belong to it: of sessions that share the key space, one has
  // them.
  bool absent_rows = true;
  // Fresh and random for each session: whoever knows it can choose keys whose hashes collide.
  uint64_t salt = 0;
  // Of a range, about 80 bytes per key are kept in memory, times the ranges under way. Larger
  // ranges cost less per key, above all where few keys differ, and fewer round trips in all.
  uint64_t keys_per_range = uint64_t{1} << 20;
  size_t ranges_ahead = 2;
  int most_attempts = 3;                           // per range, until the join fails
  uint64_t most_row_bytes = kDefaultMostRowBytes;  // of the other side, key and value
  // Of rows that the other side sends before a range is proven, keys and values: they wait in
  // files.
  uint64_t most_unproven_bytes = UINT64_MAX;
  // The whole key is joined on: no two rows of the other side have the same one, and each has one.
  bool keys_are_unique = false;
  uint64_t most_message_bytes = UINT64_MAX;  // of those that this side makes
  // Whether rows of this side without the attribute are given to the sink and counted. Whoever
  // joins with several sides at once does so himself, and once: EmitAbsentRows().
  bool own_absent_rows = true;
  PlannerOptions planner;
  // Of messages, rows apart; 0: no limit. A join that would take more, by the plan of a range,
  // fails before it does.
  uint64_t most_bytes = 0;
  ReadyOptions ready;
  // What the answering side makes this one keep is taken from it; must outlive the side. Null: no
  // limit.
  MemoryAccount* memory = nullptr;
  // With the other sessions of a join with several shards: then its salt is that of `salt`. May be
  // null.
  SharedRanges::Member* shared = nullptr;
  // Told of each range when its result is proven and with the sink; may be empty.
  std::function<void(const RangeReport&)> range_done;
};

class AskingSide final : public Session {
 public:
  // The pointers must outlive it.
  AskingSide(Source* source, Sink* sink, const AskingOptions& options);
  ~AskingSide() override;

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return true; }
  bool done() const override { return done_; }

  const Statistics& statistics() const { return statistics_; }
  // The error is what the other side said, not what went wrong here.
  bool other_side_failed() const { return other_side_failed_; }

  // The part of the key space whose results were not yet committed to the sink: where another
  // session with the same data goes on after this one broke. An empty interval if only rows without
  // the attribute are left; nothing if nothing is.
  std::optional<KeyInterval> Uncommitted() const;

 private:
  struct Task;
  using Tasks = std::list<Task>;

  absl::Status On(const HelloAnswer& answer);
  absl::Status On(const Facts& facts);
  absl::Status On(const Turn& turn);
  absl::Status On(const Rows& rows);
  absl::Status On(const Failure& failure);
  absl::Status On(const Filters& filters);
  template <typename Other>
  absl::Status On(const Other&);

  // Says what there is to be said when nothing has to be heard first.
  absl::Status Advance();
  absl::StatusOr<Task*> Find(uint64_t range);
  absl::Status OpenNext();
  uint64_t KeysPerRange() const;
  Matching::Options OptionsFor(const Task& task, const Facts& facts) const;
  absl::Status CheckMostBytes(const Standing& first_mover, bool asking_side_begins,
                              const PlannerOptions& planner) const;
  absl::Status Open(Task* task, bool ends_at_rest);
  absl::Status Scan(Task* task, uint64_t salt, const ReadyUse& ready);
  absl::Status Continue(Task* task);
  // The ready filters turned out not to be what they should.
  absl::Status RepeatWithoutReady(Task* task);
  absl::Status CutShort(Task* task, const std::string& next_key);
  bool AnsweringSideBegins(const Task& task, const ReadyUse& ready) const;
  absl::Status IgnoreRows(Task* task, const Rows& rows);
  // Another attempt, if there is one left.
  absl::Status Repeat(Task* task, const absl::Status& why);
  // The same after rows of it went to the sink.
  absl::Status DiscardAndRepeat(Task* task, const absl::Status& why);
  // Asks for rows of the first settled ranges, or makes their results.
  absl::Status AdvanceSettled();
  absl::Status FinishFirst();
  // Makes the result of a settled range from the rows that will come.
  void BeginFetching(Task* task);
  absl::Status AddTask(Tasks::iterator before, uint64_t range, KeyInterval interval);
  // The rows without the attribute, once all ranges are done. True when there is no more to do.
  absl::StatusOr<bool> AdvanceAbsent();
  absl::Status OnAbsent(const Rows& rows);
  void CountEnding(MoveKind ending);
  void Report(Task* task);
  // `task`: that which the message is about, if any.
  absl::Status Send(const Message& message, Task* task = nullptr);

  Source* const source_;
  Sink* const sink_;
  const AskingOptions options_;
  std::optional<HelloAnswer> answer_;
  uint64_t keys_per_range_ = 0;
  ReadyExchange ready_;
  ReadyOffer offer_;                 // of this side's
  std::optional<KeyInterval> rest_;  // of the key space, for which there are no tasks yet
  Tasks tasks_;                      // in key order
  // Numbers of ranges as they come are even, those of what was cut off of a range odd: so sessions
  // that share ranges have the same numbers, and salts, for them.
  uint64_t next_range_ = 0, next_cut_range_ = 1;
  Outbox outbox_;
  Statistics statistics_;
  bool absent_received_ = false;
  uint32_t absent_attempt_ = 0;
  std::unique_ptr<AbsentRowsReader> absent_;  // while they are received
  absl::Status begun_;                        // of the hello
  bool done_ = false, other_side_failed_ = false;
};

}  // namespace rocksieve::join
