// SPDX-License-Identifier: Apache-2.0
// What the programs of benchmarks share.
#pragma once

#include <string>
#include <vector>

namespace rocksieve::bench {

// Whether a table (tree, ..) is wanted: nobody named any, or this one is among them.
bool Wants(const std::vector<std::string>& only, const std::string& name);

// Replaces the file. Throws std::runtime_error if it cannot be written.
void WriteFile(const std::string& path, const std::string& text);

// Calls main(argc, argv). An exception becomes a message and the exit code 2: bad usage, or
// something in the way.
int RunProgram(const char* name, int (*main)(int, char**), int argc, char** argv);

}  // namespace rocksieve::bench
