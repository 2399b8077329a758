// SPDX-License-Identifier: Apache-2.0
// Ranges of keys in messages for people.
#pragma once

#include <string>

#include <absl/status/status.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

// "from \"apple\" up to \"pear\"", "of all keys"; unprintable bytes as \xHH, long keys cut short.
// An interval without keys stands for the rows with a NULL key, which come after all others.
std::string TextOf(const KeyInterval& interval);

// An error of work on a range, with the range's name.
absl::Status Naming(const KeyInterval& interval, const absl::Status& status);

}  // namespace rocksieve::join
