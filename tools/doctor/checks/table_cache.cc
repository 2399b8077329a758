// table-cache-too-small.
#include <cstdlib>

#include "support/text.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/caching.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// What RocksDB keeps for other files (DBImpl, kNumNonTableCacheFiles).
constexpr uint64_t kOtherFiles = 10;

}  // namespace

void CheckTableCache(const Facts& facts, Findings* findings) {
  const long long most = std::atoll(facts.DbOption("max_open_files").c_str());
  if (most <= 0) return;  // -1: all stay open
  uint64_t files = 0, outside_cache = 0;
  for (const FamilyFacts& family : facts.families) {
    files += family.tree.file_count();
    for (const TreeFile* file : family.files()) {
      if (file->filter.exists() && !IsInCache(facts, family, *file)) outside_cache++;
    }
  }
  if (outside_cache == 0 || files + kOtherFiles <= static_cast<uint64_t>(most)) return;
  findings->push_back(
      {"table-cache-too-small",
       Severity::kWarning,
       "",
       "not all files can be open at a time, and filters go with them",
       {QuoteDbOption(facts, "max_open_files"),
        Thousands(files) + " table files, of which " + Thousands(outside_cache) +
            " have a filter that is not in the block cache"},
       "Opening a file again reads its filter and its index from disk.",
       "max_open_files=-1, if the system allows so many (ulimit -n); or "
       "cache_index_and_filter_blocks=true with a block cache that is large enough."});
}

}  // namespace rocksieve::tools
