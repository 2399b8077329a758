// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/transport/credentials.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr int kWhenOutOfDescriptorsMs = 100;  // until a connection is tried to be taken again
constexpr int kUnansweredMs = 10'000;         // of what was sent, until a connection is given up

int PortOf(int descriptor) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  if (bound.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(bound).sin_port);
  if (bound.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(bound).sin6_port);
  return 0;
}

// As gRPC takes it to connect.
std::string AddressOf(int descriptor) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return "";
  if (bound.ss_family == AF_UNIX) {
    return absl::StrCat("unix:", reinterpret_cast<sockaddr_un&>(bound).sun_path);
  }
  char host[NI_MAXHOST];
  if (getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, host, sizeof(host), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return "";
  }
  const bool is_ipv6 = bound.ss_family == AF_INET6;
  return absl::StrCat(is_ipv6 ? "[" : "", host, is_ipv6 ? "]:" : ":", PortOf(descriptor));
}

// Connections inherit these.
void SetOptions(int descriptor, int family) {
  const int yes = 1, no = 0, unanswered = kUnansweredMs;
  if (family == AF_UNIX) return;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof(unanswered));
  // "[::]" takes IPv4, too.
  if (family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
}

// An error of the system, or 0.
int Listen(const sockaddr* address, socklen_t length, Descriptor* listening) {
  const int family = address->sa_family;
  Descriptor descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (descriptor.number() < 0) return errno;
  SetOptions(descriptor.number(), family);
  if (bind(descriptor.number(), address, length) != 0) return errno;
  if (listen(descriptor.number(), SOMAXCONN) != 0) return errno;
  *listening = std::move(descriptor);
  return 0;
}

// The machine has no such address, or no such protocol.
bool IsMissing(int error) {
  return error == EADDRNOTAVAIL || error == EAFNOSUPPORT || error == EPROTONOSUPPORT;
}

absl::Status CannotListen(const std::string& address, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot listen on ", address, ": ", why,
      ". Name an address of this machine, and a port that nobody listens on; 0 is any that is "
      "free"));
}

// With the same port for all, if it may be any.
absl::Status ListenOnHost(const std::string& address, std::vector<Descriptor>* sockets) {
  const auto [host, port] = HostAndPort(address);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // 0.0.0.0 is for IPv6 as well, where there is any, as always with gRPC.
  const std::string wanted = host == "0.0.0.0" ? "::" : host;
  int unresolved = getaddrinfo(wanted.c_str(), port.c_str(), &hints, &found);
  if (unresolved != 0) return CannotListen(address, gai_strerror(unresolved));
  int error = 0, chosen_port = 0;
  for (addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (chosen_port != 0 && each->ai_family == AF_INET) {
      reinterpret_cast<sockaddr_in*>(each->ai_addr)->sin_port = htons(chosen_port);
    } else if (chosen_port != 0 && each->ai_family == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(each->ai_addr)->sin6_port = htons(chosen_port);
    }
    Descriptor listening;
    const int its_error = Listen(each->ai_addr, each->ai_addrlen, &listening);
    if (its_error == 0) {
      chosen_port = PortOf(listening.number());
      sockets->push_back(std::move(listening));
    } else if (error == 0 || !IsMissing(its_error)) {
      error = its_error;
    }
  }
  freeaddrinfo(found);
  if (sockets->empty() && wanted == "::" && IsMissing(error)) {  // no IPv6 on this machine
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
    Descriptor listening;
    error = Listen(reinterpret_cast<sockaddr*>(&any), sizeof(any), &listening);
    if (error == 0) sockets->push_back(std::move(listening));
  }
  const bool all_there = !sockets->empty() && (error == 0 || IsMissing(error));
  return all_there ? absl::OkStatus() : CannotListen(address, std::strerror(error));
}

