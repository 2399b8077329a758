// SPDX-License-Identifier: Apache-2.0
// Servers that contradict themselves, exaggerate, or never come to an end.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include "join.grpc.pb.h"
#include "lib/format/byte_io.h"
#include "lib/join/matching/planner.h"
#include "lib/join/rows/compression.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "lib/transport/client.h"
#include "lib/transport/drive.h"
#include "lib/transport/frame.h"
#include "tests/transport/support.h"

namespace rocksieve::join {

// Servers that say what an honest one does, changed, or anything else; and joins with them, which
// must end with a clear error, in bounded time and memory, and give no row that is not proven.

// Changes what an honest side says, or hears.
using Change = std::function<void(Message* message)>;

// Of `rows`, those that the hostile server has: no range is the same as ours.
inline MemorySource::Rows WithGaps(MemorySource::Rows rows) {
  size_t i = 0;
  std::erase_if(rows, [&i](const auto&) { return i++ % 7 == 3; });
  return rows;
}

// Calls `visit` for each message that a piece completes, up to the first error.
inline absl::Status VisitMessages(FrameReader* reader, std::string_view piece,
                                  const std::function<absl::Status(std::string_view)>& visit) {
  absl::Status status = reader->Add(piece);
  while (status.ok()) {
    const absl::StatusOr<std::optional<std::string_view>> message = reader->Next();
    if (!message.ok()) return message.status();
    if (!message->has_value()) break;
    status = visit(**message);
  }
  return status;
}

class LyingSide final : public Session {
 public:
  LyingSide(Source* source, PlannerOptions planner, Change change, bool endless)
      : honest_(source, Options(planner)), change_(std::move(change)), endless_(endless) {}

  absl::Status Receive(std::string_view message) override {
    absl::StatusOr<Message> heard = Decode(message);
    if (!heard.ok()) return heard.status();
    change_(&*heard);
    // An honest side would not bear what follows from the lies.
    honest_.Receive(Encode(*heard)).IgnoreError();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Next() override {
    if (endless_ && !rows_.empty()) return rows_;
    absl::StatusOr<std::string> message = honest_.Next();
    if (!message.ok() || message->empty()) return message;
    absl::StatusOr<Message> said = Decode(*message);
    if (!said.ok()) return said.status();
    change_(&*said);
    if (std::holds_alternative<Rows>(*said)) rows_ = Encode(*said);
    return Encode(*said);
  }
  bool always_hears() const override { return false; }
  bool done() const override { return honest_.done(); }

 private:
  static ServerSessionOptions Options(PlannerOptions planner) {
    ServerSessionOptions options;
    options.planner = planner;
    return options;
  }

  ServerSession honest_;
  const Change change_;
  const bool endless_;  // the first rows come again and again
  std::string rows_;
};

using ServerStream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;

// The pieces of a stream that blocks, without their envelope.
class GrpcChannel final : public FrameChannel {
 public:
  GrpcChannel(ServerStream* stream, grpc::ServerContext* context)
      : stream_(stream), context_(context) {}

  bool Read(std::string* piece) override {
    v1::Frame frame;
    if (!stream_->Read(&frame)) return false;
    piece->swap(*frame.mutable_piece());
    return true;
  }
  bool Write(const std::string& piece) override {
    v1::Frame frame;
    frame.set_piece(piece);
    return stream_->Write(frame);
  }
  void Cancel() override { context_->TryCancel(); }

 private:
  ServerStream* const stream_;
  grpc::ServerContext* const context_;
};

// What one session of the server does after the greeting.
using Act = std::function<void(grpc::ServerContext* context, ServerStream* stream)>;

class Server final : public v1::Join::Service {
 public:
  explicit Server(Act act, uint32_t version = 1, bool hears_greeting = true,
                  grpc::Status answer = grpc::Status::OK)
      : act_(std::move(act)),
        version_(version),
        hears_greeting_(hears_greeting),
        answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Server() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  int port() const { return port_; }

  grpc::Status Session(grpc::ServerContext* context, ServerStream* stream) override {
    v1::Frame frame;
    if (hears_greeting_ && !stream->Read(&frame)) return grpc::Status::OK;
    if (!answer_.ok()) return answer_;
    frame.Clear();
    frame.mutable_started()->set_version(version_);
    frame.mutable_started()->set_view("a view");
    stream->Write(frame);
    act_(context, stream);
    return grpc::Status::OK;
  }

