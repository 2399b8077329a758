// The command line.
#pragma once

#include <string>
#include <vector>

#include "bench/compare/settings.h"

namespace rocksieve::bench {

struct Flags {
  Settings settings;
  std::string json;                                 // path of the output
  std::vector<std::string> arguments_for_children;  // those that a run of a part must share
};

// What is left to do after ReadFlags().
enum class Asked { kRun, kNothing };  // kNothing: the help was printed

// Throws std::invalid_argument with a message for the user.
Asked ReadFlags(int argc, char** argv, Flags* flags);

}  // namespace rocksieve::bench
