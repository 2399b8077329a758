// SPDX-License-Identifier: Apache-2.0
// What a session must have to be admitted: a place among those of its peer, and a share of the
// server's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <grpcpp/server_context.h>

#include "lib/join/memory_account.h"
#include "lib/join/session/server_session.h"
#include "lib/transport/drive.h"
#include "lib/transport/view_registry.h"

namespace rocksieve::join {

// How many sessions each peer has. Thread-safe.
class PeerPlaces {
 public:
  explicit PeerPlaces(size_t most_per_peer) : most_per_peer_(most_per_peer) {}

  class Place;
  // Null if the peer has all that it may have. Must not outlive this.
  std::unique_ptr<Place> Take(const std::string& peer);

 private:
  const size_t most_per_peer_;
  std::mutex mutex_;
  std::map<std::string, size_t> taken_;
};

// Given back with its destruction.
class PeerPlaces::Place {
 public:
  Place(PeerPlaces* places, std::string peer) : places_(places), peer_(std::move(peer)) {}
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  PeerPlaces* const places_;
  const std::string peer_;
};

// Who a caller is: the name in its certificate, if it showed one, and else its address without the
// port.
std::string PeerOf(const grpc::ServerContextBase& context);
// For people: the common name in its certificate, or else the first name there; empty if it showed
// none.
std::string CertificateNameOf(const grpc::ServerContextBase& context);
std::string AddressWithoutPort(const std::string& peer);

// How the memory of a server is divided among its sessions.
//
// Of what is free beyond a least share for each session that may still come, a new session gets
// half, and the last one that may come gets all. So a session alone has much, each of many has its
// least share, and together they never have more than the limit.
//
// Thread-safe.
class MemoryShares {
 public:
  // Half of it is what a stream's queues take, however short they are.
  static constexpr uint64_t kLeastShareBytes = 3 << 20;

  // If there is no room for the least share of so many sessions, there are fewer: one at least,
  // with all there is.
  MemoryShares(uint64_t limit_bytes, size_t most_sessions);

  class Share;
  // Null if all sessions that there is room for are there. Must not outlive this.
  std::unique_ptr<Share> Take();

  size_t most_sessions() const { return most_sessions_; }

 private:
  const uint64_t limit_bytes_;
  const size_t most_sessions_;
  const uint64_t least_bytes_;
  std::mutex mutex_;
  size_t taken_ = 0;
  uint64_t taken_bytes_ = 0;
};

// Given back with its destruction.
class MemoryShares::Share {
 public:
  Share(MemoryShares* shares, uint64_t bytes) : shares_(shares), bytes_(bytes) {}
  ~Share();
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  uint64_t bytes() const { return bytes_; }

 private:
  MemoryShares* const shares_;
  const uint64_t bytes_;
};

// What a session may take, derived from its share.
//
// Half of the share is for ranges, a quarter for a message on its way and what it is made of, a
// quarter for filters of SST files; sorting has its part before there are any of these. They are
// bounds of each alone: their sum is bounded by the session's MemoryAccount.
// The pointers must outlive the session.
void SetLimits(MemoryAccount* share, ServerSessionOptions* server_options, DriveLimits* limits,
               ViewTerms* terms);

}  // namespace rocksieve::join
