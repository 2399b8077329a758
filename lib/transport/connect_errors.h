// What it means that a server cannot be reached.
#pragma once

#include <string>

#include <absl/status/status.h>

namespace rocksieve::join {

// gRPC's words for a failed connection as one line with a remedy, which fits the address and
// whether TLS was tried. Unavailable.
absl::Status ConnectError(const std::string& address, bool insecure, const absl::Status& status);

}  // namespace rocksieve::join
