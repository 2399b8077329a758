// A range of a join, as the asking side sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "join/asking_side.h"
#include "join/key_reader.h"

namespace rocksieve::join {

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

}  // namespace rocksieve::join
