// What a join found and what it cost, for people and for programs.
#pragma once

#include <cstdint>
#include <string>

#include <rocksieve/join/join.h>

namespace rocksieve::tools {

struct JoinOutcome {
  std::string operation;  // as --op names it
  uint64_t rows = 0;  // of the result
  join::JoinReport report;
};

// `analyze`: per server, what happened.
std::string TextReport(const JoinOutcome& outcome, bool analyze);
std::string JsonReport(const JoinOutcome& outcome, bool analyze);

}  // namespace rocksieve::tools
