// SPDX-License-Identifier: Apache-2.0
// Sides of a join in memory: rows, a sink that counts, and what carries the messages of two
// sessions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/session.h"

namespace rocksieve::join {

class MemorySource final : public Source {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  // In any order. Equal keys keep theirs.
  explicit MemorySource(Rows rows) : rows_(std::move(rows)) {
    std::stable_sort(rows_.begin(), rows_.end(), KeyIsLess);
  }

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return std::make_unique<RowsCursor>(FirstNotBelow(interval.begin),
                                        interval.end ? FirstNotBelow(*interval.end) : rows_.cend());
  }
  uint64_t EstimateKeys() override { return rows_.size(); }

 private:
  class RowsCursor final : public Cursor {
   public:
    RowsCursor(Rows::const_iterator begin, Rows::const_iterator end) : next_(begin), end_(end) {}
    bool Next(Row* row) override {
      if (next_ == end_) return false;
      *row = {next_->first, next_->second};
      ++next_;
      return true;
    }
    absl::Status status() const override { return absl::OkStatus(); }

   private:
    Rows::const_iterator next_;
    const Rows::const_iterator end_;
  };

  static bool KeyIsLess(const Rows::value_type& a, const Rows::value_type& b) {
    return a.first < b.first;
  }
  Rows::const_iterator FirstNotBelow(const std::string& key) const {
    return std::lower_bound(rows_.cbegin(), rows_.cend(), Rows::value_type(key, ""), KeyIsLess);
  }

  Rows rows_;
};

// Counts rows, whether they are committed or not, and otherwise forgets them.
class CountingSink final : public Sink {
 public:
  absl::Status Add(const Row&, Side) override { return rows++, absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
  uint64_t rows = 0;
};

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
    session->WhenReady([this] {
      rung_.test_and_set();
      rung_.notify_all();
    });
  }
  ~ReadyBell() { session_->WhenReady(nullptr); }

  void Wait() {
    rung_.wait(false);
    rung_.clear();
  }

 private:
  Session* const session_;
  std::atomic_flag rung_;
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
