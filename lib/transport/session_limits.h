// What a session may take, derived from its share of the server's memory.
#pragma once

#include <cstdint>

#include "lib/join/session/answering_side.h"
#include "lib/transport/drive.h"
#include "lib/transport/view.h"

namespace rocksieve::join {

// Half of the share is for ranges, a quarter for a message on its way and what it is made of, a
// quarter for filters of SST files; sorting has its part before there are any of these. They are
// bounds of each alone: their sum is bounded by the session's MemoryAccount.
// The pointers must outlive the session.
void SetLimits(MemoryAccount* share, AnsweringOptions* answering, DriveLimits* limits,
               ViewTerms* terms);

}  // namespace rocksieve::join
