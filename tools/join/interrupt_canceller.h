// SPDX-License-Identifier: Apache-2.0
// What a command that joins does before and meanwhile.
#pragma once

#include <stop_token>
#include <thread>

#include <rocksdb/status.h>
#include <rocksieve/join/join.h>

namespace rocksieve::tools {

// While it lives, Ctrl-C and the like end the joins, whatever they wait for. REQUIRES: an
// InterruptGuard lives as long.
class InterruptCanceller {
 public:
  // Gives the options a canceller.
  explicit InterruptCanceller(join::JoinOptions* options);

 private:
  static void Watch(join::Canceller canceller, const std::stop_token& over);

  std::jthread thread_;
};

// gRPC that gets no memory for its threads waits for them without end when it shuts down.
rocksdb::Status CheckAddressSpace();

}  // namespace rocksieve::tools
