// SPDX-License-Identifier: Apache-2.0
// What a join found and what it cost, or would: documents (docs/json.md), and words made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksieve/join/join.h>

#include "support/table.h"

namespace rocksieve::tools {

struct JoinOutcome {
  std::string operation;  // as --op names it
  uint64_t rows = 0;      // of the result
  join::JoinReport report;
};

// `analyze`: what happened at each server, and in its ranges.
Json JoinDocument(const JoinOutcome& outcome, bool analyze);
std::string JoinInWords(const Json& document, bool analyze);

// The plan of a join with each server.
Json PlanDocument(const std::vector<join::JoinPlan>& plans);
std::string PlanInWords(const Json& document);

}  // namespace rocksieve::tools
