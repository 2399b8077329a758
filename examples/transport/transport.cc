// SPDX-License-Identifier: Apache-2.0
#include "examples/transport/transport.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace {

constexpr std::string_view kUnix = "unix:";
constexpr uint32_t kMostReplyBytes = 1 << 30;
constexpr size_t kPieceBytes = 1 << 16;
constexpr time_t kStallSeconds = 10;

[[noreturn]] void Fail(const std::string& what, const std::string& address) {
  throw std::runtime_error(what + " " + address + ": " + std::strerror(errno));
}

// Calls use(address, length) on a new socket of the family.
template <typename Use>
Descriptor WithSocket(const std::string& address, const std::string& what, Use use) {
  if (address.compare(0, kUnix.size(), kUnix) == 0) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = address.substr(kUnix.size());
    if (path.empty() || path.size() >= sizeof(name.sun_path)) {
      throw std::runtime_error(address + ": a path of 1 to 107 bytes is needed after unix:");
    }
    std::memcpy(name.sun_path, path.data(), path.size());
    Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (use(made.number(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) {
      Fail(what, address);
    }
    return made;
  }
  const size_t colon = address.rfind(':');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (colon == std::string::npos ||
      getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints,
                  &found) != 0) {
    throw std::runtime_error(address + " is no address: unix:PATH or 127.0.0.1:PORT is one");
  }
  Descriptor made(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int failed = use(made.number(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (failed != 0) Fail(what, address);
  return made;
}

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool SendMessage(int socket, std::string_view message) {
  std::string frame;
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>(message.size() >> shift);
  return SendAll(socket, frame.append(message));
}

bool ReceiveAll(int socket, size_t bytes, std::string* result) {
  result->clear();
  while (result->size() < bytes) {
    // Memory only as it is filled: the length is what the other side claims.
    const size_t have = result->size();
    result->resize(have + std::min(bytes - have, kPieceBytes));
    const ssize_t received = recv(socket, result->data() + have, result->size() - have, 0);
    if (received <= 0 && !(received < 0 && errno == EINTR)) return false;
    result->resize(have + static_cast<size_t>(std::max<ssize_t>(received, 0)));
  }
  return true;
}

bool ReceiveMessage(int socket, uint32_t most_bytes, std::string* message) {
  if (!ReceiveAll(socket, 4, message)) return false;
  uint32_t length = 0;
  for (int i = 0; i < 4; i++) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>((*message)[i])) << (8 * i);
  }
  return length <= most_bytes && ReceiveAll(socket, length, message);
}

std::string WithPort(int socket, const std::string& address) {
  if (address.compare(0, kUnix.size(), kUnix) == 0) return address;
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  char port[NI_MAXSERV];
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&name), length, nullptr, 0, port, sizeof(port),
                  NI_NUMERICSERV) != 0) {
    Fail("cannot listen at", address);
  }
  return address.substr(0, address.rfind(':') + 1) + port;
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

Connection::Connection(const std::string& address)
    : address_(address), socket_(WithSocket(address, "cannot connect to", connect)) {}

std::string Connection::Ask(std::string_view request) {
  std::string reply;
  if (!SendMessage(socket_.number(), request) ||
      !ReceiveMessage(socket_.number(), kMostReplyBytes, &reply)) {
    throw std::runtime_error("no reply from " + address_);
  }
  bytes_sent_ += 4 + request.size();
  bytes_received_ += 4 + reply.size();
  return reply;
}

Server::Server(const std::string& address, Answer answer) : answer_(std::move(answer)) {
  const auto bind_and_listen = [](int socket, const sockaddr* name, socklen_t length) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(socket, name, length) == 0 ? listen(socket, SOMAXCONN) : -1;
  };
  listener_ = WithSocket(address, "cannot listen at", bind_and_listen);
  address_ = WithPort(listener_.number(), address);
  int stop[2];
  if (pipe(stop) != 0) Fail("no pipe for", address);
  stop_read_ = Descriptor(stop[0]);
  stop_write_ = Descriptor(stop[1]);
  thread_ = std::thread([this] { Run(); });
}

Server::~Server() {
  stop_write_ = Descriptor();
  thread_.join();
  if (address_.compare(0, kUnix.size(), kUnix) == 0) unlink(address_.c_str() + kUnix.size());
}

void Server::Run() {
  for (;;) {
    std::vector<pollfd> waiting = {{stop_read_.number(), POLLIN, 0},
                                   {listener_.number(), POLLIN, 0}};
    for (const Descriptor& connection : connections_) {
      waiting.push_back({connection.number(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;  // a signal
    if (waiting[0].revents != 0) return;
    std::vector<Descriptor> open;
    for (size_t i = 0; i < connections_.size(); i++) {
      const bool quiet = waiting[i + 2].revents == 0;
      if (quiet || AnswerOne(connections_[i].number())) open.push_back(std::move(connections_[i]));
    }
    connections_ = std::move(open);
    if (waiting[1].revents == 0) continue;
    Descriptor accepted(accept(listener_.number(), nullptr, nullptr));
    if (accepted.number() < 0) continue;
    const timeval stall{kStallSeconds, 0};
    setsockopt(accepted.number(), SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
    setsockopt(accepted.number(), SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
    connections_.push_back(std::move(accepted));
  }
}

bool Server::AnswerOne(int socket) const {
  std::string request;
  return ReceiveMessage(socket, kMostRequestBytes, &request) &&
         SendMessage(socket, answer_(request));
}
