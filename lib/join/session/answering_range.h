// A range of a join, as the answering side sees it: from its opening until its rows are asked for.
//
// Which message of the asking side may come in which state, and what follows from it:
//
//   state         message              next state
//   (none)        Open                 TooLarge, Reconciling, Settled; or none: the filters that
//                                      the asking side used are withdrawn, or no rows will be
//                                      wanted
//   TooLarge      Open                 as from none: of the same attempt, up to the end that was
//                                      told
//   Reconciling   Turn                 Reconciling, Settled, or none as above
//                 Open, next attempt   as from none: the asking side gave the attempt up
//   Settled       Fetch, same attempt  Sending
//                 Open, next attempt   as from none: the asking side's sum differs
//   Sending       Open, next attempt   as from none; the rows of the old attempt go out all the
//                                      same
//
// Anything else is refused with InvalidArgument, which names the state. Sending is a RowStream
// (row_stream.h). A "next" attempt is any later one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/range_keys.h"
#include "lib/join/session/reconciliation.h"

namespace rocksieve::join {

struct AnsweringRange {
  // Was not kept: the asking side opens it again, to end where this side's keys begin to be too
  // many.
  struct TooLarge {
    RangeKeys keys;
    bool used_ready = false;  // filters, in the scan
  };
  using Reconciling = std::unique_ptr<Reconciliation>;
  // Both sides know which of their keys are matched.
  struct Settled {
    bool equal = false;  // every key is
    Candidates matched;  // else these
  };
  using State = std::variant<TooLarge, Reconciling, Settled>;

  AnsweringRange(KeyInterval fences, uint32_t the_attempt, MemoryAccount* account)
      : interval(std::move(fences)), attempt(the_attempt), state(TooLarge()), memory(account) {}

  const char* StateName() const {
    constexpr const char* kNames[] = {"too large", "being reconciled", "settled"};
    return kNames[state.index()];
  }

  KeyInterval interval;
  uint32_t attempt;
  State state;
  MemoryHold memory;  // of keys and interval; a Matching has its own
};

}  // namespace rocksieve::join
