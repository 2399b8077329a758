// The side of a join that has what is asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/absent_rows.h"
#include "lib/join/session/answering_range.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/outbox.h"
#include "lib/join/session/ready_exchange.h"
#include "lib/join/session/row_stream.h"
#include "lib/join/session/session.h"

namespace rocksieve::join {

struct AnsweringOptions {
  // What a range may take: beyond it the asking side is told to open a smaller one.
  uint64_t most_keys_per_range = uint64_t{1} << 21;
  uint64_t most_message_bytes = UINT64_MAX;  // of those that this side makes
  // Ranges under way at once; an asking side that opens more is refused.
  size_t most_ranges = 8;
  // Prices are this side's; strategy and round trips those that the asking side wants.
  PlannerOptions planner;
  ReadyOptions ready;
  // What the asking side makes this one keep is taken from it; must outlive the side. Null: no
  // limit.
  MemoryAccount* memory = nullptr;
};

class AnsweringSide final : public Session {
 public:
  // `source` must outlive it.
  AnsweringSide(Source* source, const AnsweringOptions& options);
  ~AnsweringSide() override;

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool always_hears() const override { return false; }
  bool done() const override { return done_; }

 private:
  absl::Status On(const Hello& hello);
  absl::Status On(const Open& open);
  absl::Status On(const Turn& turn);
  absl::Status On(const Fetch& fetch);
  absl::Status On(const Goodbye& goodbye);
  absl::Status On(const Failure& failure);
  absl::Status On(const Filters& filters) { return ready_.Receive(filters); }
  template <typename Other>
  absl::Status On(const Other&);

  // Decides whose filters are used, and says so in the answer.
  absl::Status ChooseReady(const Hello& hello, HelloAnswer* answer);
  // How the scan of a range that is opened uses them.
  ReadyUse ReadyUseFor(const Open& open) const;

  bool SendsRows() const;
  // The state of a range in words, for errors.
  const char* StateOf(uint64_t range) const;
  // Whether the range may be opened now.
  absl::Status CheckOpen(const Open& open) const;
  // The keys of a range that is opened: those of the scan that found it too large, or of a new one.
  absl::Status ScanFor(const Open& open, const ReadyUse& ready, RangeKeys* keys,
                       MemoryHold* memory);
  Matching::Options OptionsFor(const Open& open, const RangeKeys& keys, bool prunes) const;
  // Makes the Matching of an opened range, and says how many keys are common, about.
  absl::Status BeginReconciling(const Open& open, bool prunes, RangeKeys keys,
                                AnsweringRange* range, Facts* facts);
  // Speaks if it is this side's turn, and puts a range away that needs nothing more.
  absl::Status Continue(uint64_t number);
  absl::StatusOr<std::string> NextRows();

  Source* const source_;
  AnsweringOptions options_;
  std::optional<Hello> hello_;
  ReadyExchange ready_;
  ReadyOffer offer_;  // of this side's
  std::map<uint64_t, AnsweringRange> ranges_;
  Outbox outbox_;
  std::deque<RowStream> streams_;  // of ranges that were fetched; the first one is under way
  std::unique_ptr<AbsentRowsWriter> absent_;  // while they are sent
  bool done_ = false;
};

}  // namespace rocksieve::join
