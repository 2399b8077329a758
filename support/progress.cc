#include "support/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "support/interrupt.h"
#include "support/text.h"

namespace rocksieve {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress(std::string command)
    : command_(std::move(command)), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Begin(const std::string& step, uint64_t units) {
  step_ = step;
  units_ = units;
  done_ = 0;
  if (terminal_) Draw();
}

bool Progress::Advance(uint64_t units) {
  done_.fetch_add(units, std::memory_order_relaxed);
  if (InterruptSignal() != 0) return false;
  if (!terminal_) return true;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && std::chrono::steady_clock::now() - last_draw_ >= kDrawEvery) Draw();
  return true;
}

void Progress::Clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::Draw() {
  std::fprintf(stderr, "\r\033[K%s: %s", command_.c_str(), step_.c_str());
  if (units_ > 0) {
    std::fprintf(stderr, " %3.0f %%",
                 100 * static_cast<double>(done_) / static_cast<double>(units_));
  } else if (done_ > 0) {
    std::fprintf(stderr, " %s", Thousands(done_).c_str());
  }
  std::fflush(stderr);
  drawn_ = true;
  last_draw_ = std::chrono::steady_clock::now();
}

}  // namespace rocksieve
