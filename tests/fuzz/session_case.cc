// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/session_case.h"

#include <type_traits>
#include <utility>
#include <variant>

#include <rocksieve/filter.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/planner.h"

namespace rocksieve::fuzz {
namespace {

using Rows = join::MemorySource::Rows;

constexpr uint64_t kMostKeys = 120;

std::string KeyOf(uint64_t i) { return "key" + std::to_string(1000 + i * 7 % 1009); }

std::string BlockOf(const std::vector<std::string>& keys) {
  FilterSpec spec;
  spec.family = Family::kRibbon;
  FilterBuilder builder(spec);
  for (const std::string& key : keys) builder.AddKey(key);
  return std::string(builder.Finish().view());
}

std::vector<join::ExistingFilter> FiltersOf(
    const std::map<std::string, std::vector<std::string>>& table, size_t count) {
  std::vector<join::ExistingFilter> filters;
  std::vector<std::string> keys;
  for (const auto& [key, values] : table) {
    keys.push_back(key);
    if (keys.size() < table.size() / count + 1 && key != table.rbegin()->first) continue;
    join::ExistingFilter filter;
    filter.smallest = keys.front();
    filter.largest = keys.back();
    filter.format = join::FilterFormat::kOurs;
    filter.block = BlockOf(keys);
    filters.push_back(std::move(filter));
    keys.clear();
  }
  return filters;
}

// An eighth of the keys have two rows, unless each shall have one.
void AddRows(uint64_t i, const char* side, bool unique, Rows* rows) {
  rows->emplace_back(KeyOf(i), side + std::to_string(i));
  if (i % 8 == 3 && !unique) rows->emplace_back(KeyOf(i), std::string(i, 'v'));
}

// A row that is joined on all of it. A third of those that both sides have are changed.
void AddWholeRow(uint64_t i, const char* side, bool equal, Rows* rows) {
  const std::string value =
      equal && i % 3 != 0 ? std::string(i % 5, 'v') : side + std::to_string(i);
  std::string join_key;
  join::WholeRowJoinKey({KeyOf(i), value}, &join_key);
  rows->emplace_back(std::move(join_key), value);
}

Rows AbsentRows(uint64_t count, const char* side) {
  Rows rows;
  for (uint64_t i = 0; i < count; i++) rows.emplace_back("", side + std::to_string(i));
  return rows;
}

}  // namespace

class CaseSource::Reader final : public join::ExistingFilterReader {
 public:
  explicit Reader(const std::vector<join::ExistingFilter>& filters) : filters_(filters) {}
  join::ExistingFilterOffer Offer() override {
    join::ExistingFilterOffer offer;
    offer.pass_rate = 0.01;
    for (const join::ExistingFilter& filter : filters_) {
      offer.bytes += filter.block.size() + 1;
      offer.formats |= join::BitOf(filter.format);
    }
    return offer;
  }
  bool Next(join::ExistingFilter* filter) override {
    if (next_ == filters_.size()) return false;
    *filter = filters_[next_++];
    return true;
  }

