// The subcommand `rocksieve load`: its flags, its help, and its exit codes.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddLoadCommand(CLI::App* parent);

}  // namespace rocksieve::tools
