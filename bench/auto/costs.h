// SPDX-License-Identifier: Apache-2.0
// What it costs to hear where lookups go.
#pragma once

#include <string>
#include <vector>

#include "support/table.h"

namespace rocksieve::bench {

// The key at a place of the key space, from 0 to 1.
std::string KeyAt(double place);

// Nanoseconds per query of filters of rocksieve.auto, with and without the option even, that many
// of them `at_once`, up to 32.
Table SampleCosts(bool smoke, const std::vector<size_t>& at_once);

// What a flush or compaction takes to learn from what was heard, and to decide by it. The files go
// to the directory.
Table LearningCosts(bool smoke, const std::string& directory);

}  // namespace rocksieve::bench
