// Completion scripts for shells, made from the tree of parsers.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/help/tree.h"

namespace rocksieve::tools {

std::string BashCompletion(const CLI::App& root);
std::string FishCompletion(const CLI::App& root);
std::string ZshCompletion(const CLI::App& root);

// What the value of a flag completes to, by its type name (AddParser() says which).
bool CompletesToFiles(const Flag& flag);
bool CompletesToDirectories(const Flag& flag);
std::vector<std::string> ChoicesOf(const Flag& flag);  // of "a|b"; else none

// The first sentence of a description, for lists of flags.
std::string FirstSentence(const std::string& text);

// In single quotes, for any shell but fish, which wants \' within them.
std::string Quoted(const std::string& text);

}  // namespace rocksieve::tools
