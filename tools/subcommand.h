// What main.cc needs to know of a subcommand.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace rocksieve::tools {

struct Command {
  CLI::App* parser = nullptr;  // owned by its parent; true in a condition if it was named
  std::function<int()> run;    // REQUIRES: the arguments are parsed. Returns an ExitCode.
};

}  // namespace rocksieve::tools
