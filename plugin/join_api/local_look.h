// SPDX-License-Identifier: Apache-2.0
// What a comparison asks of both sides, each time that it looks at them; and how two inputs of this
// machine answer it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/join/diff.h>
#include <rocksieve/join/input.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

struct Look {
  std::vector<KeyInterval> parts;  // of the keys
  JoinOptions options;
  bool values = true;     // of the other side
  bool digests = true;    // of these values, if they are left out
  bool describe = false;  // which column families that side has
  // If not null, files that both sides share need not be read, and are counted here.
  SharedTableFiles* shared = nullptr;
  // Told when all rows with keys before that one are with the sink; may be empty.
  std::function<absl::Status(const std::string& next_key, const RangeSummary& range)> proven;
};

// Looks at both sides, as they are now: rows of the parts that one side alone has.
using LookAt = std::function<absl::Status(const Look& look, ResultSink* rows, JoinReport* report)>;

// A look at two inputs of this machine, side by side. The second one takes the part of the other
// side. Both: of whole rows by their keys (JoinKeyExpression::KeyOfWholeRow()).
absl::Status LookHere(const Input& local, const Input& remote, const Look& look, ResultSink* rows,
                      JoinReport* report);

// Two sides of one machine, read side by side: what a symmetric join of them would give, without
// messages, and with values compared byte by byte.
struct LocalComparison {
  uint64_t local_rows = 0, remote_rows = 0, equal_rows = 0;
  // Told after each commit: of so many rows more of this side, and before which key all are done;
  // no key if all are. May be empty.
  std::function<absl::Status(uint64_t local_rows, const std::optional<std::string>& next_key)>
      progress;

  // Rows of the parts that are on one side only, by their join keys, in the order of their keys;
  // each commit is final. REQUIRES: the sources give whole rows by their keys
  // (JoinKeyExpression::KeyOfWholeRow()), and no two of the same key.
  absl::Status Run(Source* local, Source* remote, const std::vector<KeyInterval>& parts,
                   Sink* sink);
};

}  // namespace rocksieve::join
