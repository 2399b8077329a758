// SPDX-License-Identifier: Apache-2.0
#include "tools/join/interrupt_canceller.h"

#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "support/progress.h"

namespace rocksieve::tools {
namespace {

constexpr std::chrono::milliseconds kLook(50);

}  // namespace

InterruptCanceller::InterruptCanceller(join::JoinOptions* options)
    : thread_([canceller = options->canceller.emplace()](const std::stop_token& over) {
        Watch(canceller, over);
      }) {}

void InterruptCanceller::Watch(join::Canceller canceller, const std::stop_token& over) {
  std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex);
  std::condition_variable_any end;
  while (!end.wait_for(lock, over, kLook, [&over] { return over.stop_requested(); })) {
    if (InterruptSignal() != 0) canceller.Cancel();
  }
}

rocksdb::Status CheckAddressSpace() {
  constexpr rlim_t kLeastBytes = 60 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastBytes) {
    return rocksdb::Status::OK();
  }
  return rocksdb::Status::InvalidArgument("joins need 60 MiB of address space, and the limit is " +
                                          std::to_string(limit.rlim_cur >> 10) +
                                          " KiB; raise it (ulimit -v)");
}

}  // namespace rocksieve::tools
