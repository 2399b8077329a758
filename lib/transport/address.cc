// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/address.h"

#include <sys/un.h>

#include <algorithm>
#include <cstdint>

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

namespace rocksieve::join {
namespace {

constexpr size_t kMostPathBytes = sizeof(sockaddr_un::sun_path) - 1;

// Without what names the resolver: "dns://server/name:port" -> "name:port".
absl::string_view WithoutScheme(absl::string_view address) {
  if (absl::StrContains(address, "://")) return address.substr(address.rfind('/') + 1);
  for (const absl::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&address, scheme)) break;
  }
  return address;
}

// What is wrong with it; empty if nothing is.
std::string FaultOfPath(const std::string& path) {
  if (path.empty()) return "it must have a path, as in unix:/run/joins.socket";
  if (path.size() <= kMostPathBytes) return "";
  return absl::StrCat("its path has ", path.size(), " bytes, and a socket's may have ",
                      kMostPathBytes);
}

std::string FaultOfPort(absl::string_view port, AddressUse use) {
  if (port.empty()) return "its port is missing: it must look like host:port";
  if (port.find_first_not_of("0123456789") != absl::string_view::npos) {
    return absl::StrCat("its port, \"", port, "\", is no number: it must look like host:port");
  }
  const int least = use == AddressUse::kListen ? 0 : 1;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number) || number > UINT16_MAX) {
    return absl::StrCat("its port, ", port, ", is not one of ", least, " to ", UINT16_MAX);
  }
  return number == 0 && use == AddressUse::kConnect ? "port 0 is only for listening, on any port"
                                                    : "";
}

std::string FaultOf(const std::string& address, AddressUse use) {
  if (const std::optional<std::string> path = UnixSocketPath(address)) return FaultOfPath(*path);
  const absl::string_view rest = WithoutScheme(address);
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) {
    return "it must look like host:port, unix:/path, or dns:///name:port";
  }
  const absl::string_view host = rest.substr(0, colon);
  if (host.empty()) return "its host is missing: it must look like host:port";
  const bool in_brackets = host.front() == '[' && host.back() == ']';
  if (host.find(':') != absl::string_view::npos && !in_brackets) {
    return "an IPv6 address goes into brackets, as in [::1]:7420";
  }
  return FaultOfPort(rest.substr(colon + 1), use);
}

}  // namespace

bool IsLocal(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return true;
  absl::string_view host = WithoutScheme(address);
  host = host.substr(0, host.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // All of 127.0.0.0/8, but not a name that begins like it.
  const std::vector<absl::string_view> parts = absl::StrSplit(host, '.');
  return parts.size() == 4 && parts[0] == "127" &&
         host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

std::optional<std::string> UnixSocketPath(const std::string& address) {
  absl::string_view path(address);
  if (!absl::ConsumePrefix(&path, "unix:")) return std::nullopt;
  absl::ConsumePrefix(&path, "//");
  return std::string(path);
}

std::pair<std::string, std::string> HostAndPort(const std::string& address) {
  const absl::string_view rest = WithoutScheme(address);
  const size_t colon = rest.rfind(':');
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), std::string(rest.substr(colon + 1))};
}

absl::Status CheckAddress(const std::string& address, AddressUse use) {
  const std::string fault = FaultOf(address, use);
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is no address: ", fault));
}

absl::StatusOr<std::vector<std::string>> SplitAddresses(const std::string& list) {
  std::vector<std::string> addresses = absl::StrSplit(list, ',');
  for (size_t i = 0; i < addresses.size(); i++) {
    const absl::Status status = CheckAddress(addresses[i], AddressUse::kConnect);
    if (!status.ok()) return status;
    if (std::count(addresses.begin(), addresses.end(), addresses[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(addresses[i], " is named twice: each shard may be joined only once"));
    }
  }
  return addresses;
}

}  // namespace rocksieve::join
