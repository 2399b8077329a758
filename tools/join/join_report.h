// What a join found and what it cost, for people and for programs.
#pragma once

#include <cstdint>
#include <string>

#include "join/join_run.h"

namespace rocksieve::tools {

struct JoinReport {
  join::Operation operation = join::Operation::kIntersection;
  uint64_t rows = 0;  // of the result
  JoinResult result;
};

// `analyze`: per server, what happened.
std::string TextReport(const JoinReport& report, bool analyze);
std::string JsonReport(const JoinReport& report, bool analyze);

}  // namespace rocksieve::tools
