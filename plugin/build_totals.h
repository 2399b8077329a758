// What a policy's builders have made, added up by family and level.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rocksieve/filter_policy.h>

namespace rocksieve {

// Thread-safe. A mutex is cheap enough: it is taken once per filter, which takes microseconds to
// build if it has a hundred keys, and never by a query.
class BuildTotals {
 public:
  // One filter more: `built` with its `filters` at 1.
  void Add(const FiltersBuilt& built);

  // In the order of the families' names, then of the levels.
  std::vector<FiltersBuilt> rows() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, FiltersBuilt> rows_;  // guarded by mutex_
};

}  // namespace rocksieve
