// SPDX-License-Identifier: Apache-2.0
// Sessions of a server that begin as those of an honest one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <grpcpp/support/sync_stream.h>

#include "join.grpc.pb.h"
#include "lib/join/session/messages.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {

using ServerStream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;
using Bytes = std::vector<std::string>;  // messages

struct Lies {
  // What is said in place of a message of the honest server; nothing: it is left as it is.
  std::function<std::optional<Bytes>(const Message& said)> say;
  // What is said to a message of the client, of which the honest server does not hear then;
  // nothing: it does.
  std::function<std::optional<Bytes>(const Message& heard)> answer;
  // Once this gives a message, it is asked for another one for ever.
  std::function<std::string()> forever;
};

struct Victim {
  const MemorySource::Rows& rows;  // that an honest server would have
  uint64_t seed;
  ServerStream* stream;
};

// Until the client hangs up or is done.
void Lie(const Victim& victim, const Lies& lies);

// Takes all messages of one kind, and leaves the others as they are.
template <typename Kind>
std::function<std::optional<Bytes>(const Message&)> Only(
    std::function<std::optional<Bytes>(const Kind&)> act) {
  return [act](const Message& message) -> std::optional<Bytes> {
    const Kind* kind = std::get_if<Kind>(&message);
    return kind == nullptr ? std::nullopt : act(*kind);
  };
}

// Changes all messages of one kind.
template <typename Kind>
std::function<std::optional<Bytes>(const Message&)> Changing(std::function<void(Kind*)> change) {
  return Only<Kind>([change](Kind kind) -> std::optional<Bytes> {
    change(&kind);
    return Bytes{Encode(kind)};
  });
}

// The first of them that has something to say.
inline std::function<std::optional<Bytes>(const Message&)> Either(
    std::function<std::optional<Bytes>(const Message&)> first,
    std::function<std::optional<Bytes>(const Message&)> second) {
  return [first, second](const Message& message) {
    const std::optional<Bytes> bytes = first(message);
    return bytes ? bytes : second(message);
  };
}

// What a hostile server can do, case by case.
struct ServerCase {
  std::string name;
  std::function<void(const Victim&)> play;
};

void AddClaimCases(std::vector<ServerCase>* cases);  // more is said than there is
void AddRowCases(std::vector<ServerCase>* cases);    // rows that were not asked for, or never end

}  // namespace rocksieve::join
