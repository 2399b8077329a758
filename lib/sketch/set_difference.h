// The ids of keys that only one of two sides has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace rocksieve {

struct SetDifference {
  std::vector<uint64_t> only_remote, only_local;  // ascending

  // Sorts both, and strikes out what stands on either side: a wrong key, found by chance in the sum
  // of several and taken back later.
  void StrikeOut() {
    std::sort(only_remote.begin(), only_remote.end());
    std::sort(only_local.begin(), only_local.end());
    SetDifference net;
    std::set_difference(only_remote.begin(), only_remote.end(), only_local.begin(),
                        only_local.end(), std::back_inserter(net.only_remote));
    std::set_difference(only_local.begin(), only_local.end(), only_remote.begin(),
                        only_remote.end(), std::back_inserter(net.only_local));
    *this = std::move(net);
  }
};

}  // namespace rocksieve
