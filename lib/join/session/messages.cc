// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/messages.h"

#include <algorithm>
#include <cmath>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/key_hash128.h"
#include "lib/hash/mix.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"

namespace rocksieve::join {
namespace {

// "RSJ", so that a stray connection is told from an old one.
constexpr uint32_t kMagic = 0x004A5352;
constexpr uint64_t kMostAttempts = 255;
constexpr uint64_t kMostFailureBytes = 4096;
constexpr uint64_t kMostRoundTrips = 1000;
constexpr uint64_t kMostBitsPerCpuMs = 1'000'000'000;  // a terabit per second

constexpr size_t kCheckBytes = 4;

uint32_t CheckOf(std::string_view bytes) { return static_cast<uint32_t>(HashKey(bytes, 0)); }

// A rate as a byte: r means 2^(-r / 8).
uint8_t EncodeRate(double rate) {
  const double eighths = -8 * std::log2(std::clamp(rate, 1e-9, 1.0));
  return static_cast<uint8_t>(std::lround(std::min(eighths, 255.0)));
}
double DecodeRate(uint8_t eighths) { return std::exp2(-eighths / 8.0); }

// Takes the fields of a message that is sent.
class Writer {
 public:
  template <typename Message>
  using Arg = const Message&;

  explicit Writer(std::string* bytes) : out_(bytes) {}

  void Magic() { out_.U32(kMagic); }
  void U8(uint8_t value) { out_.U8(value); }
  void U64(uint64_t value) { out_.U64(value); }
  void Varint(uint64_t value, uint64_t = 0) { out_.Varint(value); }
  void Flag(bool value) { out_.U8(value); }
  void Rate(double rate) { out_.U8(EncodeRate(rate)); }
  void Sum(const SetSum& sum) { sum.Write(&out_); }
  template <typename Enumeration>
  void Enum(Enumeration value, Enumeration, Enumeration) {
    out_.U8(static_cast<uint8_t>(value));
  }
  void Interval(const KeyInterval& interval) {
    out_.String(interval.begin);
    Flag(interval.end.has_value());
    if (interval.end) out_.String(*interval.end);
  }
  void PruningOf(const Pruning& pruning) {
    Varint(pruning.filters ? *pruning.filters + 1 : 0);
    if (!pruning.filters) return;
    U64(pruning.digest);
    Varint(pruning.candidates);
  }
  void Error(const absl::Status& status) {
    Varint(static_cast<uint64_t>(status.code()));
    out_.Bytes(std::string_view(status.message().data(), status.message().size())
                   .substr(0, kMostFailureBytes));
  }
  void Rest(std::string_view bytes) {
    // So that large ones are not copied as they grow.
    out_.out()->reserve(out_.out()->size() + bytes.size() + kCheckBytes);
    out_.Bytes(bytes);
  }
  void ComparisonAndPriceIfAny(Comparison comparison, uint64_t bits_per_cpu_ms) {
    if (comparison != Comparison::kNone || bits_per_cpu_ms != 0) {
      out_.U8(static_cast<uint8_t>(comparison));
    }
    if (bits_per_cpu_ms != 0) out_.Varint(bits_per_cpu_ms);
  }
  // The second sum has the count of the first.
  void Begins(bool server_begins, const std::optional<SetSum>& row_sum, const SetSum&) {
    out_.U8(static_cast<uint8_t>((server_begins ? 1 : 0) | (row_sum ? 2 : 0)));
    if (!row_sum) return;
    U64(row_sum->low);
    U64(row_sum->high);
  }
  void Check(uint32_t check) { out_.U32(check); }

 private:
  ByteWriter out_;
};

// Sets the fields of a message that has arrived. What may not be there fails `in`.
class Reader {
 public:
  template <typename Message>
  using Arg = Message&;

  explicit Reader(ByteReader* in) : in_(in) {}

  void Magic() {
    if (in_->U32() != kMagic) in_->Fail();
  }
  void U8(uint8_t& value) { value = in_->U8(); }
  void U64(uint64_t& value) { value = in_->U64(); }
  template <typename Number>
  void Varint(Number& value, uint64_t most = UINT64_MAX) {
    value = static_cast<Number>(in_->Varint(most));
  }
  void Flag(bool& value) {
    const uint8_t byte = in_->U8();
    if (byte > 1) in_->Fail();
    value = byte == 1;
  }
  void Rate(double& rate) { rate = DecodeRate(in_->U8()); }
  void Sum(SetSum& sum) { sum.Read(in_); }
  template <typename Enumeration>
  void Enum(Enumeration& value, Enumeration first, Enumeration last) {
    const uint8_t byte = in_->U8();
    if (byte < static_cast<uint8_t>(first) || byte > static_cast<uint8_t>(last)) in_->Fail();
    value = static_cast<Enumeration>(byte);
  }
  void Interval(KeyInterval& interval) {
    interval.begin = in_->String(kMostKeyBytes);
    bool ends = false;
    Flag(ends);
    if (ends) interval.end = std::string(in_->String(kMostKeyBytes));
  }
  void PruningOf(Pruning& pruning) {
    const uint64_t filters = in_->Varint();
    if (filters == 0) return;
    pruning.filters = filters - 1;
    U64(pruning.digest);
    Varint(pruning.candidates, UINT32_MAX);
  }
  void Error(absl::Status& status) {
    const uint64_t code = in_->Varint(static_cast<uint64_t>(absl::StatusCode::kUnauthenticated));
    const std::string_view text = in_->Rest().substr(0, kMostFailureBytes);
    status =
        absl::Status(code == 0 ? absl::StatusCode::kUnknown : static_cast<absl::StatusCode>(code),
                     absl::string_view(text.data(), text.size()));
  }
  void Rest(std::string& bytes) { bytes = in_->Rest(); }
  void ComparisonAndPriceIfAny(Comparison& comparison, uint64_t& bits_per_cpu_ms) {
    if (in_->remaining() > 0) Enum(comparison, Comparison::kNone, Comparison::kRows);
    if (in_->remaining() > 0) bits_per_cpu_ms = in_->Varint(kMostBitsPerCpuMs);
  }
  void Begins(bool& server_begins, std::optional<SetSum>& row_sum, const SetSum& sum) {
    const uint8_t flags = in_->U8();
    if (flags > 3) in_->Fail();
    server_begins = (flags & 1) != 0;
    if ((flags & 2) == 0) return;
    row_sum = SetSum{sum.count, 0, 0};
    U64(row_sum->low);
    U64(row_sum->high);
  }

