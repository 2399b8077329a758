// SPDX-License-Identifier: Apache-2.0
// Messages that a side has made and that are not on their way yet, in the account of its memory.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"

namespace rocksieve::join {

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
