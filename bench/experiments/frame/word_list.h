// SPDX-License-Identifier: Apache-2.0
// Real keys: the words of Debian's wamerican-insane.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

// Letters of ASCII only; all other bytes stay.
std::string LowerCase(std::string_view text);

// In lower case, in the order of the file, with the duplicates that this makes; all are shorter
// than 64 bytes. Throws std::runtime_error that names the package.
std::vector<std::string> InsaneWords();

// Without duplicates, in an order that is random but always the same.
std::vector<std::string> ShuffledDistinctWords();

}  // namespace rocksieve::experiments
