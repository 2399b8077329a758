// SPDX-License-Identifier: Apache-2.0
// One side of a join, as a machine that takes messages and gives messages, without a network.
//
// The transport calls Next() as long as it can send, and Receive() for whatever arrives, in any
// order, from one thread at a time. An error ends the session: of Receive() or Next() it is told to
// the other side with a Failure, if there is still one, and to the caller.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/memory_account.h"

namespace rocksieve::join {

class Session {
 public:
  virtual ~Session() = default;

  virtual absl::Status Receive(std::string_view message) = 0;

  // The next message; an empty one if there is nothing to say before something arrives.
  // May scan a source, and so take its time.
  virtual absl::StatusOr<std::string> Next() = 0;

  // Whether it must receive what arrives even while nothing of what it says can leave. One of two
  // sides has to, or both could wait for each other for ever: the client, whose questions are few.
  // The server hears the next question when there is room for the answer, so that answers that
  // nobody takes do not pile up.
  virtual bool always_hears() const = 0;

  // Nothing more will be said or wants to be heard.
  virtual bool done() const = 0;

  // Other threads compute what will be said: Next() is to be called when they are ready.
  virtual bool computes() const { return false; }
  // `ready` is called by other threads, one after another; empty: no more.
  virtual void WhenReady(std::function<void()> /*ready*/) {}
};

// Messages that a side has made and that are not on their way yet, in the account of its memory.

class Outbox {
 public:
  explicit Outbox(MemoryAccount* account) : memory_(account) {}

  absl::Status Add(std::string message) {
    const absl::Status status = memory_.Grow(BytesOf(message), "messages to be sent");
    if (status.ok()) messages_.push_back(std::move(message));
    return status;
  }
  bool empty() const { return messages_.empty(); }
  // REQUIRES: not empty.
  std::string Take() {
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    memory_.Shrink(BytesOf(message));
    return message;
  }

 private:
  static uint64_t BytesOf(const std::string& message) {
    return message.capacity() + sizeof(std::string);
  }

  std::deque<std::string> messages_;
  MemoryHold memory_;
};

}  // namespace rocksieve::join
