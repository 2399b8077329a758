// The values of the demonstration: a function of the key's number, so that none need be kept.
#pragma once

#include <cstdint>
#include <string>

namespace rocksieve::tools {

inline constexpr uint64_t kSmallestValueBytes = 100;
inline constexpr uint64_t kLargestValueBytes = 400;

// Sets *value to pseudo-random bytes, as many as the range above allows; neither bytes nor length
// can be told from another number's.
void MakeValue(uint64_t number, std::string* value);

}  // namespace rocksieve::tools
