// How many sessions each peer has.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <grpcpp/server_context.h>

namespace rocksieve::join {

// Thread-safe.
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
std::string AddressWithoutPort(const std::string& peer);

}  // namespace rocksieve::join
