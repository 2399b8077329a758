// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/admission.h"

#include <algorithm>
#include <vector>

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

namespace rocksieve::join {
namespace {

// Of a range's key: two ranges under way, both of which are reconciled (170 bytes each, measured
// with symbols, the strategy that takes most), and what of their messages is under way.
constexpr uint64_t kBytesPerKey = 420;
constexpr uint64_t kMostRanges = 6;
// Room for somewhat more keys than a client has, by default, in its ranges.
constexpr uint64_t kMostKeysPerRange = 5 * (uint64_t{1} << 18);

size_t SessionsWithRoom(uint64_t limit_bytes, size_t most_sessions) {
  return std::clamp<uint64_t>(limit_bytes / MemoryShares::kLeastShareBytes, 1,
                              std::max<size_t>(most_sessions, 1));
}

}  // namespace

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

std::string CertificateNameOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> shown = context.auth_context();
  if (shown == nullptr || !shown->IsPeerAuthenticated()) return "";
  std::vector<grpc::string_ref> names = shown->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  if (names.empty()) names = shown->GetPeerIdentity();
  return names.empty() ? "" : std::string(names.front().data(), names.front().size());
}

MemoryShares::MemoryShares(uint64_t limit_bytes, size_t most_sessions)
    : limit_bytes_(limit_bytes),
      most_sessions_(SessionsWithRoom(limit_bytes, most_sessions)),
      least_bytes_(std::min(
          limit_bytes, std::max<uint64_t>(kLeastShareBytes, limit_bytes / 2 / most_sessions_))) {}

std::unique_ptr<MemoryShares::Share> MemoryShares::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (taken_ == most_sessions_) return nullptr;
  const size_t others = most_sessions_ - taken_ - 1;  // that may still come
  const uint64_t free_bytes = limit_bytes_ - taken_bytes_ - others * least_bytes_;
  const uint64_t bytes = others == 0 ? free_bytes : least_bytes_ + (free_bytes - least_bytes_) / 2;
  auto share = std::make_unique<Share>(this, bytes);  // may throw, and then nothing is taken
  taken_++;
  taken_bytes_ += bytes;
  return share;
}

MemoryShares::Share::~Share() {
  const std::lock_guard<std::mutex> lock(shares_->mutex_);
  shares_->taken_--;
  shares_->taken_bytes_ -= bytes_;
}

void SetLimits(MemoryAccount* share, ServerSessionOptions* server_options, DriveLimits* limits,
               ViewTerms* terms) {
  const uint64_t share_bytes = share->limit_bytes();
  *limits = Within(share, *limits);
  server_options->memory = share;
  server_options->most_ranges = kMostRanges;
  const uint64_t for_ranges = share_bytes - std::min(share_bytes, QueueBytes(*limits));
  server_options->most_keys_per_range =
      std::clamp<uint64_t>(for_ranges / kBytesPerKey, 1, kMostKeysPerRange);
  server_options->existing.most_bytes = share_bytes / 4;
  server_options->most_message_bytes = limits->most_message_bytes;
  terms->sort_memory_bytes = share_bytes / 4;
}

}  // namespace rocksieve::join
