// SPDX-License-Identifier: Apache-2.0
// A clock of the day that jumps each half second, or as often as JUMP_MICROSECONDS says: two hours
// ahead, a day back, right again. For LD_PRELOAD. Clocks that only run, as those for measuring
// time, stay as they are.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

long MicrosecondsBetweenJumps() {
  const char* const text = getenv("JUMP_MICROSECONDS");
  return text == nullptr ? 500'000 : atol(text);
}

time_t JumpSeconds() {
  constexpr time_t kJumps[] = {0, 2 * 3600, -24 * 3600};
  timespec running;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &running);
  static const long between = MicrosecondsBetweenJumps();
  return kJumps[(running.tv_sec * 1'000'000 + running.tv_nsec / 1000) / between % 3];
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += JumpSeconds();
  }
  return result;
}

int gettimeofday(timeval* __restrict now, void* __restrict) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

}  // extern "C"
