// Servers whose frames and messages are none, or are changed at random.
#include <chrono>
#include <memory>
#include <thread>

#include "integration/hostile/bodies.h"
#include "integration/hostile/mutation.h"
#include "integration/hostile/server_cases.h"

namespace rocksieve::join {
namespace {

constexpr std::chrono::milliseconds kBetweenBytes(20);

void Send(ServerStream* stream, const std::function<bool(std::string* piece)>& next) {
  v1::Frame frame;
  while (next(frame.mutable_piece()) && stream->Write(frame)) {
  }
}

void WaitForTheEnd(ServerStream* stream) {
  v1::Frame frame;
  while (stream->Read(&frame)) {
  }
}

void HalfAMessage(const Victim& victim, uint64_t length) {
  uint64_t sent = 0;
  Send(victim.stream, [&](std::string* piece) {
    if (sent + 200'000 >= length) return false;
    piece->clear();
    if (sent == 0) ByteWriter(piece).Varint(length);
    piece->append(200'000, 'x');
    return sent += 200'000, true;
  });
  WaitForTheEnd(victim.stream);
}

void ByteByByte(const Victim& victim) {
  HelloAnswer answer;
  std::string bytes, message = Encode(answer);
  ByteWriter(&bytes).String(message);
  size_t next = 0;
  Send(victim.stream, [&](std::string* piece) {
    std::this_thread::sleep_for(kBetweenBytes);
    *piece = bytes.substr(next++ % (bytes.size() - 1), 1);
    return true;
  });
}

void Forever(const Victim& victim, const std::string& bytes) {
  Send(victim.stream, [&](std::string* piece) {
    *piece = bytes;
    return true;
  });
}

// The same message, as many of them as fit into a frame.
void ForeverMessage(const Victim& victim, const Message& message) {
  std::string bytes;
  while (bytes.size() < 100'000) ByteWriter(&bytes).String(Encode(message));
  Forever(victim, bytes);
}

void ForgedFailure(const Victim& victim) {
  const std::string forged = "no\nrocksieve join: \x1b[31mforged\x1b[0m\r\x07";
  std::string bytes;
  ByteWriter(&bytes).String(Encode(Failure{absl::AbortedError(forged)}));
  Forever(victim, bytes);
}

void Mutated(const Victim& victim) {
  auto mutator = std::make_shared<Mutator>(victim.seed);
  const auto rarity = static_cast<uint32_t>(2 + victim.seed % 30);
  Lie(victim, {[mutator, rarity](const Message& message) -> std::optional<Bytes> {
                 return mutator->Mutated(Encode(message), rarity);
               },
               {},
               {}});
}

}  // namespace

void AddFrameCases(std::vector<ServerCase>* cases) {
  cases->push_back({"honest", [](const Victim& victim) { Lie(victim, {}); }});
  cases->push_back({"silent", [](const Victim& victim) { WaitForTheEnd(victim.stream); }});
  cases->push_back({"half-message-2MB", [](const Victim& v) { HalfAMessage(v, 2'000'000); }});
  cases->push_back({"half-message-60MB", [](const Victim& v) { HalfAMessage(v, 60'000'000); }});
  cases->push_back({"byte-by-byte", ByteByByte});
  cases->push_back(
      {"garbage-forever", [](const Victim& v) { Forever(v, std::string(100'000, '\x7f')); }});
  cases->push_back({"empty-pieces-forever", [](const Victim& v) { Forever(v, ""); }});
  cases->push_back({"hello-forever", [](const Victim& v) { ForeverMessage(v, HelloAnswer()); }});
  cases->push_back({"facts-forever", [](const Victim& v) { ForeverMessage(v, Facts()); }});
  cases->push_back({"forged-failure", ForgedFailure});
  cases->push_back({"mutated", Mutated});
}

}  // namespace rocksieve::join
