// The subcommand `rocksieve demo`: its flags, its help, and its exit codes.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddDemoCommand(CLI::App* parent);

}  // namespace rocksieve::tools
