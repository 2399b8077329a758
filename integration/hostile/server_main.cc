// SPDX-License-Identifier: Apache-2.0
// A server that attacks its clients: each names the case by the column family that it asks for, and
// may add a seed, as in `rocksieve join --remote-column-family=mutated/17`.
// `hostile_server --list` names the cases; `hostile_server ROWS` serves until it is killed, and has
// the rows of a file, KEY<TAB>VALUE in each line.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "integration/hostile/liar.h"
#include "lib/transport/server.h"
#include "tests/join/hostile_bodies.h"

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

// Frames, half messages, random changes.
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

std::vector<ServerCase> AllCases() {
  std::vector<ServerCase> cases;
  AddFrameCases(&cases);
  AddClaimCases(&cases);
  AddRowCases(&cases);
  return cases;
}

MemorySource::Rows RowsIn(const char* path) {
  MemorySource::Rows rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    rows.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return rows;
}

class Service final : public v1::Join::Service {
 public:
  explicit Service(MemorySource::Rows rows) : rows_(std::move(rows)), cases_(AllCases()) {}

  grpc::Status Session(grpc::ServerContext*, ServerStream* stream) override {
    v1::Frame frame;
    if (!stream->Read(&frame)) return grpc::Status::OK;
    const std::string wanted = frame.start().column_family();
    const size_t slash = wanted.find('/');
    const uint64_t seed =
        slash == std::string::npos ? 1 : std::strtoull(&wanted[slash + 1], nullptr, 10);
    v1::Started* const started = frame.mutable_started();
    started->set_version(kTransportVersion);
    started->set_view("a view");
    stream->Write(frame);
    for (const ServerCase& one : cases_) {
      if (one.name == wanted.substr(0, slash))
        return one.play({rows_, seed, stream}), grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "there is no case " + wanted};
  }

 private:
  const MemorySource::Rows rows_;
  const std::vector<ServerCase> cases_;
};

int Main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: hostile_server --list | ROWS\n", 2;
  if (std::string(argv[1]) == "--list") {
    for (const ServerCase& one : AllCases()) std::cout << one.name << "\n";
    return 0;
  }
  Service service(RowsIn(argv[1]));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return std::cerr << "hostile_server: cannot listen\n", 2;
  std::cout << "listening on 127.0.0.1:" << port << std::endl;
  server->Wait();
  return 0;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);
  return rocksieve::join::Main(argc, argv);
}
