// SPDX-License-Identifier: Apache-2.0
// Servers that contradict themselves, exaggerate, or never come to an end.
#include "tests/transport/hostile_server.h"
#include "lib/transport/frame.h"

namespace rocksieve::join {
namespace {

TEST_F(HostileServer, AnotherVersionOfTheTransport) {
  ExpectError(Server([](auto*, auto*) {}, 7), "speaks version 7 of the transport");
}

TEST_F(HostileServer, AnotherVersionOfTheProtocol) {
  ExpectError(*Lying(ChangeKind<HelloAnswer>([](auto* m) { m->version = 9; })),
              "speaks version 9 of the join protocol");
}

TEST_F(HostileServer, WrongCountsAndSums) {
  // More keys than it has, fewer, absurdly many; a wrong sum.
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{100'000}}) {
    ExpectError(*Lying(ChangeKind<Facts>([count](auto* m) { m->sum.count = count; })), "range");
  }
  ExpectError(*Lying(ChangeKind<Facts>([](auto* m) { m->sum.count = uint64_t{1} << 60; })),
              "are allowed");
  ExpectError(*Lying(ChangeKind<Facts>([](auto* m) { m->sum.low ^= 1; })), "range");
  ExpectError(*Lying(ChangePart(Part::kSum, [](auto* body) { body->back() ^= 1; })),
              "disagree about a range after 3 attempts", Operation::kCount);
}

TEST_F(HostileServer, RangesThatAreCutWithoutEnd) {
  ExpectError(*Lying(ChangeKind<Facts>([](auto* m) {
    m->outcome = Facts::Outcome::kTooLarge;
    m->next_key = "zzz";
  })),
              "range");
  ExpectError(*Lying(ChangeKind<Facts>([](auto* m) { m->range += 100; })), "not open");
  ExpectError(*Lying(ChangeKind<Facts>([](auto* m) { m->outcome = Facts::Outcome::kEqual; })),
              "different ranges for equal");
}

TEST_F(HostileServer, EndlessSymbols) {
  planner_.strategy = Strategy::kSymbols;
  // A request for more and more of ours: this side begins, since the server says that it is large.
  ExpectError(
      Server([](grpc::ServerContext*, ServerStream* stream) {
        MemorySource source(WithGaps(Numbers(kTheirsBegin, kTheirsEnd)));
        ServerSession honest(&source, {});
        FrameReader reader(size_t{64} << 20);
        FrameWriter writer;
        uint64_t requests = 0;
        v1::Frame frame;
        while (stream->Read(&frame)) {
          const absl::Status status =
              VisitMessages(&reader, frame.piece(), [&](std::string_view said) {
                absl::StatusOr<Message> heard = Decode(said);
                Step* step = heard.ok() ? std::get_if<Step>(&*heard) : nullptr;
                // In ranges where it has no keys there is nothing to ask for.
                if (step != nullptr && step->message[0] == static_cast<char>(Part::kSymbols)) {
                  Step request;
                  request.range = step->range;
                  std::string body;
                  ByteWriter(&body).Varint(uint64_t{60} << std::min<uint64_t>(requests++ / 9, 9));
                  AppendPart(Part::kMoreSymbols, body, &request.message);
                  writer.Add(Encode(request));
                  return absl::OkStatus();
                }
                return honest.Receive(said);
              });
          if (!status.ok()) return;
          for (absl::StatusOr<std::string> m = honest.Next(); m.ok() && !m->empty();
               m = honest.Next()) {
            absl::StatusOr<Message> says = Decode(*m);
            if (auto* answer = std::get_if<HelloAnswer>(&*says)) answer->keys = 10'000'000;
            writer.Add(Encode(*says));
          }
          while (writer.pending_bytes() > 0) {
            frame.set_piece(writer.TakePiece());
            stream->Write(frame);
          }
        }
      }),
      "a request for too many symbols");
}

// Its hashes have another salt, so that nothing would match.
TEST_F(HostileServer, WrongHashes) {
  for (const Strategy strategy : kAllStrategies) {
    planner_.strategy = strategy;
    for (const Operation operation : {Operation::kDifference, Operation::kCount}) {
      ExpectError(*Lying(ChangeKind<Hello>([](auto* m) { m->salt++; })), "computes other hashes",
                  operation);
    }
  }
}

TEST_F(HostileServer, DamagedParts) {
  for (const Strategy strategy : kAllStrategies) {
    planner_.strategy = strategy;
    // Cut off, and with something behind.
    for (const int kind : {0, 1}) {
      ExpectError(*Lying([kind](Message* message) {
        Step* step = std::get_if<Step>(message);
        if (step == nullptr) return;
        if (kind == 0) step->message.resize(step->message.size() / 2);
        if (kind == 1) step->message.append(3, '\x7f');
      }),
                  "in the range ");
    }
  }
}

TEST_F(HostileServer, ManyKeysInFewBytes) {
  planner_.strategy = Strategy::kKeys;
  // Of one key again and again, which takes two bytes each time, and nearly none compressed.
  std::string raw("\0\1k", 3), list;
  while (raw.size() < size_t{200} << 20) raw.append("\1\0", 2);
  AppendCompressed(raw, &list);
  ExpectError(*Lying(ChangePart(Part::kKeys, [&list](auto* body) { *body = list; })),
              "in the range ");
}

TEST_F(HostileServer, RowsThatUnpackToTooMuch) {
  std::string batch;
  AppendCompressed(std::string(size_t{300} << 20, '\0'), &batch);
  ExpectError(*Lying(ChangeKind<Rows>([&batch](auto* m) { m->batch = batch; })),
              "cannot be unpacked");
}

TEST_F(HostileServer, RowsWithoutEnd) {
  // The same rows again: out of order, so the range is repeated, with no other result.
  ExpectError(*Lying(ChangeKind<Rows>([](auto* m) { m->last = false; }), /*endless=*/true), "range",
              Operation::kDifference, std::chrono::seconds(3));
  // Rows of no key and no bytes, which prove nothing wrong.
  ExpectError(*Lying(ChangeKind<Rows>([](auto* m) {
                       m->last = false;
                       m->batch.clear();
                       AppendCompressed("", &m->batch);
                     }),
                     /*endless=*/true),
              "range", Operation::kDifference, std::chrono::seconds(2));
}

TEST_F(HostileServer, FramesAndMessagesThatAreTooLarge) {
  ExpectError(Server([](auto*, ServerStream* stream) {
                v1::Frame frame;
                frame.set_piece(std::string(300 << 10, 'x'));
                stream->Write(frame);
              }),
              "larger than max");
  ExpectError(Server([](auto*, ServerStream* stream) {
                v1::Frame frame;
                std::string* const piece = frame.mutable_piece();
                ByteWriter(piece).Varint(uint64_t{1} << 31);
                for (bool more = true; more;) {
                  more = stream->Write(frame);
                  piece->assign(256 << 10, 'x');
                }
              }),
              "are allowed");
}

TEST_F(HostileServer, GarbageAndSilence) {
  ExpectError(Server([](auto*, ServerStream* stream) {
                v1::Frame frame;
                frame.set_piece("\x05hello");
                stream->Write(frame);
                while (stream->Read(&frame)) {
                }
              }),
              "no message of the join protocol");
  ExpectError(Server([](auto*, ServerStream* stream) {
                v1::Frame frame;
                while (stream->Read(&frame)) {
                }
              }),
              "", Operation::kDifference, std::chrono::seconds(1));
  // It hangs up right after the greeting.
  ExpectError(Server([](auto*, auto*) {}), "after 2 attempts");
  // It answers and hangs up while the greeting, which it does not read, is on its way.
  request_.on.assign(3 << 20, 'x');
  ExpectError(Server([](auto*, auto*) {}, 1, /*hears_greeting=*/false), "after 2 attempts");
  // What gRPC says for a server that ends, or takes new certificates, as a call comes.
  const grpc::Status dropped(grpc::StatusCode::CANCELLED, "CANCELLED");
  ExpectError(Server([](auto*, auto*) {}, 1, true, dropped), "new certificates (after 2 attempts)");
}

}  // namespace
}  // namespace rocksieve::join
