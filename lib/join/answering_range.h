// A range of a join, as the answering side sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "join/answering_side.h"
#include "join/key_reader.h"

namespace rocksieve::join {

struct AnsweringSide::OpenRange {
  OpenRange(Source* source, KeyInterval range)
      : interval(range), reader(source, std::move(range)) {}

  const KeyInterval interval;
  uint32_t attempt = 0;
  bool used_ready = false;  // filters, in the scan
  RangeKeys keys;           // its candidates are given away once the range is open
  SourceKeyReader reader;
  std::unique_ptr<Matching> matching;
  bool equal = false;  // every key is matched
};

// The rows of a settled range, from the source.
struct AnsweringSide::RowStream {
  RowStream(Source* source, uint64_t id, std::unique_ptr<OpenRange> settled, bool want_matched)
      : range(id),
        open(std::move(settled)),
        matched(want_matched),
        cursor(source, open->interval),
        batch(/*with_keys=*/!want_matched) {}

  bool Wants(uint32_t ordinal) {
    if (open->equal) return matched;
    const Candidates& keys = open->matching->matched();
    while (next < keys.size() && keys[next].ordinal < ordinal) next++;
    return (next < keys.size() && keys[next].ordinal == ordinal) == matched;
  }

  const uint64_t range;
  const std::unique_ptr<OpenRange> open;
  const bool matched;
  OrdinalCursor cursor;
  RowBatchWriter batch;
  size_t next = 0;     // matched key that was not passed yet
  bool ended = false;  // the cursor
};

}  // namespace rocksieve::join
