// SPDX-License-Identifier: Apache-2.0
// Where one side's keys come from: a database, a file, a list.
//
// A source shows one unchanging state of its data for as long as it lives: it is scanned more than
// once, first for keys, later for the rows that go over the wire.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>

namespace rocksieve::join {

// Keys from `begin` on, up to but without `end`; to the last one if there is none.
struct KeyInterval {
  std::string begin;
  std::optional<std::string> end;

  bool operator==(const KeyInterval&) const = default;
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
  // The cursor whose rows it goes through, perhaps many for one of its own; null if there is none.
  virtual std::unique_ptr<Cursor>* from() { return nullptr; }
};

// What `next(Cursor*, Row*)` makes of the rows of another cursor.
template <typename NextRow>
class CursorOver final : public Cursor {
 public:
  CursorOver(std::unique_ptr<Cursor> from, NextRow next)
      : from_(std::move(from)), next_(std::move(next)) {}
  bool Next(Row* row) override { return next_(from_.get(), row); }
  absl::Status status() const override { return from_->status(); }
  std::unique_ptr<Cursor>* from() override { return &from_; }

 private:
  std::unique_ptr<Cursor> from_;
  NextRow next_;
};
template <typename NextRow>
std::unique_ptr<Cursor> Over(std::unique_ptr<Cursor> from, NextRow next) {
  return std::make_unique<CursorOver<NextRow>>(std::move(from), std::move(next));
}

// Filters that a side has already, such as those in a database's SST files: they can be sent at
// once, where a filter of this protocol's own needs a scan of the keys first.
//
// A source gives them one by one, each with the smallest and the largest key that it is about (its
// fences). Together they cover the source: every key that a scan shows lies within the fences of a
// filter that it passes. They may cover more: deleted keys, old versions, neighbours of an
// interval.

enum class FilterFormat : uint8_t {
  kNone = 0,            // no block: every key within the fences may be there
  kOurs = 1,            // docs/formats/block.md
  kRocksDbBuiltin = 2,  // of RocksDB's own Bloom and Ribbon filters
};

struct ExistingFilter {
  std::string smallest, largest;  // both belong to it
  FilterFormat format = FilterFormat::kNone;
  std::string block;
};

// What a side says of its filters before it sends them.
struct ExistingFilterOffer {
  uint64_t bytes = 0;    // about; 0 if it has none
  double pass_rate = 1;  // share of the keys that the side does not have which pass, about
  uint8_t formats = 0;   // that are among them, as bits: 1 << FilterFormat

  bool exists() const { return bytes > 0; }
};

constexpr uint8_t BitOf(FilterFormat format) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(format));
}

// Reads each filter only when it is asked for. Must not outlive its source.
class ExistingFilterReader {
 public:
  virtual ~ExistingFilterReader() = default;
  // Quick, whatever the number of filters.
  virtual ExistingFilterOffer Offer() = 0;
  // By rising `smallest`. False at the end; what cannot be read is given as kNone.
  virtual bool Next(ExistingFilter* filter) = 0;
  // Not all could be given: what came is of no use.
  virtual bool failed() const { return false; }
};

class KeyFilter {
 public:
  virtual ~KeyFilter() = default;
  virtual bool MayContain(std::string_view key) const = 0;
};

// Reads a block of kRocksDbBuiltin, whose bytes outlive the result. Null if every key may be in it.
// Bytes come from the other side, and may be anything.
using BuiltinFilterDecoder = std::function<std::unique_ptr<KeyFilter>(std::string_view block)>;

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
  // Rising keys in the interval that cut its rows into at most so many parts of about equal size,
  // as far as that is known without a scan.
  virtual std::vector<std::string> Cuts(const KeyInterval&, size_t) { return {}; }
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
