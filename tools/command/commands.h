// Each subcommand adds itself to the command's parser: its flags, its help, its exit codes.
#pragma once

#include "tools/command/subcommand.h"

namespace rocksieve::tools {

Command AddCertsCommand(CLI::App* parent);
Command AddDemoCommand(CLI::App* parent);
Command AddDoctorCommand(CLI::App* parent);
Command AddExplainCommand(CLI::App* parent);
Command AddInspectCommand(CLI::App* parent);
Command AddJoinCommand(CLI::App* parent);
Command AddLoadCommand(CLI::App* parent);
Command AddServeCommand(CLI::App* parent);
Command AddWhatIfCommand(CLI::App* parent);
Command AddCompletionCommand(CLI::App* parent);
// `rocksieve man-pages`, which the build calls and --help does not list.
Command AddManPagesCommand(CLI::App* parent);

}  // namespace rocksieve::tools
