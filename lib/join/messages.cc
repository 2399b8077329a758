#include "join/messages.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "format/byte_io.h"
#include "hash/key_hash.h"
#include "hash/key_hash128.h"
#include "hash/mix.h"
#include "join/key_list.h"

namespace rocksieve::join {
namespace {

// "RSJ", so that a stray connection is told from an old one.
constexpr uint32_t kMagic = 0x004A5352;
constexpr uint64_t kMostAttempts = 255;
constexpr uint64_t kMostFailureBytes = 4096;
constexpr uint64_t kMostRoundTrips = 1000;

constexpr size_t kCheckBytes = 4;

uint32_t CheckOf(std::string_view bytes) { return static_cast<uint32_t>(HashKey(bytes, 0)); }

// The first byte is the alternative's index in Message, plus 1.
struct Writer {
  ByteWriter out;

  void operator()(const Hello& m) {
    out.U32(kMagic);
    out.Varint(m.version);
    out.U8(static_cast<uint8_t>(m.operation));
    out.U64(m.salt);
    out.Varint(m.keys);
    out.U8(static_cast<uint8_t>(m.strategy));
    out.Varint(m.most_round_trips);
  }
  void operator()(const HelloAnswer& m) {
    out.U32(kMagic);
    out.Varint(m.version);
    out.Varint(m.keys);
    m.absent.Write(&out);
    out.U64(m.hash_check);
    out.Varint(m.most_keys_per_range);
  }
  void operator()(const Open& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
    out.String(m.interval.begin);
    out.U8(m.interval.end.has_value());
    if (m.interval.end) out.String(*m.interval.end);
    m.sum.Write(&out);
    out.U8(m.answering_side_begins);
    out.Bytes(m.estimator);
  }
  void operator()(const Facts& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
    out.U8(static_cast<uint8_t>(m.outcome));
    m.sum.Write(&out);
    out.Varint(m.common);
    out.Bytes(m.next_key);
  }
  void operator()(const Turn& m) {
    out.Varint(m.range);
    out.Bytes(m.message);
  }
  void operator()(const Fetch& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
  }
  void operator()(const Rows& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
    out.U8(m.last);
    out.Bytes(m.batch);
  }
  void operator()(const Goodbye&) {}
  void operator()(const Failure& m) {
    out.Varint(static_cast<uint64_t>(m.status.code()));
    out.Bytes(std::string_view(m.status.message().data(), m.status.message().size())
                  .substr(0, kMostFailureBytes));
  }
};

bool Flag(ByteReader* in) {
  const uint8_t value = in->U8();
  if (value > 1) in->Fail();
  return value == 1;
}

void CheckMagic(ByteReader* in) {
  if (in->U32() != kMagic) in->Fail();
}

void Read(ByteReader* in, Hello* m) {
  CheckMagic(in);
  m->version = static_cast<uint32_t>(in->Varint(UINT32_MAX));
  const uint8_t operation = in->U8();
  if (operation < 1 || operation > static_cast<uint8_t>(Operation::kCount)) in->Fail();
  m->operation = static_cast<Operation>(operation);
  m->salt = in->U64();
  m->keys = in->Varint();
  const uint8_t strategy = in->U8();
  if (strategy > static_cast<uint8_t>(Strategy::kSymbols)) in->Fail();
  m->strategy = static_cast<Strategy>(strategy);
  m->most_round_trips = static_cast<uint32_t>(in->Varint(kMostRoundTrips));
}

void Read(ByteReader* in, HelloAnswer* m) {
  CheckMagic(in);
  m->version = static_cast<uint32_t>(in->Varint(UINT32_MAX));
  m->keys = in->Varint();
  m->absent.Read(in);
  m->hash_check = in->U64();
  m->most_keys_per_range = in->Varint();
}

void Read(ByteReader* in, Open* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
  m->interval.begin = in->String(kMostKeyBytes);
  if (Flag(in)) m->interval.end = std::string(in->String(kMostKeyBytes));
  m->sum.Read(in);
  m->answering_side_begins = Flag(in);
  m->estimator = in->Rest();
}

void Read(ByteReader* in, Facts* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
  const uint8_t outcome = in->U8();
  if (outcome > static_cast<uint8_t>(Facts::Outcome::kTooLarge)) in->Fail();
  m->outcome = static_cast<Facts::Outcome>(outcome);
  m->sum.Read(in);
  m->common = in->Varint();
  m->next_key = in->Rest();
}

void Read(ByteReader* in, Turn* m) {
  m->range = in->Varint();
  m->message = in->Rest();
}

void Read(ByteReader* in, Fetch* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
}

void Read(ByteReader* in, Rows* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
  m->last = Flag(in);
  m->batch = in->Rest();
}

void Read(ByteReader*, Goodbye*) {}

void Read(ByteReader* in, Failure* m) {
  const uint64_t code = in->Varint(static_cast<uint64_t>(absl::StatusCode::kUnauthenticated));
  const std::string_view text = in->Rest().substr(0, kMostFailureBytes);
  m->status =
      absl::Status(code == 0 ? absl::StatusCode::kUnknown : static_cast<absl::StatusCode>(code),
                   absl::string_view(text.data(), text.size()));
}

template <size_t kIndex = 0>
bool ReadAlternative(size_t index, ByteReader* in, Message* message) {
  if constexpr (kIndex == std::variant_size_v<Message>) {
    return false;
  } else {
    if (index != kIndex) return ReadAlternative<kIndex + 1>(index, in, message);
    Read(in, &message->emplace<kIndex>());
    return in->Finished();
  }
}

}  // namespace

std::string Encode(const Message& message) {
  std::string bytes;
  Writer writer{ByteWriter(&bytes)};
  writer.out.U8(static_cast<uint8_t>(message.index() + 1));
  std::visit(writer, message);
  writer.out.U32(CheckOf(bytes));
  return bytes;
}

absl::StatusOr<Message> Decode(std::string_view bytes) {
  const size_t checked = bytes.size() - std::min(bytes.size(), kCheckBytes);
  ByteReader in(bytes.substr(0, checked));
  ByteReader check(bytes.substr(checked));
  if (check.U32() != CheckOf(bytes.substr(0, checked)) || !check.ok()) in.Fail();
  const uint8_t kind = in.U8();
  Message message;
  if (kind == 0 || !ReadAlternative(size_t{kind} - 1, &in, &message)) {
    return absl::InvalidArgumentError(absl::StrCat("the other side sent ", bytes.size(),
                                                   " bytes that are no message of the ",
                                                   "join protocol, version ", kProtocolVersion));
  }
  return message;
}

uint64_t HashCheck(uint64_t session_salt) {
  const uint64_t salt = RangeSalt(session_salt, 0, 0);
  return HashForStep(HashKey128("rocksieve", salt), SplitMix64(salt, 0));
}

uint64_t RangeSalt(uint64_t session_salt, uint64_t range, uint32_t attempt) {
  return SplitMix64(SplitMix64(session_salt, range), attempt);
}

}  // namespace rocksieve::join
