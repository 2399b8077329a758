// What a join did, as programs are told of it.
#pragma once

#include <string>

#include <rocksieve/join/join.h>

#include "lib/join/session/range_report.h"
#include "lib/transport/sharded_join.h"

namespace rocksieve::join {

RangeSummary SummaryOf(const std::string& address, const RangeReport& range);

JoinReport ReportOf(const ShardedJoinReport& joined);

}  // namespace rocksieve::join
