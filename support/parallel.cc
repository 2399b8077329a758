// SPDX-License-Identifier: Apache-2.0
#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace rocksieve {

using rocksdb::Status;

Status RunAll(size_t count, const std::function<Status(size_t)>& task) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&]() -> Status {
    for (size_t i; !failed && (i = next++) < count;) {
      Status status = task(i);
      if (!status.ok()) {
        failed = true;
        return status;
      }
    }
    return Status::OK();
  };

  const size_t threads = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<Status>> workers;
  Status first;
  try {
    for (size_t i = 0; i < threads; i++) workers.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {  // no more threads: fewer will do, and be it this one
    first = work();
  }
  for (auto& worker : workers) {
    Status status = worker.get();
    if (first.ok()) first = status;
  }
  return first;
}

Status Advanced(Progress* progress, uint64_t units) {
  return progress->Advance(units) ? Status::OK() : Status::Aborted("interrupted");
}

}  // namespace rocksieve
