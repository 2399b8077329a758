// What a hostile server can do, case by case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "integration/hostile/liar.h"

namespace rocksieve::join {

struct ServerCase {
  std::string name;
  std::function<void(const Victim&)> play;
};

void AddClaimCases(std::vector<ServerCase>* cases);  // more is said than there is
void AddRowCases(std::vector<ServerCase>* cases);    // rows that were not asked for, or never end
void AddFrameCases(std::vector<ServerCase>* cases);  // frames, half messages, random changes

}  // namespace rocksieve::join
