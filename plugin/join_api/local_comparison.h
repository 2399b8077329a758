// SPDX-License-Identifier: Apache-2.0
// Two sides of one machine, read side by side: what a symmetric join of them would give, without
// messages, and with values compared byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

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
