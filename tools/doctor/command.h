// The subcommand `rocksieve doctor`: its flags, its help, and its exit codes.
#pragma once

#include "subcommand.h"

namespace rocksieve::tools {

Command AddDoctorCommand(CLI::App* parent);

}  // namespace rocksieve::tools
