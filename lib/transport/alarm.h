// Calls a function unless it is destroyed in time, or when work is cancelled: for gRPC calls that
// block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "lib/transport/cancellation.h"

namespace rocksieve::join {

class Alarm {
 public:
  // `cancellation` may be null.
  Alarm(std::chrono::milliseconds after, const Cancellation* cancellation,
        std::function<void()> call);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  bool rang();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false, rang_ = false;
  std::thread thread_;
};

}  // namespace rocksieve::join
