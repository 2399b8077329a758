#include <rocksieve/filter.h>

#include "bench/third_party/third_party.h"
#include "lib/filter/family.h"

namespace rocksieve::bench {
namespace {

struct Built {
  std::unique_ptr<char[]> payload;
  std::unique_ptr<Filter> filter;
};

// `kBits` is the logarithm of one over the rate.
template <Family kFamily, int kBits>
ComparedFilter Own(const char* name) {
  return {name, kBits,
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits) {
            const FamilyEntry& family = *FindFamily(kFamily);
            const HashList list(keys.begin(), keys.end());
            Budget budget;
            budget.is_rate = true;
            budget.amount = 1.0 / static_cast<double>(uint64_t{1} << kBits);
            constexpr size_t kTailBytes = 32;  // readers may look past the payload
            auto built = std::make_shared<Built>();
            size_t bytes = 0;
            FilterBlockInfo info;
            info.family = kFamily;
            info.key_count = keys.size();
            built->payload = family.build(list, budget, 0, kTailBytes, &bytes, &info.parameter);
            info.payload = {built->payload.get(), bytes};
            built->filter = family.open(info);
            *bits = 8 * bytes;
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            const Filter& own = *static_cast<const Built*>(filter)->filter;
            uint64_t found = 0;
            for (uint64_t hash : asked) found += own.MayContainHash(hash);
            return found;
          }};
}

}  // namespace

std::vector<ComparedFilter> OwnFilters() {
  return {Own<Family::kRibbon, 8>("rocksieve.ribbon, 8 bits"),
          Own<Family::kRibbon, 16>("rocksieve.ribbon, 16 bits"),
          Own<Family::kCuckoo, 8>("rocksieve.cuckoo, 2^-8"),
          Own<Family::kBloom, 8>("rocksieve.bloom, 2^-8")};
}

}  // namespace rocksieve::bench
