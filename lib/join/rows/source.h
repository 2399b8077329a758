// SPDX-License-Identifier: Apache-2.0
// Where one side's keys come from: a database, a file, a list.
//
// A source shows one unchanging state of its data for as long as it lives: it is scanned more than
// once, first for keys, later for the rows that go over the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/join/rows/existing_filter.h"

namespace rocksieve::join {

// Keys from `begin` on, up to but without `end`; to the last one if there is none.
struct KeyInterval {
  std::string begin;
  std::optional<std::string> end;

  bool Contains(std::string_view key) const {
    return key >= begin && (!end.has_value() || key < *end);
  }
};

// The views are valid until the cursor moves.
struct Row {
  std::string_view key;
  std::string_view value;
};

// Goes through rows in bytewise order of their keys; rows of the same key follow one another.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // False at the end, and after an error.
  virtual bool Next(Row* row) = 0;
  virtual absl::Status status() const = 0;
};

// Thread safety: several threads may scan it at once, each with cursors of its own; all else is for
// one at a time.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::unique_ptr<Cursor> Scan(const KeyInterval& interval) = 0;
  // Rows with a NULL key, given with an empty one, which match nothing on the other side: like NULL
  // in SQL's EXISTS. Null if there are none.
  virtual std::unique_ptr<Cursor> ScanAbsent() { return nullptr; }
  // Filters that there are already of the keys in the interval, those that a scan would show; null
  // if there are none. One reader at a time.
  virtual std::unique_ptr<ExistingFilterReader> ExistingFilters(const KeyInterval&) {
    return nullptr;
  }
  // Of distinct keys, as far as it is known without a scan. Only decides who begins.
  virtual uint64_t EstimateKeys() = 0;
};

// Takes what a join finds, range by range in key order.

enum class Side { kClient, kServer };

class Sink {
 public:
  virtual ~Sink() = default;
  // A row that belongs to the result; `from` says whose it is. The views are valid until it
  // returns.
  virtual absl::Status Add(const Row& row, Side from) = 0;
  // The rows added since the last of these calls are proven right.
  virtual absl::Status Commit() = 0;
  // They are not, and will come again.
  virtual absl::Status Discard() = 0;
};

// For results that may have to begin anew.
class ResultSink : public Sink {
 public:
  // Takes everything back, what was committed as well; FailedPrecondition if that cannot be, since
  // others have seen it.
  virtual absl::Status Restart() = 0;
};

// Ranges of keys in messages for people.

// "from \"apple\" up to \"pear\"", "of all keys"; unprintable bytes as \xHH, long keys cut short.
// An interval without keys stands for the rows with a NULL key, which come after all others.
std::string TextOf(const KeyInterval& interval);

// An error of work on a range, with the range's name.
absl::Status Naming(const KeyInterval& interval, const absl::Status& status);

}  // namespace rocksieve::join
