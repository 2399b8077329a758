// SPDX-License-Identifier: Apache-2.0
// What a page says of a join: its plan, or its bytes by step.
#pragma once

#include <string>

#include "support/table.h"
#include "tools/report/html.h"

namespace rocksieve::tools {

// What `rocksieve join --json` wrote, read from a file that anybody may have written.

struct JoinFile {
  std::string path;
  bool is_plan = false;  // of --explain; else of a join, or of --explain=analyze
  // The keys of docs/json.md that the page uses, and no others: numbers are not negative, and text
  // is short. "range_reports" is empty unless the join was analyzed.
  Json document;
};

// False, and a sentence that names the file and the remedy, if it is none.
bool ReadJoinFile(const std::string& path, JoinFile* file, std::string* error);

// The same of its text.
bool ParseJoinFile(const std::string& text, JoinFile* file, std::string* error);

// `number`: of the section, from 1.
Html JoinSection(size_t number, const JoinFile& file);

}  // namespace rocksieve::tools
