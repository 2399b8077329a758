// SPDX-License-Identifier: Apache-2.0
// Requests and replies between processes of one machine, for the examples: each a length of 4
// bytes, little-endian, and so many bytes. Over a Unix socket ("unix:PATH") or TCP
// ("127.0.0.1:PORT"; port 0: a free one). No encryption and no names: programs that join nodes use
// gRPC with TLS (docs/transport.md).
//
// All throw std::runtime_error, with the address in it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Closes what it has.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int number() const { return number_; }
  int Release();

 private:
  int number_;
};

// One end of it that asks. Thread safety: one thread at a time.
class Connection {
 public:
  explicit Connection(const std::string& address);
  // Sends, and waits for the reply.
  std::string Ask(std::string_view request);

  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  const std::string address_;
  Descriptor socket_;
  uint64_t bytes_sent_ = 0, bytes_received_ = 0;
};

// Answers in a thread of its own, one request after another, until it is destroyed; `answer` must
// not throw. A peer that breaks off, is silent for 10 seconds in the middle of a request or sends
// one of more than kMostRequestBytes loses its connection, and nobody else does.
class Server {
 public:
  static constexpr uint32_t kMostRequestBytes = 16 << 20;
  using Answer = std::function<std::string(std::string_view request)>;

  Server(const std::string& address, Answer answer);
  ~Server();
  // With the port that was free.
  const std::string& address() const { return address_; }

 private:
  void Run();
  bool AnswerOne(int socket) const;

  std::string address_;
  const Answer answer_;
  Descriptor listener_;
  Descriptor stop_read_, stop_write_;
  std::vector<Descriptor> connections_;
  std::thread thread_;  // the last one: it uses the others
};
