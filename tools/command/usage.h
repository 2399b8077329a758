// SPDX-License-Identifier: Apache-2.0
// What users type, before and after the parser has seen it: spellings that mean the same, and what
// a misspelt word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

// The same words as the parser knows them: "help [COMMAND]" and "-h" are --help; "COMMAND DIR" is
// "COMMAND --db=DIR" where the command has that flag and no argument of its own.
std::vector<std::string> InParsersWords(const CLI::App& root, std::vector<std::string> words);

// The first of the words that is no command or flag, and which one it may be; else empty.
std::string MisspeltWord(const CLI::App& root, const std::vector<std::string>& words);

// The choice that most likely was meant: at most a third of its characters are missing, wrong, too
// many or exchanged; empty if there is none. Cost: lengths multiplied, for each choice.
std::string NearestOf(std::string_view word, const std::vector<std::string>& choices);

}  // namespace rocksieve::tools
