// The plan of a join with each server, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "join/plan_session.h"

namespace rocksieve::tools {

struct ShardPlan {
  std::string address;
  Plan plan;
};

std::string TextReport(const std::vector<ShardPlan>& plans);
std::string JsonReport(const std::vector<ShardPlan>& plans);

}  // namespace rocksieve::tools
