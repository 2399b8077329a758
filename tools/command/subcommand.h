// What main.cc needs to know of a subcommand, and how a subcommand says what it is.
//
//   CLI::App* parser = AddParser(parent, {.name = "demo", .summary = ..., ...});
//   parser->add_option("--keys", keys, "one key per line")->type_name("FILE")->check(NotEmpty());
//   parser->add_flag("--json", json, "print one JSON document, with units in the names");
//
// That is all: --help, the man page and the shell completion are made from the parser (help/).
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

struct Command {
  CLI::App* parser = nullptr;  // owned by its parent; true in a condition if it was named
  std::function<int()> run;    // REQUIRES: the arguments are parsed. Returns an ExitCode.
};

// ASCII. Lines are broken anew, but for those that begin with a space; an empty line ends a
// paragraph.
struct CommandText {
  std::string name;
  std::string summary;      // half a line, begins small and has no full stop
  std::string description;  // what it does, and what that costs
  std::string exit_codes;   // "0 done; 1 ..."
  std::string example;      // "Example, with ...:\n  rocksieve ..."
};

// A parser with --help. Every flag and argument that is added to it has a description ("Default:
// ..." at its end) and, if it takes a value, a type name: DIR and FILE complete to paths, a|b to
// either, any other to nothing.
CLI::App* AddParser(CLI::App* parent, const CommandText& text);

// The same for the command itself: `name` is not that of a subcommand.
void DescribeParser(CLI::App* parser, const CommandText& text);

// The group of flags that few need: --help only names them, the manual page describes them.
inline constexpr char kRareFlags[] = "rare";

// Refuses "--flag=".
CLI::Validator NotEmpty();

}  // namespace rocksieve::tools
