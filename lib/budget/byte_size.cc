// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/byte_size.h"

#include "lib/filter/spec.h"

namespace rocksieve {
namespace {

struct SizeUnit {
  std::string_view name;
  uint64_t bytes;
};

// Of two that say the same as shortly, the first is written.
constexpr SizeUnit kSizeUnits[] = {{"TB", 1'000'000'000'000},
                                   {"GB", 1'000'000'000},
                                   {"MB", 1'000'000},
                                   {"kB", 1000},
                                   {"TiB", uint64_t{1} << 40},
                                   {"GiB", uint64_t{1} << 30},
                                   {"MiB", uint64_t{1} << 20},
                                   {"KiB", uint64_t{1} << 10},
                                   {"B", 1}};

constexpr double kMostByteSize = 1e15;  // a double still knows each byte

}  // namespace

bool ParseByteSize(std::string_view text, uint64_t* bytes) {
  const size_t digits = text.find_first_not_of("0123456789.");
  if (digits == std::string_view::npos) return false;
  double number = 0;
  if (!ParseDecimal(text.substr(0, digits), &number)) return false;
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name != text.substr(digits)) continue;
    const double size = number * static_cast<double>(unit.bytes);
    if (!(size <= kMostByteSize)) return false;
    *bytes = static_cast<uint64_t>(size);
    return true;
  }
  return false;
}

std::string ByteSizeText(uint64_t bytes) {
  std::string shortest;
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes % unit.bytes != 0) continue;
    const std::string text = std::to_string(bytes / unit.bytes) + std::string(unit.name);
    if (shortest.empty() || text.size() < shortest.size()) shortest = text;
  }
  return shortest;
}

}  // namespace rocksieve
