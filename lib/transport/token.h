// Bearer tokens in the metadata of a call: "authorization: Bearer TOKEN".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

inline constexpr char kTokenMetadata[] = "authorization";
inline constexpr char kTokenScheme[] = "Bearer ";

// One per line; empty lines and those that begin with # do not count. InvalidArgument if there is
// none, or one of them is shorter than 16 characters or not printable.
absl::StatusOr<std::vector<std::string>> ReadTokens(const std::string& path);

// Takes as long for wrong ones as for right ones.
bool IsToken(std::string_view given, const std::vector<std::string>& tokens);

}  // namespace rocksieve::join
