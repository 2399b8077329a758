// SPDX-License-Identifier: Apache-2.0
// The page as a whole: one document, without scripts and without anything from elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/gather.h"
#include "tools/report/join_section.h"

namespace rocksieve::tools {

struct PageFacts {
  std::optional<DatabaseReport> database;
  std::vector<JoinFile> joins;
  int64_t unix_time = 0;  // when it was made
};

std::string Page(const PageFacts& facts);

}  // namespace rocksieve::tools
