// SPDX-License-Identifier: Apache-2.0
// Another program as a step of an experiment.
#pragma once

#include <string>
#include <vector>

namespace rocksieve::experiments {

// Runs it (looked for in PATH, no shell) and waits. What it prints on stdout goes to the file
// `output`, or nowhere if that is empty; stderr is ours. Throws std::runtime_error if it cannot be
// started, is killed, or ends with another exit code than 0.
void RunProgram(const std::vector<std::string>& words, const std::string& output = "");

}  // namespace rocksieve::experiments
