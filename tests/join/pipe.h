// SPDX-License-Identifier: Apache-2.0
// Carries the messages of two sessions in memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "lib/join/session/session.h"

namespace rocksieve::join {

struct Piped {
  absl::Status status;                    // the first error of either side
  uint64_t to_server = 0, to_client = 0;  // bytes
  uint64_t messages = 0;
  uint64_t round_trips = 0;  // times that the client had to wait for an answer
};

// May change a message on its way; false stops the pipe there. `number` counts all messages from 0.
using Tamper = std::function<bool(uint64_t number, bool to_client, std::string* message)>;

// Told by sessions that other threads compute for.
class ReadyBell {
 public:
  explicit ReadyBell(Session* session) : session_(session) {
    session->WhenReady([this] { Ring(); });
  }
  ~ReadyBell() { session_->WhenReady(nullptr); }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  void Ring() {
    const std::lock_guard<std::mutex> lock(mutex_);
    rung_ = true;
    changed_.notify_all();
  }

  Session* const session_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

inline Piped RunPipe(Session* client, Session* server, const Tamper& tamper = nullptr) {
  Piped piped;
  Session* const sides[2] = {client, server};
  ReadyBell bells[2] = {ReadyBell(client), ReadyBell(server)};
  bool cut = false;
  for (uint64_t turn = 0; !cut; turn++) {
    bool any = false;
    for (int from : {0, 1}) {
      bool said = false;
      for (;;) {
        absl::StatusOr<std::string> message = sides[from]->Next();
        if (!message.ok()) return piped.status = message.status(), piped;
        if (message->empty()) break;
        said = any = true;
        if (tamper && !tamper(piped.messages, from == 1, &*message)) return piped;
        piped.messages++;
        (from == 0 ? piped.to_server : piped.to_client) += message->size();
        piped.status = sides[1 - from]->Receive(*message);
        if (!piped.status.ok()) return piped;
      }
      if (from == 1 && said) piped.round_trips++;
    }
    if (any) continue;
    if (!client->computes() && !server->computes()) break;
    bells[client->computes() ? 0 : 1].Wait();
  }
  return piped;
}

}  // namespace rocksieve::join
