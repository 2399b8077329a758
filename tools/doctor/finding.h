// What a check finds, for people and for programs.
#pragma once

#include <string>
#include <vector>

namespace rocksieve::tools {

enum class Severity {
  kError,    // filters that should work do not
  kWarning,  // some do not, or cost more than they should
};

struct Finding {
  std::string id;             // stable: scripts look for it
  Severity severity = Severity::kWarning;
  std::string column_family;  // empty if it is about the whole database
  std::string title;
  std::vector<std::string> evidence;  // each quotes a file and what it says
  std::string consequence;
  std::string remedy;
};

using Findings = std::vector<Finding>;

}  // namespace rocksieve::tools
