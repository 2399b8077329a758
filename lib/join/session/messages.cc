#include "lib/join/session/messages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"
#include "lib/join/rows/key_list.h"

namespace rocksieve::join {
namespace {

// "RSJ", so that a stray connection is told from an old one.
constexpr uint32_t kMagic = 0x004A5352;
constexpr uint64_t kMostAttempts = 255;
constexpr uint64_t kMostFailureBytes = 4096;
constexpr uint64_t kMostRoundTrips = 1000;

constexpr size_t kCheckBytes = 4;

uint32_t CheckOf(std::string_view bytes) { return static_cast<uint32_t>(HashKey(bytes, 0)); }

// A rate as a byte: r means 2^(-r / 8).
uint8_t EncodeRate(double rate) {
  const double eighths = -8 * std::log2(std::clamp(rate, 1e-9, 1.0));
  return static_cast<uint8_t>(std::lround(std::min(eighths, 255.0)));
}
double DecodeRate(uint8_t eighths) { return std::exp2(-eighths / 8.0); }

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
    Interval(m.interval);
    out.Varint(m.existing.bytes);
    out.U8(EncodeRate(m.existing.pass_rate));
    out.U8(m.existing.formats);
    out.Varint(m.accepted_filter_bytes);
    out.U8(m.readable_formats);
  }
  void operator()(const HelloAnswer& m) {
    out.U32(kMagic);
    out.Varint(m.version);
    out.Varint(m.keys);
    m.absent.Write(&out);
    out.U64(m.hash_check);
    out.Varint(m.most_keys_per_range);
    out.U8(static_cast<uint8_t>(m.existing_choice));
    out.U8(EncodeRate(m.existing_pass_rate));
    out.Varint(m.accepted_filter_bytes);
  }
  void operator()(const Open& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
    Interval(m.interval);
    m.sum.Write(&out);
    out.U8(m.server_begins);
    WritePruning(m.pruning);
    out.Bytes(m.estimator);
  }
  void operator()(const Facts& m) {
    out.Varint(m.range);
    out.Varint(m.attempt);
    out.U8(static_cast<uint8_t>(m.outcome));
    m.sum.Write(&out);
    out.Varint(m.common);
    WritePruning(m.pruning);
    out.Bytes(m.next_key);
  }
  void operator()(const Step& m) {
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
  void operator()(const Filters& m) {
    out.U8(static_cast<uint8_t>(m.state));
    out.Bytes(m.piece);
  }

  void Interval(const KeyInterval& interval) {
    out.String(interval.begin);
    out.U8(interval.end.has_value());
    if (interval.end) out.String(*interval.end);
  }
  void WritePruning(const Pruning& pruning) {
    out.Varint(pruning.filters ? *pruning.filters + 1 : 0);
    if (!pruning.filters) return;
    out.U64(pruning.digest);
    out.Varint(pruning.candidates);
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

void ReadInterval(ByteReader* in, KeyInterval* interval) {
  interval->begin = in->String(kMostKeyBytes);
  if (Flag(in)) interval->end = std::string(in->String(kMostKeyBytes));
}

void ReadPruning(ByteReader* in, Pruning* pruning) {
  const uint64_t filters = in->Varint();
  if (filters == 0) return;
  pruning->filters = filters - 1;
  pruning->digest = in->U64();
  pruning->candidates = in->Varint(UINT32_MAX);
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
  if (strategy > static_cast<uint8_t>(Strategy::kSstFilters)) in->Fail();
  m->strategy = static_cast<Strategy>(strategy);
  m->most_round_trips = static_cast<uint32_t>(in->Varint(kMostRoundTrips));
  ReadInterval(in, &m->interval);
  m->existing.bytes = in->Varint();
  m->existing.pass_rate = DecodeRate(in->U8());
  m->existing.formats = in->U8();
  m->accepted_filter_bytes = in->Varint();
  m->readable_formats = in->U8();
}

void Read(ByteReader* in, HelloAnswer* m) {
  CheckMagic(in);
  m->version = static_cast<uint32_t>(in->Varint(UINT32_MAX));
  m->keys = in->Varint();
  m->absent.Read(in);
  m->hash_check = in->U64();
  m->most_keys_per_range = in->Varint();
  const uint8_t choice = in->U8();
  if (choice > static_cast<uint8_t>(ExistingFilterChoice::kNotWanted)) in->Fail();
  m->existing_choice = static_cast<ExistingFilterChoice>(choice);
  m->existing_pass_rate = DecodeRate(in->U8());
  m->accepted_filter_bytes = in->Varint();
}

void Read(ByteReader* in, Open* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
  ReadInterval(in, &m->interval);
  m->sum.Read(in);
  m->server_begins = Flag(in);
  ReadPruning(in, &m->pruning);
  m->estimator = in->Rest();
}

void Read(ByteReader* in, Facts* m) {
  m->range = in->Varint();
  m->attempt = static_cast<uint32_t>(in->Varint(kMostAttempts));
  const uint8_t outcome = in->U8();
  if (outcome > static_cast<uint8_t>(Facts::Outcome::kWithdrawn)) in->Fail();
  m->outcome = static_cast<Facts::Outcome>(outcome);
  m->sum.Read(in);
  m->common = in->Varint();
  ReadPruning(in, &m->pruning);
  m->next_key = in->Rest();
}

void Read(ByteReader* in, Step* m) {
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

void Read(ByteReader* in, Filters* m) {
  const uint8_t state = in->U8();
  if (state > static_cast<uint8_t>(Filters::State::kWithdrawn)) in->Fail();
  m->state = static_cast<Filters::State>(state);
  m->piece = in->Rest();
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
