// Work that may throw: memory that is not there, or code of others.
//
// Nothing of ours throws; what is allocated may, and so may a program's source of rows. One session
// must not end a process that has others.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

namespace rocksieve::join {

// What `work` says. ResourceExhausted if it ran out of memory, or the system out of threads;
// Internal, with its text, if it threw something else.
absl::Status Guarded(absl::FunctionRef<absl::Status()> work);

}  // namespace rocksieve::join
