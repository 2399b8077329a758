// `rocksieve serve`.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddServeCommand(CLI::App* parent);

}  // namespace rocksieve::tools
