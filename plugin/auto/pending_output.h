// SPDX-License-Identifier: Apache-2.0
// What a compaction has still to write.
#pragma once

#include <cstdint>
#include <vector>

#include "plugin/auto/registered_file.h"

namespace rocksieve {

// Estimates the entries that a job with these inputs will write beyond `self`, and adds them to
// around->others as one file without a filter; or, if `self` is not complete, as what is to come
// of it. `written`: entries that the job has written so far, `self` included.
void AddPendingOutput(const std::vector<RegisteredFile>& inputs, uint64_t written,
                      const RegisteredFile& self, bool complete, Surroundings* around);

}  // namespace rocksieve
