// SPDX-License-Identifier: Apache-2.0
// Streams and frames: slow, endless, half of them, many at once; sessions of an honest client,
// whose messages are changed at random on their way.
#include <chrono>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "integration/hostile/call.h"
#include "lib/join/session/client_session.h"
#include "tests/join/hostile_bodies.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {
namespace {

constexpr double kSessionSeconds = 0.3;
constexpr Operation kOperations[] = {Operation::kIntersection, Operation::kDifference,
                                     Operation::kLocalOnly, Operation::kSymmetric,
                                     Operation::kCount};

MemorySource::Rows RandomRows(size_t count, std::mt19937_64* random) {
  MemorySource::Rows rows;
  for (size_t i = 0; i < count; i++) {
    const std::string digits = std::to_string((*random)() % 1'000'000'000'000);
    rows.push_back({std::string(12 - digits.size(), '0') + digits, "value"});
  }
  return rows;
}

void PlayOne(const Target& target, uint64_t seed) {
  std::mt19937_64 random(seed);
  MemorySource source(RandomRows(1 + random() % 3000, &random));
  CountingSink sink;
  ClientSessionOptions options;
  options.operation = kOperations[random() % std::size(kOperations)];
  options.salt = seed;
  options.keys_per_range = 1 + random() % 2000;
  options.planner.strategy = static_cast<Strategy>(random() % 10);
  const auto rarity = static_cast<uint32_t>(2 + random() % 30);
  ClientSession client(&source, &sink, options);
  Mutator mutator(seed);
  Call call(target.address, kSessionSeconds);
  if (!call.Greet()) return;
  for (bool goes_on = true; goes_on;) {
    absl::StatusOr<std::string> message = client.Next();
    while (message.ok() && !message->empty()) {
      for (const std::string& bytes : mutator.Mutated(*message, rarity)) call.SayBytes(bytes);
      message = client.Next();
    }
    goes_on = call.Flush() && message.ok() && !client.done();
    if (!goes_on) break;
    const std::optional<Message> heard = call.Hear();
    goes_on = heard && client.Receive(Encode(*heard)).ok();
  }
  call.End();
}

void PlayMany(const Target& target) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<int64_t>(1000 * target.seconds));
  for (uint64_t seed = target.seed; std::chrono::steady_clock::now() < end; seed++) {
    std::cout << "seed " << seed << ": " << std::flush;
    PlayOne(target, seed);
  }
}

std::chrono::milliseconds TimeOf(const Target& target) {
  return std::chrono::milliseconds(static_cast<int64_t>(1000 * target.seconds));
}

// A message that never ends, of a length that any limit may allow.
void SendHalfOfAMessage(const Target& target, uint64_t length) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto));
  call.Flush();
  std::string head;
  ByteWriter(&head).Varint(length);
  bool sent = call.SendPiece(head);
  const std::string piece(200'000, 'x');
  for (uint64_t bytes = 0; sent && bytes + piece.size() < length; bytes += piece.size()) {
    sent = call.SendPiece(piece);
  }
  call.End();
}

void SendByteByByte(const Target& target) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  FrameWriter writer;
  writer.Add(Encode(HelloFor(Strategy::kAuto)));
  for (uint64_t range = 0; range < 100; range++) writer.Add(Encode(OpenEmpty(range)));
  const std::string bytes = writer.TakePiece();
  for (const char byte : bytes) {
    if (!call.SendPiece(std::string(1, byte))) break;
    std::this_thread::sleep_for(TimeOf(target) / 500);
  }
  call.End();
}

// As fast as they are taken.
void SendPiecesForever(const Target& target, const std::string& piece) {
  Call call(target.address, target.seconds);
  if (!call.Greet()) return;
  call.Say(HelloFor(Strategy::kAuto));
  call.Flush();
  while (call.SendPiece(piece)) {
  }
  call.End();
}

// Steps about a range that is open, one byte each; the greeting again and again.
void SendSmallMessagesForever(const Target& target, const Message& message) {
  FrameWriter writer;
  while (writer.pending_bytes() < 100'000) writer.Add(Encode(message));
  SendPiecesForever(target, writer.TakePiece());
}

void LeaveAtOnce(const Target& target) {
  for (int i = 0; i < 20; i++) {
    Call call(target.address, target.seconds);
    if (!call.Greet()) return;
    call.Say(HelloFor(Strategy::kKeys));
    call.Say(OpenAll(1, 1000, /*server_begins=*/true));
    if (i % 2 == 0) call.Flush();
  }
}

// As many at once as a server has places for by default.
void EightAtOnce(const std::vector<std::function<void(const Target&)>>& cases,
                 const Target& target) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; i++) {
    threads.emplace_back([&, i] { cases[i % cases.size()](target); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::function<void(const Target&)> Named(const std::vector<Case>& cases, const std::string& name) {
  for (const Case& one : cases) {
    if (one.name == name) return one.play;
  }
  std::abort();  // a case that there is not
}

}  // namespace

void AddMutatedCases(std::vector<Case>* cases) { cases->push_back({"mutated", PlayMany}); }

// The last ones: some of them play others.
void AddStreamCases(std::vector<Case>* cases) {
  cases->push_back(
      {"half-message-2MB", [](const Target& target) { SendHalfOfAMessage(target, 1'900'000); }});
  cases->push_back(
      {"half-message-60MB", [](const Target& target) { SendHalfOfAMessage(target, 60'000'000); }});
  cases->push_back({"byte-by-byte", SendByteByByte});
  cases->push_back({"garbage-forever", [](const Target& target) {
                      SendPiecesForever(target, std::string(100'000, '\x7f'));
                    }});
  cases->push_back(
      {"empty-pieces-forever", [](const Target& target) { SendPiecesForever(target, ""); }});
  cases->push_back({"hello-forever", [](const Target& target) {
                      SendSmallMessagesForever(target, HelloFor(Strategy::kAuto));
                    }});
  cases->push_back({"filters-unasked-forever",
                    [](const Target& target) { SendSmallMessagesForever(target, Filters{}); }});
  cases->push_back({"leaves-at-once", LeaveAtOnce});
  for (const char* name : {"bitmap-of-400000", "sketch-of-100000", "symbols-in-2MB", "list-of-2MB",
                           "half-message-2MB", "opened-300-times-keys", "rows-never-read",
                           "most-keys-symbols", "builtin-filters-forever", "estimators"}) {
    cases->push_back(
        {"eight-times-" + std::string(name),
         [play = Named(*cases, name)](const Target& target) { EightAtOnce({play}, target); }});
  }
  std::vector<std::function<void(const Target&)>> all;
  for (const char* name : {"bitmap-of-1500000", "sketch-of-400000", "symbols-in-60MB",
                           "pruned-to-more-list-of-63MB", "half-message-60MB",
                           "opened-300-times-list", "most-keys-sketch", "small-filters-forever"}) {
    all.push_back(Named(*cases, name));
  }
  cases->push_back(
      {"eight-different-at-once", [all](const Target& target) { EightAtOnce(all, target); }});
}

}  // namespace rocksieve::join
