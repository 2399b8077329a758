// Independent tasks on all processors.
#pragma once

#include <cstddef>
#include <functional>

#include <rocksdb/status.h>

namespace rocksieve::tools {

// Calls task(0) .. task(count - 1), several at a time, each in some thread. After an error no
// further task is begun; returns the error when all that were begun have ended. An exception of a
// task is thrown on.
rocksdb::Status RunAll(size_t count, const std::function<rocksdb::Status(size_t)>& task);

}  // namespace rocksieve::tools
