// `rocksieve join`.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddJoinCommand(CLI::App* parent);

}  // namespace rocksieve::tools
