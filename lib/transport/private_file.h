// Files with secrets, which nobody but their owner may read.
#pragma once

#include <string>

#include <absl/status/status.h>

namespace rocksieve::join {

// FailedPrecondition, with the remedy, if other users may read or write the file. OK if it is not
// there: whoever reads it says so better.
absl::Status CheckIsPrivate(const std::string& path);

}  // namespace rocksieve::join
