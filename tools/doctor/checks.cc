#include "tools/doctor/checks.h"

#include <algorithm>

namespace rocksieve::tools {

Findings RunChecks(const Facts& facts) {
  // What explains others comes first.
  constexpr Check kChecks[] = {
      CheckHost,           CheckRocksDbVersion, CheckPolicyIsThere, CheckPolicyIsUnderstood,
      CheckFiltersAreRead, CheckPrefixes,       CheckDamage,        CheckFilesHaveFilters,
      CheckLastLevel,      CheckCacheMisses,    CheckCacheSize,     CheckTableCache,
      CheckFilterSizes,    CheckMemoryWaste,    CheckAutoListener,
  };
  Findings findings;
  for (const Check check : kChecks) check(facts, &findings);
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& f) { return f.severity == Severity::kError; });
  return findings;
}

}  // namespace rocksieve::tools
