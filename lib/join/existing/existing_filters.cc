// SPDX-License-Identifier: Apache-2.0
#include "lib/join/existing/existing_filters.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/join/rows/row_batch.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// What may be paid for a first byte that no scan is waited for: its weight in bits is what a link
// of 20 Mbit/s carries in the meantime, but never more than this, since bytes are what a join is
// about.
constexpr double kLinkBitsPerSecond = 20e6;
constexpr double kScannedKeysPerSecond = 2e6;
constexpr double kMostBitsForTime = 8 * 10'000;
constexpr double kMostTimesAsDear = 1.05;
constexpr double kUselessPassRate = 0.5;
constexpr double kOverlaps[] = {0.9, 0.05, 0.5};

double BitsToReconcile(double mine, double theirs, double common, PlannerOptions options) {
  options.strategy = Strategy::kAuto;
  const TurnLimit limit{/*is_client=*/true, TurnsOf(options.most_round_trips, true)};
  return CheapestStep({mine, theirs, common, /*common_error=*/0}, limit, /*begun=*/{}, options)
      .bits();
}

double BitsWith(const ExistingFilterSide& sender, const ExistingFilterSide& receiver, double common,
                const PlannerOptions& options) {
  const double passed = std::max(1.0, common + sender.offer.pass_rate * (receiver.keys - common));
  // The side with fewer candidates begins.
  const auto [fewer, more] = std::minmax(passed, sender.keys);
  return 8 * static_cast<double>(sender.offer.bytes) +
         BitsToReconcile(fewer, more, common, options);
}

double BitsWithout(const ExistingFilterSide& client, const ExistingFilterSide& server,
                   double common, const PlannerOptions& options) {
  const auto [fewer, more] = std::minmax(client.keys, server.keys);
  return BitsToReconcile(fewer, more, common, options);
}

// Whether they are expected to take hardly more bytes than without, whatever the overlap. Overlaps
// at which the least is needed without come first, since pricing takes its time.
bool Pays(const ExistingFilterSide& sender, const ExistingFilterSide& receiver,
          const PlannerOptions& options) {
  const double fewer = std::min(sender.keys, receiver.keys);
  const double more = std::max(sender.keys, receiver.keys);
  if (fewer < 1 || sender.offer.pass_rate >= kUselessPassRate) return false;
  const double for_time =
      std::min(kMostBitsForTime, kLinkBitsPerSecond * more / kScannedKeysPerSecond);
  return std::all_of(std::begin(kOverlaps), std::end(kOverlaps), [&](double overlap) {
    const double common = overlap * fewer;
    return BitsWith(sender, receiver, common, options) <=
           kMostTimesAsDear * BitsWithout(sender, receiver, common, options) + for_time;
  });
}

bool Usable(const ExistingFilterSide& sender, const ExistingFilterSide& receiver) {
  return sender.offer.exists() && sender.offer.bytes <= receiver.accepted_bytes &&
         (sender.offer.formats & ~receiver.readable_formats) == 0;
}

}  // namespace

std::string_view Describe(ExistingFilterChoice choice) {
  // In the order of the enumeration.
  constexpr std::string_view kWords[] = {
      "not used: neither side has filters of whole keys in SST files", "used: the server's",
      "used: the client's", "not used: new filters are expected to take fewer bytes",
      "not used: too large for the other side, or of a format that it does not read",
      "not used: another strategy is forced, or sessions with several servers share a scan"};
  const auto index = static_cast<size_t>(choice);
  return index < std::size(kWords) ? kWords[index] : "unknown";
}

ExistingFilterChoice ChooseExistingFilters(const ExistingFilterSide& client,
                                           const ExistingFilterSide& server,
                                           const PlannerOptions& options) {
  const bool always = options.strategy == Strategy::kSstFilters;
  if (!WantsExistingFilters(options.strategy)) return ExistingFilterChoice::kNotWanted;
  if (!client.offer.exists() && !server.offer.exists()) return ExistingFilterChoice::kNotThere;
  const bool client_usable = Usable(client, server), server_usable = Usable(server, client);
  if (!client_usable && !server_usable) return ExistingFilterChoice::kUnusable;
  // The smaller ones, which drop more keys of the other side as well.
  const bool from_client =
      client_usable && (!server_usable || client.offer.bytes <= server.offer.bytes);
  const bool use =
      always || (from_client ? Pays(client, server, options) : Pays(server, client, options));
  if (!use) return ExistingFilterChoice::kTooDear;
  return from_client ? ExistingFilterChoice::kClient : ExistingFilterChoice::kServer;
}

