// Manual pages, in the macros of man(7).
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

// "rocksieve-demo"
std::string ManPageName(const CLI::App& parser);

std::string ManPage(const CLI::App& parser, const std::string& version);

}  // namespace rocksieve::tools
