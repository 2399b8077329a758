// The tree of parsers as --help, man pages and completion see it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

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

// What CommandText said, taken back out of the parser.
struct ParserText {
  std::string full_name;  // "rocksieve demo"
  std::string summary;
  std::vector<std::string> description;  // paragraphs
  std::string exit_codes;
  std::string example;
};

// Positional arguments first, then flags in the order in which they were added, --help last.
std::vector<Flag> FlagsOf(const CLI::App& parser);

ParserText TextOf(const CLI::App& parser);

// Without hidden ones, which have the group "".
std::vector<const CLI::App*> SubcommandsOf(const CLI::App& parser);

// "rocksieve demo [--keys=FILE] [--json]", in one line. A short one has only the flags that are
// required, if there are rare ones.
std::string UsageOf(const CLI::App& parser, bool is_short = false);

}  // namespace rocksieve::tools
