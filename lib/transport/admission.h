// SPDX-License-Identifier: Apache-2.0
// What a session must have to be admitted: a place among those of its peer, and a share of the
// server's memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <grpcpp/server_context.h>
#include <rocksieve/join/report.h>

#include "lib/join/rows/source.h"
#include "lib/join/session/server_session.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/drive.h"

namespace rocksieve::join {

// What a server shows of its data: one unchanging state of it for each session. Those of sessions
// that broke are kept for a while: whoever comes back with a view's name goes on with the same
// state.

struct ViewRequest {
  std::string column_family;  // empty: the server's default
  std::string on;             // what of a row is its key; empty: the whole key
  bool keep = false;          // the state, beyond the view
  // Empty: rows of the state. Else of what may have changed since that one, which was kept.
  std::string since = {};

  bool operator==(const ViewRequest&) const = default;
};

struct View {
  std::shared_ptr<Source> source;
  std::string database;                     // identity of the database, for messages
  std::vector<ColumnFamilyDescription> families;  // that can be asked for
  std::string kept = {};                    // the name of the state, if it is to be kept
};

// What opening a view may take.
struct ViewTerms {
  // While rows are sorted anew; and what may stay in memory of them as long as the view is there,
  // which may be longer than the session.
  uint64_t sort_memory_bytes = uint64_t{64} << 20;
  uint64_t kept_memory_bytes = UINT64_MAX;
  const Cancellation* cancellation = nullptr;  // null: it is not given up
};

// Called by several threads at once.
using OpenView =
    std::function<absl::StatusOr<View>(const ViewRequest& request, const ViewTerms& terms)>;

// Thread-safe.
class ViewRegistry {
 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    View view;
    ViewRequest request;
    std::string name;
    Cancellation* holder = nullptr;  // null if nobody reads it
    Clock::time_point expires = {};  // if nobody does
  };

 public:
  struct Options {
    std::chrono::milliseconds keep{60'000};  // after a session broke
    size_t most_kept = 4;                    // the oldest goes first: views pin files
  };

  // The right to read a view, which one session at a time has.
  class Lease {
   public:
    Lease(ViewRegistry* registry, std::list<Entry>::iterator entry, bool resumed)
        : registry_(registry), entry_(entry), resumed_(resumed) {}
    // Keeps the view for a while, unless the session has Finished().
    ~Lease() { registry_->Release(entry_, !finished_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Source* source() const { return entry_->view.source.get(); }
    const std::string& database() const { return entry_->view.database; }
    const std::vector<ColumnFamilyDescription>& families() const { return entry_->view.families; }
    const std::string& kept() const { return entry_->view.kept; }
    const std::string& name() const { return entry_->name; }
    bool resumed() const { return resumed_; }
    void Finished() { finished_ = true; }

   private:
    ViewRegistry* const registry_;
    const std::list<Entry>::iterator entry_;
    const bool resumed_;
    bool finished_ = false;
  };

  // REQUIRES at its end: no lease is left.
  ViewRegistry(OpenView open, const Options& options);

  // The view of that name if it is there and was made for the same request, else a new one. A
  // session that still reads it is taken for a broken one, and cancelled. `cancellation` is the new
  // session's, and must outlive the lease; it replaces that of the terms.
  absl::StatusOr<std::unique_ptr<Lease>> Acquire(const ViewRequest& request,
                                                 const std::string& name,
                                                 Cancellation* cancellation, ViewTerms terms = {});

 private:
  void Release(std::list<Entry>::iterator entry, bool keep);
  std::list<Entry>::iterator OldestKept();
  void DropExpired(const std::stop_token& end);

  const OpenView open_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Entry> entries_;  // those that are kept in the order in which they expire
  std::jthread reaper_;       // the last one: it uses the others
};

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
