// What the command tells its caller. The --help texts document the same numbers.
#pragma once

namespace rocksieve::tools {

enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // it ran, and something is wrong: a lost key, say
  kCannotRun = 2,    // bad usage, or something in the way: a missing file, a full disk
};

}  // namespace rocksieve::tools
