// What a Canceller knows: the joins under way that it ends.
#pragma once

#include <mutex>
#include <set>

#include <rocksieve/join/join.h>

#include "lib/transport/cancellation.h"

namespace rocksieve::join {

class Canceller::Impl {
 public:
  void Cancel();
  void Add(Cancellation* join);
  void Remove(Cancellation* join);

 private:
  std::mutex mutex_;
  bool cancelled_ = false;
  std::set<Cancellation*> joins_;
};

// A join that can be cancelled as long as this lives.
class CancellerScope {
 public:
  CancellerScope(Canceller::Impl* canceller, Cancellation* join);
  ~CancellerScope();
  CancellerScope(const CancellerScope&) = delete;
  CancellerScope& operator=(const CancellerScope&) = delete;

 private:
  Canceller::Impl* const canceller_;  // may be null
  Cancellation* const join_;
};

}  // namespace rocksieve::join
