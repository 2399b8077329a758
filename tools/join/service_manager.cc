// SPDX-License-Identifier: Apache-2.0
#include "tools/join/service_manager.h"

#include <fcntl.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace rocksieve::tools {
namespace {

void Notify(const std::string& state) { sd_notify(/*unset_environment=*/0, state.c_str()); }

// As RELOADING=1 needs it.
uint64_t MonotonicMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// The numbers of standard streams stay taken: a connection that had one of them would get what is
// logged.
bool Close(int descriptor) {
  if (descriptor > STDERR_FILENO) return close(descriptor) == 0;
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return false;
  const bool replaced = dup2(nothing, descriptor) >= 0;
  close(nothing);
  return replaced;
}

}  // namespace

std::vector<int> InheritedSockets() {
  std::vector<int> sockets;
  const int count = sd_listen_fds(/*unset_environment=*/1);
  for (int i = 0; i < count; i++) sockets.push_back(SD_LISTEN_FDS_START + i);
  return sockets;
}

std::chrono::microseconds WatchdogInterval() {
  uint64_t microseconds = 0;
  const bool asked = sd_watchdog_enabled(/*unset_environment=*/0, &microseconds) > 0;
  return std::chrono::microseconds(asked ? microseconds : 0);
}

void TellReady(const std::string& status) { Notify("READY=1\nSTATUS=" + status); }

void TellReloading() {
  Notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicMicroseconds()));
}

void TellStopping(const std::string& status) { Notify("STOPPING=1\nSTATUS=" + status); }

void TellAlive() { Notify("WATCHDOG=1"); }

bool WriteReady(int descriptor, const std::string& address) {
  const std::string line = "ready " + address + "\n";
  ssize_t written = -1;
  do {
    written = write(descriptor, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return Close(descriptor) && written == static_cast<ssize_t>(line.size());
}

}  // namespace rocksieve::tools
