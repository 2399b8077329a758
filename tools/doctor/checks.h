// The checks, one file each: from facts to findings, and nothing else. A healthy database gives
// none, whatever its kind.
#pragma once

#include "tools/doctor/facts.h"
#include "tools/doctor/finding.h"

namespace rocksieve::tools {

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
