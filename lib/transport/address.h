// What addresses say about who can hear us.
#pragma once

#include <string>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

// "127.0.0.1:7", "localhost:7", "[::1]:7", "unix:/path": nobody outside of this machine. Names other
// than localhost are not looked up.
bool IsLocal(const std::string& address);

// "a:1,b:2" -> {"a:1", "b:2"}; InvalidArgument if one is empty, has no port, or comes twice.
absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list);

}  // namespace rocksieve::join
