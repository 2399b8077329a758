// The plan of a join with each server, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include <rocksieve/join/join.h>

namespace rocksieve::tools {

std::string TextReport(const std::vector<join::JoinPlan>& plans);
std::string JsonReport(const std::vector<join::JoinPlan>& plans);

}  // namespace rocksieve::tools
