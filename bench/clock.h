// SPDX-License-Identifier: Apache-2.0
// Clocks, what it costs to read them, and what the rounds of a measurement come to.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rocksieve::bench {

// The processor time of this thread: what others do on the machine counts only through the caches
// and the memory that they share with us. Costs a system call.
struct CpuClock {
  static double Nanoseconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    timespec time;
    clock_gettime(clock, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  }
  static double Seconds() { return 1e-9 * Nanoseconds(); }
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
  double TakeNanoseconds() { return std::exchange(total_, 0); }

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

// The least processor time of some rounds of work(), in nanoseconds.
template <typename Work>
double LeastNanoseconds(int rounds, Work work) {
  double least = 1e300;
  for (int round = 0; round < rounds; round++) {
    const double start = CpuClock::Nanoseconds();
    work();
    least = std::min(least, CpuClock::Nanoseconds() - start);
  }
  return least;
}

// Between the two nearest samples. REQUIRES: there are any.
inline double QuantileOf(std::vector<double> samples, double share) {
  std::sort(samples.begin(), samples.end());
  const double at = share * static_cast<double>(samples.size() - 1);
  const size_t below = static_cast<size_t>(at), above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}
inline double MedianOf(const std::vector<double>& samples) { return QuantileOf(samples, 0.5); }
inline double LeastOf(const std::vector<double>& samples) { return QuantileOf(samples, 0); }
inline double MostOf(const std::vector<double>& samples) { return QuantileOf(samples, 1); }

// Sets NAME_ns_min, NAME_ns_median, and NAME_spread_percent: the distance of the quartiles over the
// median. With a reference, NAME_over_reference, of the least times.
inline void AddTimes(const std::string& name, const std::vector<double>& samples,
                     nlohmann::json* row, const std::vector<double>* reference = nullptr) {
  const double median = MedianOf(samples);
  const double quartiles = QuantileOf(samples, 0.75) - QuantileOf(samples, 0.25);
  (*row)[name + "_ns_min"] = LeastOf(samples);
  (*row)[name + "_ns_median"] = median;
  (*row)[name + "_spread_percent"] = median > 0 ? 100 * quartiles / median : 0;
  if (reference != nullptr) {
    (*row)[name + "_over_reference"] = LeastOf(samples) / LeastOf(*reference);
  }
}

}  // namespace rocksieve::bench
