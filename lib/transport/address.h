// SPDX-License-Identifier: Apache-2.0
// What addresses look like, and what they say about who can hear us.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace rocksieve::join {

// "127.0.0.1:7", "localhost:7", "[::1]:7", "unix:/path": nobody outside of this machine. Names
// other than localhost are not looked up.
bool IsLocal(const std::string& address);

// "unix:/path" -> "/path"; nothing for other addresses.
std::optional<std::string> UnixSocketPath(const std::string& address);

// "dns:///name:1" -> "name", "1"; "[::1]:1" -> "::1", "1". REQUIRES: not of a unix socket, and OK
// by CheckAddress().
std::pair<std::string, std::string> HostAndPort(const std::string& address);

enum class AddressUse { kConnect, kListen };

// InvalidArgument that says what is wrong if an address has no host, or no port of 1 to 65535; 0 is
// one to listen on. Names are not looked up.
absl::Status CheckAddress(const std::string& address, AddressUse use);

// "a:1,b:2" -> {"a:1", "b:2"}; InvalidArgument if one is none to connect to, or comes twice.
absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list);

}  // namespace rocksieve::join
