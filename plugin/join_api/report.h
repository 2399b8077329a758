// What a join did, as programs are told of it.
#pragma once

#include <string>

#include <rocksieve/join/join.h>

#include "join/range_report.h"
#include "transport/sharded_join.h"

namespace rocksieve::join {

RangeSummary SummaryOf(const std::string& address, const RangeReport& range);

JoinReport ReportOf(const ShardedJoinReport& joined);

}  // namespace rocksieve::join
