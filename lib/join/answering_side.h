// The side of a join that has what is asked for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "join/absent_rows.h"
#include "join/matching/matching.h"
#include "join/memory_account.h"
#include "join/messages.h"
#include "join/range_keys.h"
#include "join/ready/ready_exchange.h"
#include "join/rows/row_batch.h"
#include "join/rows/source.h"
#include "join/session.h"

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
  // What the asking side makes this one keep is taken from it; must outlive the side. Null: no limit.
  MemoryAccount* memory = nullptr;
};

class AnsweringSide final : public Session {
 public:
  // `source` must outlive it.
  AnsweringSide(Source* source, const AnsweringOptions& options);
  ~AnsweringSide() override;

  absl::Status Receive(std::string_view message) override;
  absl::StatusOr<std::string> Next() override;
  bool done() const override { return done_; }

 private:
  struct OpenRange;
  struct RowStream;

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

  absl::StatusOr<OpenRange*> Find(uint64_t range);
  // Speaks if it is this side's turn, and puts a range away that needs nothing more.
  absl::Status Continue(uint64_t range, OpenRange* open);
  absl::StatusOr<std::string> NextRows();
  absl::StatusOr<std::string> NextAbsentRows();

  Source* const source_;
  AnsweringOptions options_;
  std::optional<Hello> hello_;
  ReadyExchange ready_;
  ReadyOffer offer_;  // of this side's
  std::map<uint64_t, std::unique_ptr<OpenRange>> ranges_;
  std::deque<std::string> messages_;
  std::deque<uint64_t> fetched_;  // ranges whose rows are to be sent, one after another
  std::unique_ptr<RowStream> stream_;
  std::unique_ptr<AbsentRowsWriter> absent_;  // while they are sent
  bool done_ = false;
};

}  // namespace rocksieve::join
