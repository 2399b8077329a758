// SPDX-License-Identifier: Apache-2.0
#include "support/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
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

size_t ColumnsOfStderr() {
  const size_t columns = TerminalColumns(STDERR_FILENO);
  return columns > 0 ? columns : 80;
}

std::string ShortTime(double seconds) {
  if (seconds < 100) return Fixed(std::ceil(seconds), 0) + " s";
  if (seconds < 6000) return Fixed(seconds / 60, 0) + " min";
  return Fixed(seconds / 3600, 0) + " h";
}

}  // namespace

std::string ProgressLine(const std::string& command, const ProgressState& state, size_t columns) {
  constexpr double kFirstSeconds = 1;  // too short a time to tell how long the rest will take
  const auto done = static_cast<double>(state.done), units = static_cast<double>(state.units);
  const double bytes = state.units_are_bytes ? done : static_cast<double>(state.bytes);
  const bool lasts = state.seconds >= kFirstSeconds;
  std::string percent, amount, rate, left;
  if (units > 0) percent = "  " + Fixed(std::floor(100 * std::min(1.0, done / units)), 0) + " %";
  if (bytes > 0) {
    amount = "  " + ShortBytes(bytes);
    if (lasts) rate = "  " + ShortBytes(bytes / state.seconds) + "/s";
  } else if (units == 0 && done > 0) {
    amount = "  " + Thousands(state.done);
  }
  if (lasts && done > 0 && done < units) {
    left = "  " + ShortTime(state.seconds * (units - done) / done) + " left";
  }
  std::string head = command + ": " + WithoutControls(state.step);
  std::replace(head.begin(), head.end(), '\n', ' ');
  const auto width = [&] {
    return head.size() + percent.size() + amount.size() + rate.size() + left.size();
  };
  for (std::string* const part : {&rate, &amount, &left}) {
    if (width() > columns) part->clear();
  }
  head.resize(head.size() - std::min(head.size(), width() - std::min(width(), columns)));
  return head + percent + amount + rate + left;
}

Progress::Progress(std::string command)
    : command_(std::move(command)), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Begin(const std::string& step, uint64_t units, bool units_are_bytes,
                     std::chrono::milliseconds silence) {
  state_ = {step, 0, units, units_are_bytes};
  begin_ = std::chrono::steady_clock::now();
  silence_ = silence;
  done_ = 0;
  if (terminal_ && silence_.count() == 0) Draw(state_);
}

void Progress::Show(const ProgressState& state) {
  if (terminal_) Draw(state);
}

bool Progress::Advance(uint64_t units) {
  done_.fetch_add(units, std::memory_order_relaxed);
  if (InterruptSignal() != 0) return false;
  if (!terminal_) return true;
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  const auto now = std::chrono::steady_clock::now();
  if (lock.owns_lock() && now - last_draw_ >= kDrawEvery && now - begin_ >= silence_) {
    state_.done = done_;
    state_.seconds = std::chrono::duration<double>(now - begin_).count();
    Draw(state_);
  }
  return true;
}

void Progress::Clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::Draw(const ProgressState& state) {
  // Not into the last column, after which some terminals begin a new line.
  std::fprintf(stderr, "\r\033[K%s", ProgressLine(command_, state, ColumnsOfStderr() - 1).c_str());
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
