#include "lib/transport/peer_places.h"

#include <grpcpp/security/auth_context.h>

namespace rocksieve::join {

std::unique_ptr<PeerPlaces::Place> PeerPlaces::Take(const std::string& peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t& taken = taken_[peer];
  if (taken >= most_per_peer_) return nullptr;
  auto place = std::make_unique<Place>(this, peer);  // may throw, and then nothing is taken
  taken++;
  return place;
}

PeerPlaces::Place::~Place() {
  const std::lock_guard<std::mutex> lock(places_->mutex_);
  const auto found = places_->taken_.find(peer_);
  if (--found->second == 0) places_->taken_.erase(found);
}

std::string AddressWithoutPort(const std::string& peer) {
  // "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711", "unix:/path".
  if (peer.rfind("ipv", 0) != 0) return peer;
  return peer.substr(0, peer.rfind(':'));
}

std::string PeerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  if (shown != nullptr && shown->IsPeerAuthenticated()) {
    std::string name;
    for (const grpc::string_ref& part : shown->GetPeerIdentity()) {
      name.append(part.data(), part.size()).push_back('\n');
    }
    if (!name.empty()) return name;
  }
  return AddressWithoutPort(context.peer());
}

}  // namespace rocksieve::join
