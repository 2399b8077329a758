// SPDX-License-Identifier: Apache-2.0
// Rows that differed, and what became of them at later looks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocksieve/join/diff.h>

#include "lib/join/rows/source.h"
#include "plugin/join_api/difference_pairs.h"

namespace rocksieve::join {

// A look compares some rows again, of both sides as they are then. A row that differs at each of
// them, and by the same two values, has diverged; any other one was being written. No row is said
// to have diverged that was not looked at again.
class Recheck {
 public:
  explicit Recheck(size_t most_rows) : most_rows_(most_rows) {}

  // The first look, in the order of the rows.
  void Add(const DifferencePair& pair);

  // Those that may have diverged, each by its key.
  std::vector<KeyInterval> Suspects() const;
  // A later look, of the suspects: between the two calls, those that differ, in their order.
  void BeginLook();
  void Look(const DifferencePair& pair);
  void EndLook();

  // Of the row that came so many rows after the first one.
  Verdict VerdictOf(size_t row) const;

 private:
  struct Seen {
    std::string key;
    std::optional<std::string> local, remote;  // digests
    bool suspect = true, differs = false;      // at the look under way
  };

  const size_t most_rows_;
  std::vector<Seen> rows_;
  size_t next_ = 0;  // at the look under way
  size_t looks_ = 0;
};

}  // namespace rocksieve::join
