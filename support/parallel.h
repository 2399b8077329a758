// SPDX-License-Identifier: Apache-2.0
// Independent tasks on all processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

#include <rocksdb/status.h>

#include "support/progress.h"

namespace rocksieve {

// Calls task(0) .. task(count - 1), several at a time, each in some thread. After an error no
// further task is begun; returns the error when all that were begun have ended. An exception of a
// task is thrown on.
rocksdb::Status RunAll(size_t count, const std::function<rocksdb::Status(size_t)>& task);

// What write() returns. An exception, as where memory or threads run out, ends the process by
// std::terminate(): out of a write of RocksDB it must not be thrown on, for closing that database
// would then wait without end.
template <typename Write>
auto WithoutException(Write write) {
  try {
    return write();
  } catch (...) {
    std::terminate();
  }
}

// Progress::Advance() as the status of a task: Aborted if the user has interrupted the command.
rocksdb::Status Advanced(Progress* progress, uint64_t units = 1);

}  // namespace rocksieve
