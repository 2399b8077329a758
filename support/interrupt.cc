#include "support/interrupt.h"

#include <csignal>
#include <iterator>

namespace rocksieve {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t arrived = 0;
struct sigaction previous[std::size(kSignals)];

void Remember(int signal) { arrived = signal; }

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction remember = {};
  remember.sa_handler = Remember;
  remember.sa_flags = SA_RESTART;
  sigemptyset(&remember.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); i++) {
    sigaction(kSignals[i], nullptr, &previous[i]);
    // Whoever started us with a signal ignored (nohup) wants it ignored.
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
