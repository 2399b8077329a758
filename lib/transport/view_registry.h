// SPDX-License-Identifier: Apache-2.0
// What a server shows of its data: one unchanging state of it for each session. Those of sessions
// that broke are kept for a while: whoever comes back with a view's name goes on with the same
// state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>
#include <rocksieve/join/report.h>

#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"

namespace rocksieve::join {

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

    const View& view() const { return entry_->view; }
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

}  // namespace rocksieve::join
