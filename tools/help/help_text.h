// What --help prints, within 79 columns.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

std::string HelpText(const CLI::App& parser);

}  // namespace rocksieve::tools
