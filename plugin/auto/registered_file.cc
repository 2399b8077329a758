// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/registered_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/budget/lookup_weights.h"

namespace rocksieve {

void AddPendingOutput(const std::vector<RegisteredFile>& inputs, uint64_t written,
                      const RegisteredFile& self, bool complete, Surroundings* around) {
  if (inputs.empty()) return;
  const std::string& reached = self.range->largest;
  std::vector<std::string_view> keys = {reached};
  for (const RegisteredFile& input : inputs) {
    keys.insert(keys.end(), {input.range->smallest, input.range->largest});
  }
  const KeyScale scale(keys);
  const double here = scale.PositionOf(reached);
  double total = 0, beyond = 0;
  std::string_view end;
  for (const RegisteredFile& input : inputs) {
    const auto entries = static_cast<double>(input.entries);
    total += entries;
    end = std::max(end, std::string_view(input.range->largest));
    if (input.range->largest <= reached) continue;
    const double from = scale.PositionOf(input.range->smallest);
    const double to = scale.PositionOf(input.range->largest);
    const double share = input.range->smallest > reached ? 1
                         : to > from ? std::clamp((to - here) / (to - from), 0.0, 1.0)
                                     : 0.5;
    beyond += share * entries;
  }
  // Overwritten and deleted entries do not come out again. At the beginning little is known of how
  // many there are.
  const double consumed = total - beyond;
  const double surviving =
      consumed > 0.05 * total ? std::clamp(static_cast<double>(written) / consumed, 0.2, 1.0) : 1;
  const auto rest = static_cast<uint64_t>(surviving * beyond);
  if (rest == 0 || end <= reached) return;
  if (!complete) {
    around->entries_to_come = rest;
    around->largest_to_come = end;
    return;
  }
  RegisteredFile file;
  file.range = std::make_shared<const UserKeyRange>(UserKeyRange{reached + '\0', std::string(end)});
  file.entries = file.filter_keys = rest;
  file.policy_id = self.policy_id;
  around->others.push_back(std::move(file));
}

}  // namespace rocksieve
