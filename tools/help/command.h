// The subcommands `rocksieve completion`, and `rocksieve man-pages`, which the build calls and
// --help does not list.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddCompletionCommand(CLI::App* parent);
Command AddManPagesCommand(CLI::App* parent);

}  // namespace rocksieve::tools
