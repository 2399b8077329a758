#include "transport/address.h"

#include <algorithm>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

namespace rocksieve::join {
namespace {

bool HasPort(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const size_t colon = address.rfind(':');
  return colon != std::string::npos && colon + 1 < address.size() &&
         std::all_of(address.begin() + static_cast<ptrdiff_t>(colon) + 1, address.end(),
                     [](unsigned char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

bool IsLocal(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  absl::string_view host(address);
  for (const absl::string_view scheme : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&host, scheme)) break;
  }
  host = host.substr(0, host.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // All of 127.0.0.0/8, but not a name that begins like it.
  const std::vector<absl::string_view> parts = absl::StrSplit(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list) {
  std::vector<std::string> addresses = absl::StrSplit(list, ',');
  for (size_t i = 0; i < addresses.size(); i++) {
    if (!HasPort(addresses[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", addresses[i], "\" is no address: it must look like host:port, or dns:///name:port"));
    }
    if (std::count(addresses.begin(), addresses.end(), addresses[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(addresses[i], " is named twice: each shard may be joined only once"));
    }
  }
  return addresses;
}

}  // namespace rocksieve::join
