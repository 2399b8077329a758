// SPDX-License-Identifier: Apache-2.0
// The tree of parsers as --help, man pages and completion see it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/command/command.h"

namespace rocksieve::tools {

struct Flag {
  std::string name;   // "--keys", or "FILE" if it is a positional argument
  std::string value;  // "FILE"; empty if it takes none
  std::string description;
  bool positional = false;
  bool required = false;
  bool repeatable = false;
  bool rare = false;

  std::string Spelled() const;  // "--keys=FILE"
  std::string InUsage() const;  // "[--keys=FILE]..."
};

// Positional arguments first, then flags in the order in which they were added, --help last.
std::vector<Flag> FlagsOf(const CLI::App& parser);

// What it was described with. REQUIRES: DescribeParser() did it.
const CommandText& TextOf(const CLI::App& parser);

// "rocksieve demo"
std::string FullName(const CLI::App& parser);

// Without hidden ones, which have the group "".
std::vector<const CLI::App*> SubcommandsOf(const CLI::App& parser);

// "rocksieve demo [--keys=FILE] [--json]", in one line. A short one has only the flags that are
// required, if there are rare ones.
std::string UsageOf(const CLI::App& parser, bool is_short = false);

}  // namespace rocksieve::tools
