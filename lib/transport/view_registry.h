// The views of a server's sessions, and for a while those of sessions that broke: whoever comes
// back with a view's name goes on with the same state of the data.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <absl/status/statusor.h>

#include "lib/transport/cancellation.h"
#include "lib/transport/view.h"

namespace rocksieve::join {

class ViewRegistry {
 public:
  struct Options {
    std::chrono::milliseconds keep{60'000};  // after a session broke
    size_t most_kept = 4;                    // the oldest goes first: views pin files
  };

  ViewRegistry(OpenView open, const Options& options);
  // REQUIRES: no lease is left.
  ~ViewRegistry();

 private:
  struct Entry;

 public:
  // The right to read a view, which one session at a time has.
  class Lease {
   public:
    Lease(ViewRegistry* registry, std::list<Entry>::iterator entry, bool resumed)
        : registry_(registry), entry_(entry), resumed_(resumed) {}
    // Keeps the view for a while, unless the session has Finished().
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Source* source() const;
    const std::string& database() const;
    const std::string& name() const;
    bool resumed() const { return resumed_; }
    void Finished() { finished_ = true; }

   private:
    ViewRegistry* const registry_;
    const std::list<Entry>::iterator entry_;
    const bool resumed_;
    bool finished_ = false;
  };

  // The view of that name if it is there and was made for the same request, else a new one. A
  // session that still reads it is taken for a broken one, and cancelled. `cancellation` is the new
  // session's, and must outlive the lease; it replaces that of the terms.
  absl::StatusOr<std::unique_ptr<Lease>> Acquire(const ViewRequest& request,
                                                 const std::string& name,
                                                 Cancellation* cancellation, ViewTerms terms = {});

 private:
  void Release(std::list<Entry>::iterator entry, bool keep);
  void DropExpired();

  const OpenView open_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
  bool ending_ = false;
  std::thread reaper_;
};

}  // namespace rocksieve::join
