#include "support/progress.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iterator>
#include <utility>

#include "support/text.h"

namespace rocksieve {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t arrived = 0;
struct sigaction previous[std::size(kSignals)];

void Remember(int signal) { arrived = signal; }

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

InterruptGuard::InterruptGuard() {
  struct sigaction remember = {};
  remember.sa_handler = Remember;
  remember.sa_flags = SA_RESTART;
  sigemptyset(&remember.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); i++) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    // A signal that is ignored at the start (nohup) stays ignored.
    if (previous[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &remember, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < std::size(kSignals); i++) sigaction(kSignals[i], &previous[i], nullptr);
}

int InterruptSignal() { return arrived; }

void EndByInterruptSignal() {
  if (arrived != 0) std::raise(arrived);
}

}  // namespace rocksieve
