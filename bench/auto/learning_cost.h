// SPDX-License-Identifier: Apache-2.0
// What it costs a flush or compaction to learn where lookups go.
#pragma once

#include <string>

namespace rocksieve::bench {

// A table for trees of several sizes: the processor time that a file with filters of rocksieve.auto
// takes longer than with the option even, beside that of writing the file. Writes in `directory`.
std::string LearningCosts(bool smoke, const std::string& directory);

}  // namespace rocksieve::bench
