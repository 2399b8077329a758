// The table of gains, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/auto/gain.h"

namespace rocksieve::bench {

std::string ForPeople(const std::vector<Gain>& gains);
nlohmann::json ForPrograms(const std::vector<Gain>& gains);

}  // namespace rocksieve::bench
