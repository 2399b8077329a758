// Goes through the keys of an interval again, by the ordinals that a scan gave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/join/matching/candidate.h"
#include "lib/join/matching/list_step.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

class SourceKeyReader final : public KeyReader {
 public:
  // `source` must outlive it.
  SourceKeyReader(Source* source, KeyInterval interval);
  absl::Status AppendKeys(const std::vector<uint32_t>& ordinals, uint64_t most_bytes,
                          std::string* out) override;

 private:
  Source* const source_;
  const KeyInterval interval_;
};

// The keys of a side in a range that the other side has as well.
struct MatchedKeys {
  bool all = false;
  Candidates some;  // else these, by rising ordinal
};

// Asked for keys by rising ordinals.
class MatchedSweep {
 public:
  // `keys` must outlive it, and stay as they are.
  explicit MatchedSweep(const MatchedKeys& keys) : keys_(keys) {}
  bool IsMatched(uint32_t ordinal) {
    const Candidates& some = keys_.some;
    while (next_ < some.size() && some[next_].ordinal < ordinal) next_++;
    return keys_.all || (next_ < some.size() && some[next_].ordinal == ordinal);
  }

 private:
  const MatchedKeys& keys_;
  size_t next_ = 0;
};

// Goes through the rows of an interval and counts the distinct keys.
class OrdinalCursor {
 public:
  OrdinalCursor(Source* source, const KeyInterval& interval) : cursor_(source->Scan(interval)) {}

  // False at the end, and after an error.
  bool Next(Row* row) {
    if (!cursor_->Next(row)) return false;
    if (keys_ == 0 || row->key != last_key_) {
      last_key_ = row->key;
      keys_++;
    }
    return true;
  }
  // Of the last row's key.
  uint32_t ordinal() const { return keys_ - 1; }
  absl::Status status() const { return cursor_->status(); }

 private:
  const std::unique_ptr<Cursor> cursor_;
  std::string last_key_;
  uint32_t keys_ = 0;
};

}  // namespace rocksieve::join