sockaddr_un AddressOfPath(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Whether somebody would answer; also true if this process may not ask.
bool IsListenedOn(const std::string& path) {
  const Descriptor descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (descriptor.number() < 0) return true;
  const sockaddr_un address = AddressOfPath(path);
  const int result =
      connect(descriptor.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return result == 0 || (errno != ECONNREFUSED && errno != ENOENT);
}

absl::Status CheckSocketIsFree(const std::string& address, const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) != 0) return absl::OkStatus();
  if (!S_ISSOCK(there.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot listen on ", address,
        ": there is a file of that name that is no socket; it was kept. Choose another name"));
  }
  if (!IsListenedOn(path)) {
    unlink(path.c_str());
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on ", address,
                   ": another server does already. End that one, or choose another name"));
}

absl::Status ListenOnPath(const std::string& address, const std::string& path,
                          std::vector<Descriptor>* sockets) {
  RETURN_IF_ERROR(CheckSocketIsFree(address, path));
  const sockaddr_un bound = AddressOfPath(path);
  Descriptor listening;
  const int error = Listen(reinterpret_cast<const sockaddr*>(&bound), sizeof(bound), &listening);
  if (error != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address, ": ", std::strerror(error),
                     ": is its directory there, and may this user write to it?"));
  }
  sockets->push_back(std::move(listening));
  return absl::OkStatus();
}

bool IsListening(int descriptor) {
  int kind = 0, listens = 0;
  socklen_t length = sizeof(kind);
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &length) != 0) return false;
  length = sizeof(listens);
  return kind == SOCK_STREAM &&
         getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens == 1;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

int Descriptor::Release() { return std::exchange(number_, -1); }

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address) {
  RETURN_IF_ERROR(CheckAddress(address, AddressUse::kListen));
  std::unique_ptr<Listener> listener(new Listener);
  listener->address_ = address;
  if (const std::optional<std::string> path = UnixSocketPath(address)) {
    RETURN_IF_ERROR(ListenOnPath(address, *path, &listener->sockets_));
    listener->own_path_ = *path;
  } else {
    RETURN_IF_ERROR(ListenOnHost(address, &listener->sockets_));
    listener->port_ = PortOf(listener->sockets_.front().number());
    listener->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", listener->port_);
  }
  return listener;
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Adopt(const std::vector<int>& listening) {
  std::unique_ptr<Listener> listener(new Listener);
  for (const int number : listening) {
    if (!IsListening(number)) {
      return absl::FailedPreconditionError(
          absl::StrCat("descriptor ", number,
                       " is no socket that listens for streams: the socket unit needs "
                       "ListenStream=, and Accept=no"));
    }
    listener->sockets_.emplace_back(number);
    fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
    const std::string address = AddressOf(number);
    SetOptions(number, UnixSocketPath(address) ? AF_UNIX : AF_INET);
    if (listener->address_.empty()) listener->address_ = address;
    if (listener->reachable_address_.empty() && !IsLocal(address)) {
      listener->reachable_address_ = address;
    }
  }
  if (listener->sockets_.empty()) {
    return absl::FailedPreconditionError(
        "there is no socket to listen on: name an address, or start by a socket unit");
  }
  listener->port_ = PortOf(listener->sockets_.front().number());
  return listener;
}

void Listener::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this] { TakeConnections(); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.number(), &one, sizeof(one));
    thread_.join();
  }
  // While it still listens: nobody else does there yet.
  if (!own_path_.empty()) unlink(own_path_.c_str());
  own_path_.clear();
  sockets_.clear();
}

void Listener::TakeConnections() {
  std::vector<pollfd> waited = {{stop_.number(), POLLIN, 0}};
  for (const Descriptor& each : sockets_) waited.push_back({each.number(), POLLIN, 0});
  for (;;) {
    poll(waited.data(), waited.size(), -1);
    if (waited[0].revents != 0) return;
    bool exhausted = false;
    for (size_t i = 1; i < waited.size(); i++) {
      if (waited[i].revents == 0) continue;
      Descriptor connection(accept4(waited[i].fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection.number() >= 0) {
        on_connection_(waited[i].fd, std::move(connection));
      } else {
        exhausted |= errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      }
    }
    // The connection waits, and would be tried over and over.
    if (exhausted) poll(waited.data(), 1, kWhenOutOfDescriptorsMs);
  }
}

}  // namespace rocksieve::join
