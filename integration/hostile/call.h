// SPDX-License-Identifier: Apache-2.0
// One session of a client that keeps no rules but those of gRPC, and what it can do, case by case.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include "join.grpc.pb.h"
#include "lib/join/session/messages.h"
#include "lib/transport/frame.h"

namespace rocksieve::join {

using ClientStream = grpc::ClientReaderWriter<v1::Frame, v1::Frame>;

// What an honest client sends first.
v1::Start Greeting();

class Call {
 public:
  // After `seconds` nothing can be sent or heard any more. Without `reads`, it takes nothing that
  // the server says after its greeting.
  Call(const std::string& address, double seconds, bool reads = true);
  ~Call();  // gives the call up
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the server greeted too.
  bool Greet(const v1::Start& start = Greeting());
  bool Send(const v1::Frame& frame);  // false: the call is over

  // These wait for Flush(), so that they share frames.
  void Say(const Message& message) { SayBytes(Encode(message)); }
  void SayBytes(std::string_view message) { writer_.Add(message); }
  bool Flush();
  // Bytes of messages as they are.
  bool SendPiece(std::string piece);

  // The next message of the server, passing over others; nothing once the call is over.
  std::optional<Message> Hear();
  template <typename Kind>
  std::optional<Kind> HearA() {
    while (std::optional<Message> message = Hear()) {
      if (Kind* kind = std::get_if<Kind>(&*message)) return std::move(*kind);
    }
    return std::nullopt;
  }

  // Waits until the server ends the call, or its time is over, and says so on the standard output.
  void End();

  // Calls that the server greeted, so far, of all.
  static int greeted();

 private:
  void ReadAll();

  grpc::ClientContext context_;
  std::unique_ptr<v1::Join::Stub> stub_;
  std::unique_ptr<ClientStream> stream_;
  const bool reads_;
  FrameWriter writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> heard_;
  std::optional<absl::Status> failure_;  // that the server told
  bool ended_ = false, finished_ = false;
  uint64_t bytes_sent_ = 0, bytes_heard_ = 0;
  std::thread reader_;
};

struct Target {
  std::string address;
  double seconds = 3;  // that a case may take, about
  uint64_t seed = 1;   // of what is random
};

struct Case {
  std::string name;
  std::function<void(const Target&)> play;
};

// Each of these adds the cases about one thing.
void AddRangeCases(std::vector<Case>* cases);   // ranges, opened and fetched out of order
void AddSketchCases(std::vector<Case>* cases);  // sketches, bitmaps, symbols, lists, keys
void AddFilterCases(std::vector<Case>* cases);  // filters of SST files
void AddStreamCases(std::vector<Case>* cases);  // connections, streams and frames
void AddGreetingCases(std::vector<Case>* cases);
void AddMutatedCases(std::vector<Case>* cases);  // real sessions, changed at random

// What they begin with.
Hello HelloFor(Strategy strategy, Operation operation = Operation::kDifference);
// A range in which neither side has a key: it is equal on both.
Open OpenEmpty(uint64_t range, uint32_t attempt = 0);
// About a twentieth of the server's keys, of which the client says that it has `keys` others.
Open OpenSome(uint64_t range, uint64_t keys, bool server_begins);
// All of them.
Open OpenAll(uint64_t range, uint64_t keys, bool server_begins);

}  // namespace rocksieve::join
