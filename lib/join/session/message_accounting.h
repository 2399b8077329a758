// What messages add to the statistics of a join.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/join/session/messages.h"
#include "lib/join/session/range_report.h"
#include "lib/join/session/statistics.h"

namespace rocksieve::join {

// By what they are for. `bytes`: of the message.
void CountBytes(const Message& message, uint64_t bytes, Traffic* traffic);

// The range that a message of the answering side is about, if any.
std::optional<uint64_t> RangeOf(const Message& message);

// Adds the moves that it consists of.
void NoteMoves(const Message& message, RangeReport* report);

}  // namespace rocksieve::join
