#include "lib/transport/connect_errors.h"

#include <string_view>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include "lib/transport/address.h"

namespace rocksieve::join {
namespace {

constexpr char kNobody[] = "start rocksieve serve there, or name the address that it says";

}  // namespace

absl::Status ConnectError(const std::string& address, bool insecure, const absl::Status& status) {
  const absl::string_view message = status.message();
  if (absl::StrContains(message, "Connection refused")) {
    return absl::UnavailableError(
        absl::StrCat("nobody listens there (connection refused): ", kNobody));
  }
  if (UnixSocketPath(address) && absl::StrContains(message, "No such file or directory")) {
    return absl::UnavailableError(absl::StrCat("there is no such socket: ", kNobody));
  }
  if (insecure) {
    return absl::UnavailableError(
        absl::StrCat(message,
                     ": does a rocksieve server listen there, and is it --insecure, too? If it has "
                     "certificates, join with --certs"));
  }
  return absl::UnavailableError(
      absl::StrCat(message,
                   ": does a server listen there, and do both sides use certificates of the same "
                   "authority, or both --insecure?"));
}

}  // namespace rocksieve::join