 private:
  ByteReader* const in_;
};

// The fields of each message, once for both: docs/protocol.md has them as a table.
template <typename Io>
void Fields(Io& io, typename Io::template Arg<Hello> m) {
  io.Magic();
  io.Varint(m.version, UINT32_MAX);
  io.Enum(m.operation, Operation::kIntersection, Operation::kCount);
  io.U64(m.salt);
  io.Varint(m.keys);
  io.Enum(m.strategy, Strategy::kAuto, Strategy::kSstFilters);
  io.Varint(m.most_round_trips, kMostRoundTrips);
  io.Interval(m.interval);
  io.Varint(m.existing.bytes);
  io.Rate(m.existing.pass_rate);
  io.U8(m.existing.formats);
  io.Varint(m.accepted_filter_bytes);
  io.U8(m.readable_formats);
  io.ComparisonAndPriceIfAny(m.comparison, m.bits_per_cpu_ms);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<HelloAnswer> m) {
  io.Magic();
  io.Varint(m.version, UINT32_MAX);
  io.Varint(m.keys);
  io.Sum(m.absent);
  io.U64(m.hash_check);
  io.Varint(m.most_keys_per_range);
  io.Enum(m.existing_choice, ExistingFilterChoice::kNotThere, ExistingFilterChoice::kNotWanted);
  io.Rate(m.existing_pass_rate);
  io.Varint(m.accepted_filter_bytes);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Open> m) {
  io.Varint(m.range);
  io.Varint(m.attempt, kMostAttempts);
  io.Interval(m.interval);
  io.Sum(m.sum);
  io.Begins(m.server_begins, m.row_sum, m.sum);
  io.PruningOf(m.pruning);
  io.Rest(m.estimator);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Facts> m) {
  io.Varint(m.range);
  io.Varint(m.attempt, kMostAttempts);
  io.Enum(m.outcome, Facts::Outcome::kOpened, Facts::Outcome::kSameKeys);
  io.Sum(m.sum);
  io.Varint(m.common);
  io.PruningOf(m.pruning);
  io.Rest(m.outcome == Facts::Outcome::kOpened ? m.estimator : m.next_key);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Step> m) {
  io.Varint(m.range);
  io.Rest(m.message);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Fetch> m) {
  io.Varint(m.range);
  io.Varint(m.attempt, kMostAttempts);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Rows> m) {
  io.Varint(m.range);
  io.Varint(m.attempt, kMostAttempts);
  io.Flag(m.last);
  io.Rest(m.batch);
}

template <typename Io>
void Fields(Io&, typename Io::template Arg<Goodbye>) {}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Failure> m) {
  io.Error(m.status);
}

template <typename Io>
void Fields(Io& io, typename Io::template Arg<Filters> m) {
  io.Enum(m.state, Filters::State::kMore, Filters::State::kWithdrawn);
  io.Rest(m.piece);
}

template <size_t kIndex = 0>
bool ReadAlternative(size_t index, ByteReader* in, Message* message) {
  if constexpr (kIndex == std::variant_size_v<Message>) {
    return false;
  } else {
    if (index != kIndex) return ReadAlternative<kIndex + 1>(index, in, message);
    Reader reader(in);
    Fields(reader, message->emplace<kIndex>());
    return in->Finished();
  }
}

}  // namespace

absl::Status CheckKeyCounts(const char* who, uint64_t keys, const Pruning& pruning) {
  const bool pruned = pruning.filters.has_value();
  const uint64_t kept = pruned ? pruning.candidates : keys;
  const uint64_t most = (pruned ? kMostKeysPerCandidate : 1) * kMostKeysOfARange;
  if (kept <= kMostKeysOfARange && kept <= keys && keys <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(who, " says that it keeps ", kept, " of ", keys,
                                                 " keys in a range, where ", kMostKeysOfARange,
                                                 " of ", most, " are allowed"));
}

std::string Encode(const Message& message) {
  std::string bytes;
  Writer writer(&bytes);
  writer.U8(static_cast<uint8_t>(message.index() + 1));  // the kind
  std::visit([&writer](const auto& alternative) { Fields(writer, alternative); }, message);
  writer.Check(CheckOf(bytes));
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
