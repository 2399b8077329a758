// What happened in the ranges of a join, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "join/range_report.h"

namespace rocksieve::tools {

// A line for each range, and one for all of them.
std::string RangeTable(const std::vector<join::RangeReport>& ranges);

nlohmann::ordered_json RangesJson(const std::vector<join::RangeReport>& ranges);
nlohmann::ordered_json TrafficJson(const join::Traffic& traffic);

}  // namespace rocksieve::tools