 private:
  const Act act_;
  const uint32_t version_;
  const bool hears_greeting_;  // before it answers it
  const grpc::Status answer_;  // unless OK, of all calls
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The most memory that this process had since the last Forget().
class MemoryPeak {
 public:
  MemoryPeak() {
    std::ofstream("/proc/self/clear_refs") << "5";
    begin_ = Peak();
  }
  uint64_t GrownBytes() const {
    const uint64_t peak = Peak();  // the kernel's count is not exact: it may have sunk
    return peak - std::min(peak, begin_);
  }

 private:
  static uint64_t Peak() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      uint64_t kib = 0;
      if (word == "VmHWM:" && status >> kib) return kib << 10;
    }
    return 0;
  }
  uint64_t begin_ = 0;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kMostGrownBytes = uint64_t{4} << 30;  // of which most is the sanitizer's
#else
inline constexpr uint64_t kMostGrownBytes = uint64_t{400} << 20;
#endif

inline constexpr int kOurs = 20'000;
inline constexpr int kTheirsBegin = 10'000, kTheirsEnd = 30'000;

class HostileServer : public testing::Test {
 protected:
  // Joins with a server and expects an error that has these words.
  void ExpectError(const Server& server, const std::string& words,
                   Operation operation = Operation::kDifference,
                   std::chrono::seconds time = std::chrono::seconds(30)) {
    MemorySource mine(Numbers(0, kOurs));
    MapSink sink;
    RemoteJoinOptions options;
    options.client.operation = operation;
    options.strategy = NameOf(planner_.strategy);
    options.request = request_;
    options.client.keys_per_range = 5000;
    options.first_pause = std::chrono::milliseconds(10);
    options.limits.exchange.farewell = std::chrono::milliseconds(200);
    options.most_attempts = 2;
    const Cancellation cancellation(Cancellation::Clock::now() + time);
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    RemoteJoinReport report;
    const MemoryPeak memory;
    const absl::Status status = JoinRemotely({address, grpc::InsecureChannelCredentials(), "", ""},
                                             &mine, &sink, options, &cancellation, &report);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(address));
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(words));
    EXPECT_LT(memory.GrownBytes(), kMostGrownBytes);
    const MemorySource::Rows theirs = WithGaps(Numbers(kTheirsBegin, kTheirsEnd));
    const std::map<std::string, std::string> there(theirs.begin(), theirs.end());
    for (const auto& [key, value] : sink.rows) {
      EXPECT_TRUE(there.count(key) == 1 && there.at(key) == value) << key;
    }
  }

  // A server that says what an honest one does, changed.
  std::unique_ptr<Server> Lying(Change change, bool endless = false) {
    return std::make_unique<Server>([this, change, endless](auto* context, auto* stream) {
      MemorySource source(WithGaps(Numbers(kTheirsBegin, kTheirsEnd)));
      LyingSide session(&source, planner_, change, endless);
      GrpcChannel channel(stream, context);
      BlockingStream exchange(&channel);
      DriveLimits limits;
      limits.exchange.silence = std::chrono::milliseconds(5000);
      limits.exchange.farewell = std::chrono::milliseconds(200);
      const Cancellation never;
      WireCounts counts;
      Drive(&session, &exchange, &never, limits, &counts).IgnoreError();
    });
  }

  // Changes the first part of that kind in a turn.
  static Change ChangePart(Part wanted, std::function<void(std::string* body)> change) {
    return [wanted, change](Message* message) {
      Step* step = std::get_if<Step>(message);
      if (step == nullptr) return;
      std::string changed;
      VisitParts(step->message, [&](Part part, std::string_view body) {
        std::string bytes(body);
        if (part == wanted) change(&bytes);
        AppendPart(part, bytes, &changed);
      });
      step->message = changed;
    };
  }

  template <typename Kind>
  static Change ChangeKind(std::function<void(Kind*)> change) {
    return [change](Message* message) {
      if (Kind* kind = std::get_if<Kind>(message)) change(kind);
    };
  }

  PlannerOptions planner_;
  ViewRequest request_;
};

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
