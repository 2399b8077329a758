// What messages add to the statistics of a join.
#pragma once

#include <cstdint>
#include <optional>

#include "join/messages.h"
#include "join/range_report.h"
#include "join/statistics.h"

namespace rocksieve::join {

// The bytes that it counts among.
uint64_t* PurposeOf(const Message& message, Traffic* traffic);

// The range that a message of the answering side is about, if any.
std::optional<uint64_t> RangeOf(const Message& message);

// Adds a move, if the message is one.
void NoteMove(const Message& message, RangeReport* report);

}  // namespace rocksieve::join