// The rate is an estimate, and may be wrong by so much of it.
CommonKeys CommonAfterExistingFilters(double before, double passed, double pass_rate) {
  constexpr double kRateError = 0.3;
  if (pass_rate >= kUselessPassRate) return {passed / 2, passed / 4};
  return {std::clamp((passed - before * pass_rate) / (1 - pass_rate), 0.0, passed),
          std::min(passed / 2, kRateError * pass_rate * before + std::sqrt(passed))};
}

namespace {

constexpr uint64_t kBytesPerMember = 256;  // beside its keys and its block
// More filters within whose fences one key lies than any tree has runs: from there on every key may
// be there. Else a hostile side could make each key cost as much as all of its filters.
constexpr size_t kMostOpen = 512;

// All of a filter but its block: u8 format | string smallest | string largest.
std::string FrontOf(const ExistingFilter& filter) {
  std::string front;
  ByteWriter out(&front);
  out.U8(static_cast<uint8_t>(filter.format));
  out.String(filter.smallest);
  out.String(filter.largest);
  return front;
}

absl::Status Damaged() {
  return absl::InvalidArgumentError("the other side sent filters that cannot be taken apart");
}

}  // namespace

void AppendExistingFilter(const ExistingFilter& filter, std::string* out) {
  const std::string front = FrontOf(filter);
  ByteWriter writer(out);
  writer.Varint(front.size() + filter.block.size());
  writer.Bytes(front);
  writer.Bytes(filter.block);
}

bool ExistingFilterSet::Member::MayContain(std::string_view key) const {
  if (ours != nullptr) return ours->MayContain(key);
  return builtin == nullptr || builtin->MayContain(key);
}

bool ExistingFilterSet::Add(ExistingFilter filter) {
  if (filter.largest < filter.smallest || filter.smallest < covered_end()) return false;
  auto member = std::make_unique<Member>();
  member->filter = std::move(filter);
  const ExistingFilter& kept = member->filter;
  member->digest = HashKey(kept.block, HashKey(FrontOf(kept), DigestOf(size())));
  if (kept.format == FilterFormat::kOurs) {
    member->ours = OpenFilter(kept.block).filter;
  } else if (kept.format == FilterFormat::kRocksDbBuiltin && decode_builtin_) {
    member->builtin = decode_builtin_(kept.block);
  }
  bytes_ += BytesOf(kept);
  members_.push_back(std::move(member));
  return true;
}

uint64_t ExistingFilterSet::BytesOf(const ExistingFilter& filter) {
  return filter.smallest.size() + filter.largest.size() + filter.block.size() + kBytesPerMember;
}

bool ExistingFilterSet::Sweep::MayContain(std::string_view key) {
  if (crowded_) return true;
  for (; next_ < set_.members_.size() && set_.members_[next_]->filter.smallest <= key; next_++) {
    open_.push_back(set_.members_[next_].get());
  }
  bool may_contain = false;
  size_t kept = 0;
  for (const Member* member : open_) {
    if (member->filter.largest < key) continue;
    open_[kept++] = member;
    if (!may_contain) may_contain = member->MayContain(key);
  }
  open_.resize(kept);
  crowded_ = kept > kMostOpen;
  return may_contain || crowded_;
}

absl::Status ExistingFilterAssembler::Hold(uint64_t more_bytes) {
  return memory_->Resize(set_->bytes() + buffer_.capacity() + more_bytes, "filters of SST files");
}

absl::Status ExistingFilterAssembler::Add(std::string_view piece) {
  // A buffer that grows doubles.
  RETURN_IF_ERROR(Hold(2 * (buffer_.size() + piece.size())));
  buffer_.append(piece);
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    ByteReader in(rest);
    const uint64_t bytes = in.Varint();
    if (!in.ok()) {
      if (rest.size() >= kMaxVarintBytes) return Damaged();
      break;  // the length itself is cut
    }
    if (bytes > most_bytes_ || set_->bytes() > most_bytes_ - bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the other side sends filters of more than the ", most_bytes_,
                       " bytes that this side said it takes"));
    }
    if (in.remaining() < bytes) break;
    RETURN_IF_ERROR(AddFilter(in.Bytes(bytes)));
    rest = in.Peek();
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return Hold(0);
}

