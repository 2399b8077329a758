// SPDX-License-Identifier: Apache-2.0
// Sockets on which a server listens, and the thread that takes the connections.
//
// gRPC does not open them itself: a service manager may have done that before (socket activation),
// and connections go to a server with new certificates while an old one still has sessions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>

namespace rocksieve::join {

// The descriptor of a file, which it closes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int number() const { return number_; }  // -1: none
  int Release();

 private:
  int number_;
};

//   Open() Start() Stop()
class Listener {
 public:
  // Gets a socket that listens, which stays the listener's, and a connection that does not block,
  // which is the callee's. Called by the listener's thread alone.
  using OnConnection = std::function<void(int listening, Descriptor connection)>;

  // Listens on all of the addresses that a name stands for: on those of them that the machine has.
  // FailedPrecondition, in the words of the system and with a remedy, if that is not possible; so
  // it is for a unix socket that a living server listens on, and for any other file of that name.
  // What a server left behind that was killed is no obstacle.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const std::string& address);

  // With sockets that listen already, whose descriptors it takes over. FailedPrecondition if one is
  // something else.
  static absl::StatusOr<std::unique_ptr<Listener>> Adopt(const std::vector<int>& listening);

  ~Listener() { Stop(); }

  // "127.0.0.1:7420", "[::1]:7420", "unix:/run/joins.socket": of the first socket. A name, and what
  // stands for all addresses, stays as it is.
  const std::string& address() const { return address_; }
  // Of the sockets, the first one that other machines can reach; else as address().
  const std::string& reachable_address() const {
    return reachable_address_.empty() ? address_ : reachable_address_;
  }
  int port() const { return port_; }  // of the first socket; 0 of a unix socket

  void Start(OnConnection on_connection);
  // Nothing is taken any more, and nobody can connect. Removes the unix socket that Open() made.
  // What waits on a socket that was adopted is left to whoever opened it. Idempotent.
  void Stop();

 private:
  Listener() = default;
  void TakeConnections();

  std::vector<Descriptor> sockets_;
  std::string address_, own_path_;  // own_path_: of a unix socket that Open() made
  std::string reachable_address_;   // of sockets that were adopted, if there is any
  int port_ = 0;
  Descriptor stop_;  // an eventfd
  OnConnection on_connection_;
  std::thread thread_;
};

}  // namespace rocksieve::join
