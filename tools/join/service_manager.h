// SPDX-License-Identifier: Apache-2.0
// systemd, or what speaks its protocol: told how `serve` is, and asked for sockets (sd_notify(3),
// sd_listen_fds(3)). Without one nothing happens.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace rocksieve::tools {

// Sockets that it passed to this process, as descriptors that are closed by exec(); once.
std::vector<int> InheritedSockets();

// How often it wants to hear that all is well; 0 if it does not ask.
std::chrono::microseconds WatchdogInterval();

// `status` is for people: "serving on 127.0.0.1:7420".
void TellReady(const std::string& status);
void TellReloading();
void TellStopping(const std::string& status);
void TellAlive();

// Writes "ready ADDRESS\n" for whoever started the process, and closes the descriptor; one of the
// standard streams is /dev/null from then on. False if it cannot be written.
bool WriteReady(int descriptor, const std::string& address);

}  // namespace rocksieve::tools
