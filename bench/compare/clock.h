// SPDX-License-Identifier: Apache-2.0
// Two clocks, what it costs to read them, and what the rounds of a measurement come to.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocksieve::bench {

// The processor time of this thread: what others do on the machine counts only through the caches
// and the memory that they share with us. Costs a system call.
struct CpuClock {
  static double Nanoseconds() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  }
};

// For sections of about a microsecond, which a system call would drown. Sections that were
// interrupted are for the caller to leave out, by taking medians.
struct WallClock {
  static double Nanoseconds() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<double>(std::chrono::nanoseconds(time).count());
  }
};

// Adds up the time of sections, without the cost of reading the clock.
template <typename Clock>
class Stopwatch {
 public:
  void Start() { start_ = Clock::Nanoseconds(); }
  void Stop() { total_ += std::max(0.0, Clock::Nanoseconds() - start_ - ReadingCost()); }
  double TakeNanoseconds() {
    const double total = total_;
    total_ = 0;
    return total;
  }

 private:
  static double ReadingCost() {
    static const double cost = [] {
      double least = 1e9;
      for (int i = 0; i < 1000; i++) {
        const double start = Clock::Nanoseconds();
        least = std::min(least, Clock::Nanoseconds() - start);
      }
      return least;
    }();
    return cost;
  }

  double start_ = 0;
  double total_ = 0;
};

struct Summary {
  double min = 0;
  double median = 0;
  double spread_percent = 0;  // distance of the quartiles over the median
};

// REQUIRES: !samples.empty()
Summary Summarize(std::vector<double> samples);

// Sets NAME_ns_min, NAME_ns_median and NAME_spread_percent.
void AddTimes(const std::string& name, const std::vector<double>& samples, nlohmann::json* row);

}  // namespace rocksieve::bench