absl::Status ExistingFilterAssembler::AddFilter(std::string_view bytes) {
  ByteReader in(bytes);
  ExistingFilter filter;
  filter.format = static_cast<FilterFormat>(in.U8());
  // The filter, beside its bytes.
  RETURN_IF_ERROR(Hold(bytes.size() + ExistingFilterSet::BytesOf(filter)));
  filter.smallest = in.String(kMostKeyBytes);
  filter.largest = in.String(kMostKeyBytes);
  filter.block = in.Rest();
  return in.ok() && set_->Add(std::move(filter)) ? absl::OkStatus() : Damaged();
}

namespace {

constexpr size_t kPieceBytes = 128 << 10;
constexpr uint64_t kBytesBetweenRanges = 1 << 20;

}  // namespace

ExistingFilterOffer ExistingFilterExchange::Offer(const KeyInterval& interval) {
  reader_ = source_->ExistingFilters(interval);
  if (reader_ == nullptr) return {};
  const ExistingFilterOffer offer = reader_->Offer();
  // They are kept here as well, to be held against this side's own keys.
  const bool usable =
      offer.bytes <= options_.most_bytes && (offer.formats & ~options_.readable_formats()) == 0;
  return usable ? offer : ExistingFilterOffer();
}

void ExistingFilterExchange::BeginSending(uint64_t most_bytes) {
  role_ = Role::kSender;
  most_bytes_ = std::min(most_bytes, options_.most_bytes);
}

void ExistingFilterExchange::BeginReceiving() {
  role_ = Role::kReceiver;
  assembler_ = std::make_unique<ExistingFilterAssembler>(&set_, options_.most_bytes, &memory_);
}

void ExistingFilterExchange::Withdraw() {
  withdrawn_ = true;
  reader_.reset();
}

bool ExistingFilterExchange::Next(Filters* message) {
  if (role_ != Role::kSender || withdrawn_ || reader_ == nullptr) return false;
  if (!has_unsent()) {
    unsent_.clear();
    sent_ = 0;
  }
  while (sent_ == 0 && unsent_.size() < kPieceBytes && !set_.complete()) {
    ExistingFilter filter;
    if (!reader_->Next(&filter)) {
      set_.Complete();
      break;
    }
    AppendExistingFilter(filter, &unsent_);
    // An estimate was too low, or the source contradicts itself.
    const uint64_t bytes = ExistingFilterSet::BytesOf(filter);
    const bool fits = set_.bytes() + bytes <= most_bytes_ &&
                      memory_.Resize(set_.bytes() + 2 * bytes, "filters of SST files").ok();
    if (!fits || !set_.Add(std::move(filter))) {
      message->state = Filters::State::kWithdrawn;
      Withdraw();
      return true;
    }
  }
  if (reader_->failed()) {
    message->state = Filters::State::kWithdrawn;
    Withdraw();
    return true;
  }
  message->piece = unsent_.substr(sent_, kPieceBytes);
  sent_ += message->piece.size();
  bytes_ += message->piece.size();
  if (set_.complete() && sent_ == unsent_.size()) {
    message->state = Filters::State::kLast;
    reader_.reset();
  }
  return true;
}

bool ExistingFilterExchange::MayOpen(const std::string& begin, std::optional<std::string>* end) {
  if (finished()) return true;
  if (bytes_ < bytes_when_opened_ + kBytesBetweenRanges || set_.covered_end() <= begin) {
    return false;
  }
  bytes_when_opened_ = bytes_;
  if (!*end || **end > set_.covered_end()) *end = std::string(set_.covered_end());
  return true;
}

absl::Status ExistingFilterExchange::Receive(const Filters& message) {
  if (role_ == Role::kReceiver && message.state == Filters::State::kWithdrawn) {
    Withdraw();
    return absl::OkStatus();
  }
  if (role_ != Role::kReceiver || set_.complete()) {
    return absl::InvalidArgumentError("the other side sent filters that it was not asked for");
  }
  if (withdrawn_) return absl::OkStatus();  // they were on their way
  bytes_ += message.piece.size();
  RETURN_IF_ERROR(assembler_->Add(message.piece));
  if (message.state != Filters::State::kLast) return absl::OkStatus();
  if (!assembler_->AtBoundary()) {
    return absl::InvalidArgumentError("the other side's last filter is cut");
  }
  set_.Complete();
  return absl::OkStatus();
}

}  // namespace rocksieve::join
