// SPDX-License-Identifier: Apache-2.0
// What a comparison asks of both sides, each time that it looks at them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/join/diff.h>

#include "lib/join/rows/sink.h"
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

}  // namespace rocksieve::join
