#include "lib/join/matching/filter_maker.h"

#include <utility>

#include "lib/filter/hashed_filter.h"

namespace rocksieve::join {

std::shared_ptr<const FilterBlock> MakeFilter(const FilterSpec& spec, const Candidates& candidates,
                                              uint64_t message_salt) {
  HashList hashes;
  for (const Candidate& candidate : candidates) {
    hashes.push_back(HashForStep(candidate.hash, message_salt));
  }
  return std::make_shared<FilterBlock>(BuildFilterOfHashes(spec, std::move(hashes)));
}

}  // namespace rocksieve::join
