#pragma once

#include <CLI/CLI.hpp>

#include "subcommand.h"

namespace rocksieve::tools {

Command AddWhatIfCommand(CLI::App* parent);

}  // namespace rocksieve::tools
