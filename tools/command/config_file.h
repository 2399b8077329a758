// SPDX-License-Identifier: Apache-2.0
// The flags of a command in a file: "listen = 0.0.0.0:7420", a line for each.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/command/parser.h"

namespace rocksieve::tools {

// Adds --config=FILE. A key is a flag without its dashes; a flag without a value is true or false;
// what may be repeated has an array, ["a", "b"]. # begins a comment.
void AddConfigFlag(Parser* parser);

// The words of the command line and, behind them, those that the file of their --config stands for;
// what is given on the command line counts. CLI11 itself reads such files for the root alone.
// Throws CLI::ParseError for a key that is no flag, with the nearest that is, for sections, and for
// a file that cannot be read or that other users may write.
std::vector<std::string> WithConfig(const CLI::App& root, std::vector<std::string> words);

}  // namespace rocksieve::tools
