// The subcommand `rocksieve inspect`: its flags, its help, and its exit codes.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddInspectCommand(CLI::App* parent);

}  // namespace rocksieve::tools
