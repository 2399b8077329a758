// The subcommand `rocksieve explain`: its flags, its help, and its exit codes.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddExplainCommand(CLI::App* parent);

}  // namespace rocksieve::tools