 private:
  const std::vector<join::ExistingFilter>& filters_;
  size_t next_ = 0;
};

CaseSource::CaseSource(Rows rows, Rows absent, size_t filters)
    : rows_(rows), absent_(absent), absent_count_(absent.size()) {
  for (const auto& [key, value] : rows) table_[key].push_back(value);
  if (filters > 0 && !table_.empty()) filters_ = FiltersOf(table_, filters);
}

std::unique_ptr<join::Cursor> CaseSource::Scan(const join::KeyInterval& interval) {
  return rows_.Scan(interval);
}

std::unique_ptr<join::Cursor> CaseSource::ScanAbsent() {
  return absent_count_ == 0 ? nullptr : absent_.Scan({});
}

std::unique_ptr<join::ExistingFilterReader> CaseSource::ExistingFilters(const join::KeyInterval&) {
  return filters_.empty() ? nullptr : std::make_unique<Reader>(filters_);
}

SessionCase::SessionCase(Choices* choices) {
  client.operation = static_cast<join::Operation>(1 + choices->UpTo(4));
  client.planner.strategy = static_cast<join::Strategy>(choices->UpTo(9));
  client.planner.most_round_trips = static_cast<int>(1 + choices->UpTo(6));
  client.salt = 1 + choices->UpTo(255);
  client.keys_per_range = 1 + choices->UpTo(0x3FF);
  server.most_keys_per_range = 1 + choices->UpTo(0x3FF);
  server.planner = client.planner;

  const uint64_t both = choices->UpTo(kMostKeys), only_here = choices->UpTo(kMostKeys / 4),
                 only_there = choices->UpTo(kMostKeys / 4);
  const uint8_t filters = choices->Byte(), others = choices->Byte();
  const bool compares = (others & 0x40) != 0;
  if (compares) {
    client.operation = join::Operation::kSymmetric;
    client.comparison = (others & 0x20) != 0 ? join::Comparison::kRows : join::Comparison::kKeys;
  }
  // No side has rows without a key then.
  client.keys_are_unique = compares || (others & 0x80) != 0;
  const uint8_t absent = client.keys_are_unique ? 0 : others % 16;
  Rows rows_here, rows_there;
  for (uint64_t i = 0; i < both + only_here + only_there; i++) {
    if (compares) {
      if (i < both + only_here) AddWholeRow(i, "here", i < both, &rows_here);
      if (i < both || i >= both + only_here) AddWholeRow(i, "there", i < both, &rows_there);
      continue;
    }
    if (i < both + only_here) AddRows(i, "here", client.keys_are_unique, &rows_here);
    if (i < both || i >= both + only_here) AddRows(i, "there", client.keys_are_unique, &rows_there);
  }
  here = std::make_unique<CaseSource>(rows_here, AbsentRows(absent % 4, "absent here"),
                                      filters % 8 < 4 ? 0 : filters % 4 + 1);
  there = std::make_unique<CaseSource>(rows_there, AbsentRows(absent / 4, "absent there"),
                                       filters / 8 % 8 < 4 ? 0 : filters / 8 % 4 + 1);
}

namespace {

constexpr size_t kCheckBytes = 4;
constexpr size_t kMostKept = 64;  // messages that can come again

enum Step : uint8_t {
  // 0 and all that have no name: pass.
  kDrop = 1,
  kRepeat,
  kHold,
  kReplaceByEarlier,
  kInjectEarlier,
  kInjectMadeUp,
  kReplaceByMadeUp,
  kOtherBytes,
  kOtherBytesWrongCheck,
  kOtherField,
  kOtherPart,
  kSteps = 24
};

std::string WithRightCheck(std::string message) {
  message.resize(message.size() - std::min(message.size(), kCheckBytes));
  const auto check = static_cast<uint32_t>(HashKey(message, 0));
  ByteWriter(&message).U32(check);
  return message;
}

}  // namespace

// Small ones, and those around powers of two.
uint64_t HostileWire::AnyNumber() {
  const uint8_t kind = choices_->Byte();
  if (kind < 128) return kind;
  if (kind < 192) return (uint64_t{1} << (kind - 128)) - 1 + choices_->UpTo(2);
  return choices_->Number();
}

// Half of them have fields that make sense.
std::string HostileWire::MadeUp() {
  const uint8_t kind = choices_->Byte();
  const uint64_t range = AnyNumber();
  const auto attempt = static_cast<uint32_t>(choices_->UpTo(3));
  switch (kind % 12) {
    case 0: {
      join::Open open;
      open.range = range;
      open.attempt = attempt;
      open.interval.begin = choices_->String();
      if (choices_->Flag()) open.interval.end = std::string(choices_->String());
      if (choices_->Flag()) open.sum.count = AnyNumber();
      open.server_begins = choices_->Flag();
      return join::Encode(open);
    }
    case 1:
      return join::Encode(join::Fetch{range, attempt});
    case 2: {
      join::Step step;
      step.range = range;
      step.message = WithOtherPart("");
      return join::Encode(step);
    }
    case 3: {
      join::Facts facts;
      facts.range = range;
      facts.attempt = attempt;
      facts.outcome = static_cast<join::Facts::Outcome>(choices_->UpTo(3));
      facts.sum.count = AnyNumber();
      facts.next_key = choices_->String();
      return join::Encode(facts);
    }
    case 4:
      return join::Encode(
          join::Rows{range, attempt, choices_->Flag(), std::string(choices_->String())});
    case 5:
      return join::Encode(join::Filters{static_cast<join::Filters::State>(choices_->UpTo(2)),
                                        std::string(choices_->String())});
    default:
      break;
  }
  std::string message(choices_->String());
  message.append(kCheckBytes, '\0');
  return WithRightCheck(std::move(message));
}

std::string HostileWire::Earlier() {
  const uint8_t index = choices_->Byte();
  return sent_.empty() ? MadeUp() : sent_[index % sent_.size()];
}

std::string HostileWire::WithOtherBytes(std::string message) {
  const uint8_t kind = choices_->Byte();
  const size_t at = choices_->UpTo(std::max<size_t>(message.size(), kCheckBytes) - kCheckBytes);
  if (kind % 4 == 0) message.insert(at, choices_->String());
  if (kind % 4 == 1) message.erase(at, 1 + kind / 4);
  if (kind % 4 >= 2 && at < message.size()) message[at] ^= static_cast<char>(choices_->Byte() | 1);
  return message;
}

std::string HostileWire::WithOtherBody(std::string_view body) {
  std::string changed(body);
  const uint8_t kind = choices_->Byte();
  const size_t at = choices_->UpTo(changed.size());
  switch (kind % 5) {
    case 0:
      if (at < changed.size()) changed[at] ^= static_cast<char>(choices_->Byte() | 1);
      break;
    case 1: {
      std::string number;
      ByteWriter(&number).Varint(AnyNumber());
      changed.replace(at, number.size(), number);
      break;
    }
    case 2:
      changed.resize(at);
      break;
    case 3:
      changed = choices_->String();
      break;
    default:
      changed.insert(at, choices_->String());
  }
  return changed;
}

std::string HostileWire::WithOtherPart(const std::string& step) {
  const uint8_t victim = choices_->Byte(), what = choices_->Byte();
  std::string changed;
  uint8_t number = 0;
  join::VisitParts(step, [&](join::Part part, std::string_view body) {
    if (number++ != victim % 4) return join::AppendPart(part, body, &changed);
    switch (what % 5) {
      case 0:  // gone
        break;
      case 1:
        join::AppendPart(part, body, &changed);
        join::AppendPart(part, body, &changed);
        break;
      case 2:
        join::AppendPart(static_cast<join::Part>(choices_->UpTo(24)), body, &changed);
        break;
      default:
        join::AppendPart(part, WithOtherBody(body), &changed);
    }
  });
  if (number <= victim % 4) {
    const auto part = static_cast<join::Part>(choices_->UpTo(24));
    join::AppendPart(part, choices_->String(), &changed);
  }
  return changed;
}

std::string HostileWire::WithOtherField(const std::string& message) {
  absl::StatusOr<join::Message> decoded = join::Decode(message);
  if (!decoded.ok()) return message;
  const uint8_t field = choices_->Byte();
  const uint64_t number = AnyNumber();
  std::visit(
      [&](auto& m) {
        using Kind = std::decay_t<decltype(m)>;
        if constexpr (requires { m.range; }) {
          if (field % 8 == 0) m.range = number;
        }
        if constexpr (requires { m.attempt; }) {
          if (field % 8 == 1) m.attempt = static_cast<uint32_t>(number % 256);
        }
        if constexpr (requires { m.pruning; }) {
          if (field % 8 == 2) m.pruning.filters = number;
          if (field % 8 == 3) m.pruning.candidates = number & UINT32_MAX;
        }
        if constexpr (requires { m.sum; }) {
          if (field % 8 == 4) m.sum.count = number;
        }
        if constexpr (std::is_same_v<Kind, join::Open>) {
          if (field % 8 == 5) m.interval.begin = choices_->String();
          if (field % 8 == 6) m.interval.end = std::string(choices_->String());
          if (field % 8 == 7) m.estimator = WithOtherBody(m.estimator);
        }
        if constexpr (std::is_same_v<Kind, join::Facts>) {
          if (field % 8 == 5) m.outcome = static_cast<join::Facts::Outcome>(number % 4);
          if (field % 8 == 6) m.next_key = choices_->String();
          if (field % 8 == 7) m.common = number;
        }
        if constexpr (std::is_same_v<Kind, join::Step>) m.message = WithOtherBody(m.message);
        if constexpr (std::is_same_v<Kind, join::Rows>) {
          if (field % 8 == 2) m.last = !m.last;
          if (field % 8 > 2) m.batch = WithOtherBody(m.batch);
        }
        if constexpr (std::is_same_v<Kind, join::Filters>) {
          if (field % 8 < 3) m.state = static_cast<join::Filters::State>(number % 3);
          if (field % 8 >= 3) m.piece = WithOtherBody(m.piece);
        }
        if constexpr (std::is_same_v<Kind, join::HelloAnswer>) {
          if (field % 8 == 0) m.keys = number;
          if (field % 8 == 1) m.most_keys_per_range = number;
          if (field % 8 == 2)
            m.existing_choice = static_cast<join::ExistingFilterChoice>(number % 6);
          if (field % 8 == 3) m.accepted_filter_bytes = number;
          if (field % 8 == 4) m.absent.count = number;
        }
        if constexpr (std::is_same_v<Kind, join::Hello>) {
          if (field % 8 == 0) m.keys = number;
          if (field % 8 == 1) m.operation = static_cast<join::Operation>(1 + number % 5);
          if (field % 8 == 2) m.strategy = static_cast<join::Strategy>(number % 10);
          if (field % 8 == 3) m.most_round_trips = static_cast<uint32_t>(number % 1001);
          if (field % 8 == 4) m.existing.bytes = number;
          if (field % 8 == 5) m.existing.formats = static_cast<uint8_t>(number);
          if (field % 8 == 6) m.accepted_filter_bytes = number;
          if (field % 8 == 7) m.readable_formats = static_cast<uint8_t>(number);
        }
      },
      *decoded);
  return join::Encode(*decoded);
}

std::vector<std::string> HostileWire::Deliver(const std::string& message) {
  std::vector<std::string> delivered;
  std::swap(delivered, held_);
  // Those that were held back come after this one.
  const uint8_t step = choices_->empty() ? uint8_t{0} : choices_->Byte() % kSteps;
  std::vector<std::string> now;
  switch (step) {
    case kDrop:
      break;
    case kRepeat:
      now = {message, message};
      break;
    case kHold:
      held_.push_back(message);
      break;
    case kReplaceByEarlier:
      now = {Earlier()};
      break;
    case kInjectEarlier:
      now = {Earlier(), message};
      break;
    case kInjectMadeUp:
      now = {MadeUp(), message};
      break;
    case kReplaceByMadeUp:
      now = {MadeUp()};
      break;
    case kOtherBytes:
      now = {WithRightCheck(WithOtherBytes(message))};
      break;
    case kOtherBytesWrongCheck:
      now = {WithOtherBytes(message)};
      break;
    case kOtherField:
      now = {WithOtherField(message)};
      break;
    case kOtherPart: {
      absl::StatusOr<join::Message> decoded = join::Decode(message);
      join::Step* changed = decoded.ok() ? std::get_if<join::Step>(&*decoded) : nullptr;
      if (changed != nullptr) changed->message = WithOtherPart(changed->message);
      now = {changed != nullptr ? join::Encode(*decoded) : message};
      break;
    }
    default:
      now = {message};
  }
  if (sent_.size() < kMostKept) sent_.push_back(message);
  delivered.insert(delivered.begin(), now.begin(), now.end());
  return delivered;
}

std::vector<std::string> HostileWire::DeliverMore() {
  std::vector<std::string> delivered;
  std::swap(delivered, held_);
  if (!delivered.empty() || choices_->empty()) return delivered;
  delivered.push_back(choices_->Flag() ? Earlier() : MadeUp());
  return delivered;
}

}  // namespace rocksieve::fuzz
