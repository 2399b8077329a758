// SPDX-License-Identifier: Apache-2.0
// Amounts of memory in specs: "512MB", "1.5GiB", "4096B".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocksieve {

// A decimal number with its unit: B, kB, MB, GB, TB in steps of 1000, or KiB, MiB, GiB, TiB in
// steps of 1024; fractions of a byte are dropped. False for anything else, or more than 1000TB.
bool ParseByteSize(std::string_view text, uint64_t* bytes);

// The shortest text that reads back as the same number, without fractions: "512MB", "1536MiB".
std::string ByteSizeText(uint64_t bytes);

}  // namespace rocksieve
