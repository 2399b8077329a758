#include "lib/transport/listening.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include <absl/strings/str_cat.h>

#include "lib/transport/address.h"

namespace rocksieve::join {
namespace {

// Whether somebody would answer; also true if this process may not ask.
bool IsListenedOn(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return true;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int result =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool nobody = result != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  close(descriptor);
  return !nobody;
}

// The first error of the system on the way to listening; 0 if all goes well now.
int ErrorOfBinding(const addrinfo& address) {
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool listens =
      bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 && listen(descriptor, 1) == 0;
  const int error = listens ? 0 : errno;
  close(descriptor);
  return error;
}

// In the words of the system; empty if it has nothing against it.
std::string ErrorOfListening(const std::string& address) {
  const auto [host, port] = HostAndPort(address);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unresolved = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (unresolved != 0) return gai_strerror(unresolved);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr && error == 0; each = each->ai_next) {
    error = ErrorOfBinding(*each);
  }
  freeaddrinfo(found);
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace

absl::Status CheckSocketIsFree(const std::string& address) {
  const std::optional<std::string> path = UnixSocketPath(address);
  struct stat there {};
  if (!path || stat(path->c_str(), &there) != 0) return absl::OkStatus();
  if (!S_ISSOCK(there.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot listen on ", address,
        ": there is a file of that name that is no socket; it was kept. Choose another name"));
  }
  if (!IsListenedOn(*path)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on ", address,
                   ": another server does already. End that one, or choose another name"));
}

absl::Status WhyNotListening(const std::string& address) {
  const std::string what = absl::StrCat("cannot listen on ", address, ": ");
  if (UnixSocketPath(address)) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "is its directory there, and may this user write to it?"));
  }
  const std::string error = ErrorOfListening(address);
  return absl::FailedPreconditionError(absl::StrCat(
      what, error, error.empty() ? "" : ". ",
      "Name an address of this machine, and a port that nobody listens on; 0 is any that is free"));
}

}  // namespace rocksieve::join
