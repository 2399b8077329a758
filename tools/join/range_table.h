// What happened in the ranges of a join, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include <rocksieve/join/join.h>
#include <nlohmann/json_fwd.hpp>

namespace rocksieve::tools {

// A line for each range, and one for all of them.
std::string RangeTable(const std::vector<join::RangeSummary>& ranges);

nlohmann::ordered_json RangesJson(const std::vector<join::RangeSummary>& ranges);
nlohmann::ordered_json WireBytesJson(const join::WireBytes& bytes);

}  // namespace rocksieve::tools
