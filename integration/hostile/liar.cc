// SPDX-License-Identifier: Apache-2.0
#include "integration/hostile/liar.h"

#include "lib/join/session/server_session.h"
#include "lib/transport/frame.h"
#include "tests/join/hostile_bodies.h"

namespace rocksieve::join {
namespace {

constexpr size_t kFullFrameBytes = 128 << 10;

class Play {
 public:
  Play(const Victim& victim, const Lies& lies)
      : source_(victim.rows), honest_(&source_, {}), lies_(lies), stream_(victim.stream) {}

  void Run() {
    v1::Frame frame;
    std::string arrived;
    while (SayAll() && !honest_.done() && stream_->Read(&frame)) {
      arrived += frame.piece();
      TakeMessages(&arrived, [this](std::string_view bytes) { Hear(bytes); });
    }
  }

 private:
  void Hear(std::string_view bytes) {
    const absl::StatusOr<Message> heard = Decode(bytes);
    if (!heard.ok()) return;
    std::optional<Bytes> answer;
    if (lies_.answer) answer = lies_.answer(*heard);
    if (answer) {
      for (const std::string& message : *answer) writer_.Add(message);
    } else {
      honest_.Receive(bytes).IgnoreError();  // it cannot bear what follows from the lies
    }
  }

  // What is to be said before something is heard. False once nobody takes it.
  bool SayAll() {
    for (;;) {
      const absl::StatusOr<std::string> message = honest_.Next();
      if (!message.ok() || message->empty()) break;
      const absl::StatusOr<Message> said = Decode(*message);
      std::optional<Bytes> instead;
      if (said.ok() && lies_.say) instead = lies_.say(*said);
      for (const std::string& bytes : instead.value_or(Bytes{*message})) writer_.Add(bytes);
      if (!Flush(kFullFrameBytes)) return false;
    }
    if (!Flush(1)) return false;
    if (!lies_.forever) return true;
    std::string more = lies_.forever();
    if (more.empty()) return true;
    while (Flush(kFullFrameBytes)) writer_.Add(lies_.forever());
    return false;
  }

  bool Flush(size_t least_bytes) {
    v1::Frame frame;
    while (writer_.pending_bytes() >= least_bytes) {
      frame.set_piece(writer_.TakePiece());
      if (!stream_->Write(frame)) return false;
    }
    return true;
  }

  MemorySource source_;
  ServerSession honest_;
  const Lies& lies_;
  ServerStream* const stream_;
  FrameWriter writer_;
};

}  // namespace

void Lie(const Victim& victim, const Lies& lies) { Play(victim, lies).Run(); }

}  // namespace rocksieve::join
