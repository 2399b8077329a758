// The checks: from facts to findings, and nothing else. A healthy database gives none, whatever its
// kind.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {

enum class Severity {
  kError,    // filters that should work do not
  kWarning,  // some do not, or cost more than they should
};

struct Finding {
  std::string id;  // stable: scripts look for it
  Severity severity = Severity::kWarning;
  std::string column_family;  // empty if it is about the whole database
  std::string title;
  std::vector<std::string> evidence;  // each quotes a file and what it says
  std::string consequence;
  std::string remedy;
};

using Findings = std::vector<Finding>;

using Check = void (*)(const Facts& facts, Findings* findings);

void CheckPolicyIsThere(const Facts& facts, Findings* findings);
void CheckPolicyIsUnderstood(const Facts& facts, Findings* findings);
void CheckFilesHaveFilters(const Facts& facts, Findings* findings);
void CheckFiltersAreRead(const Facts& facts, Findings* findings);
void CheckPrefixes(const Facts& facts, Findings* findings);
void CheckLastLevel(const Facts& facts, Findings* findings);
void CheckDamage(const Facts& facts, Findings* findings);
void CheckCacheSize(const Facts& facts, Findings* findings);
void CheckCacheMisses(const Facts& facts, Findings* findings);
void CheckTableCache(const Facts& facts, Findings* findings);
void CheckFilterSizes(const Facts& facts, Findings* findings);
void CheckMemoryWaste(const Facts& facts, Findings* findings);
void CheckHost(const Facts& facts, Findings* findings);
void CheckRocksDbVersion(const Facts& facts, Findings* findings);
void CheckAutoListener(const Facts& facts, Findings* findings);

// All of them, in the order in which they are reported.
Findings RunChecks(const Facts& facts);

}  // namespace rocksieve::tools
