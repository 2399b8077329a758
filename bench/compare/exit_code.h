// What the program tells its caller; --help documents the same numbers.
#pragma once

namespace rocksieve::bench {

enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // a rate is off its model, or a key was lost
  kCannotRun = 2,    // bad usage, or something in the way
  kUnfitBuild = 3,   // see build_kind.h
};

}  // namespace rocksieve::bench
