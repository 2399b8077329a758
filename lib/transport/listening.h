// What stands in the way of a server that wants to listen on an address.
#pragma once

#include <string>

#include <absl/status/status.h>

namespace rocksieve::join {

// FailedPrecondition for a unix socket that a living server listens on, and for any other file of
// that name: gRPC would take the socket over in silence. What a server left behind that was killed
// is no obstacle.
absl::Status CheckSocketIsFree(const std::string& address);

// After listening on an address failed: what the system says about it, and a remedy.
absl::Status WhyNotListening(const std::string& address);

}  // namespace rocksieve::join
