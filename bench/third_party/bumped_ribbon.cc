// SPDX-License-Identifier: Apache-2.0
// Dillinger, Huebschle-Schneider, Sanders, Walzer, "Fast Succinct Retrieval and Approximate
// Membership Using Ribbon" (2022), in the authors' implementation, with their presets for filters.
#include <ribbon.hpp>
#include <tlx/logger/core.hpp>

#include "bench/third_party/third_party.h"

namespace rocksieve::bench {
namespace {

// The authors' code tells of every step; nobody asked.
class Silence final : public tlx::LoggerOutputHook {
 public:
  void append_log_line(tlx::string_view) override {}
};

template <typename Config>
ComparedFilter BumpedRibbon(const char* name) {
  using Filter = ribbon::ribbon_filter<2, Config>;
  return {name, static_cast<int>(Config::kResultBits),
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits) {
            // Slots per key of the first layer, as the authors' example has it.
            constexpr double kSlotsPerKey = 0.965;
            const auto slots = static_cast<size_t>(kSlotsPerKey * static_cast<double>(keys.size()));
            auto built = std::make_shared<Filter>(slots, kSlotsPerKey, /*seed=*/42);
            built->AddRange(keys.begin(), keys.end());
            built->BackSubst();
            *bits = 8 * built->Size();
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            uint64_t found = 0;
            for (uint64_t hash : asked) {
              found += static_cast<const Filter*>(filter)->QueryFilter(hash);
            }
            return found;
          }};
}

}  // namespace

std::vector<ComparedFilter> BumpedRibbonFilters() {
  static Silence silence;
  tlx::set_logger_output_hook(&silence);
  return {BumpedRibbon<ribbon::FastFilterConfig<8, uint64_t>>("bumped ribbon 64, 8 bits"),
          BumpedRibbon<ribbon::CompactFilterConfig<8, uint64_t>>("bumped ribbon 128, 8 bits"),
          BumpedRibbon<ribbon::FastFilterConfig<16, uint64_t>>("bumped ribbon 64, 16 bits")};
}

}  // namespace rocksieve::bench
