// `rocksieve certs`.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddCertsCommand(CLI::App* parent);

}  // namespace rocksieve::tools
