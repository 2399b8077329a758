// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/endings.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "lib/format/bit_coder.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/rows/row_batch.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kBytesPerFlag = 2;  // of a vector that grows

// Candidates by their hashes: 16 to 32 bytes for each. A slot has a part of the hash beside the
// index, so that a hash that is not there is hardly ever looked up in the candidates; those that
// are, in the order of keys, lie next to each other.
class HashIndex {
 public:
  explicit HashIndex(const Candidates& candidates)
      : candidates_(candidates),
        slots_(std::bit_ceil(2 * candidates.size() + 1), 0),
        mask_(slots_.size() - 1) {
    for (uint32_t i = 0; i < candidates.size(); i++) {
      const uint64_t low = candidates[i].hash.low;
      uint64_t at = low & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = (low & kTag) | (uint64_t{i} + 1);
    }
  }
  std::optional<uint32_t> Find(const KeyHash128& hash) const {
    for (uint64_t at = hash.low & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
      if ((slots_[at] & kTag) != (hash.low & kTag)) continue;
      const auto index = static_cast<uint32_t>((slots_[at] & ~kTag) - 1);
      if (candidates_[index].hash == hash) return index;
    }
    return std::nullopt;
  }

 private:
  static constexpr uint64_t kTag = ~uint64_t{UINT32_MAX};

  const Candidates& candidates_;
  PageVector<uint64_t> slots_;
  const uint64_t mask_;
};

constexpr int kLeastBitsOfAnId = 32, kMostBitsOfAnId = 64;
// In a message, while it is put together, of 64 + 16 + 4 bits at most.
constexpr uint64_t kMostBytesOfASymbol = 2 * 11;

// Of a message of WriteCells; 0 if it does not have them.
uint64_t SymbolsIn(std::string_view cells) {
  ByteReader in(cells);
  in.Varint();
  return in.Varint(cells.size());
}

}  // namespace

//   the candidates, as in matching_range.h
void ListStep::SendList(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  WriteHashList(range_->candidates.all(), ListBitsFor(range_->their_count) + range_->MoreHashBits(),
                range_->PartSalt(), &out, &order_);
  range_->Append(Part::kList, body, step);
  sent_list_ = true;
}

absl::Status ListStep::ReceiveList(std::string_view body) {
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes() + HashListMemoryBytes(body)));
  ByteReader in(body);
  ShortHashes list;
  if (!ReadHashList(&in, range_->TheirKeys(), range_->PartSalt(), &list) || !in.Finished()) {
    return Nonsense("a damaged list");
  }
  const Candidates& candidates = range_->candidates.all();
  matched_.assign(list.values.size(), 0);
  PageVector<uint8_t> keep(candidates.size(), 0);
  size_t next = 0;
  for (const auto& [value, candidate] : SortedShortHashes(candidates, list)) {
    while (next < list.values.size() && list.values[next] < value) next++;
    for (size_t i = next; i < list.values.size() && list.values[i] == value; i++) {
      matched_[i] = keep[candidate] = 1;
    }
  }
  range_->candidates.Keep(keep);
  range_->counts.their_candidates = list.values.size();
  return absl::OkStatus();
}

//   the keys of the candidates, as in row_batch.h
absl::Status ListStep::SendKeys(const KeyReader& reader, std::string* step) {
  const Candidates& candidates = range_->candidates.all();
  PageVector<uint32_t> ordinals(candidates.size());
  order_.resize(candidates.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates[i].ordinal;
  std::string body;
  const PlannerOptions& planner = range_->options.planner;
  const absl::Status status =
      reader(ordinals, BestCompression(range_->estimate(), planner.keys, planner.weights),
             range_->options.most_message_bytes, &body);
  range_->Append(Part::kKeys, body, step);
  sent_list_ = true;
  return status;
}

absl::Status ListStep::ReceiveKeys(std::string_view body) {
  const MatchingOptions& options = range_->options;
  const uint64_t own_longest = std::min(options.longest_key_bytes, kMostKeyBytes);
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes() + UncompressMemoryBytes(body) + own_longest +
                                      kBytesPerFlag * range_->TheirKeys()));
  const Candidates& candidates = range_->candidates.all();
  const HashIndex index(candidates);
  PageVector<uint8_t> keep(candidates.size(), 0);
  const auto find = [&](std::string_view key) {
    const std::optional<uint32_t> found = index.Find(HashKey128(key, options.salt));
    if (found) keep[*found] = 1;
    return found.has_value();
  };
  const absl::Status status = ReadKeyList(
      body, range_->TheirKeys(), options.longest_key_bytes,
      [&](std::optional<std::string_view> key) { matched_.push_back(key && find(*key)); });
  range_->candidates.Keep(keep);
  range_->counts.their_candidates = matched_.size();
  return status;
}

//   flags, one per entry of the list
void ListStep::Send(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  EncodeFlags(matched_, &out);
  range_->Append(Part::kMatchBitmap, body, step);
}

absl::Status ListStep::Receive(Part part, std::string_view body) {
  if (part != Part::kMatchBitmap || !sent_list_) return OutOfTurn(part);
  ByteReader in(body);
  PageVector<uint8_t> bitmap;
  if (!DecodeFlags(&in, order_.size(), &bitmap) || !in.Finished())
    return Nonsense("a damaged match bitmap");
  PageVector<uint8_t> keep(range_->candidates.size(), 0);
  for (size_t i = 0; i < bitmap.size(); i++) keep[order_[i]] = bitmap[i];
  range_->candidates.Keep(keep);
  return absl::OkStatus();
}

SymbolsStep::SymbolsStep(MatchingRange* range, std::optional<SketchOutcome> sketch)
    : range_(range),
      sketch_(sketch),
      expected_(sketch && sketch->second_layer ? Expected::kDeferredKeys : Expected::kSymbols) {}

uint64_t SymbolsStep::KeptBytes() const {
  return VectorBytes(listed_) + VectorBytes(their_deferred_.values) + VectorBytes(cells_) +
         rateless_bytes_;
}

absl::Status SymbolsStep::SendFirst(std::string* step) {
  if (!sketch_) {
    const RangeEstimate now = range_->estimate();
    return SendSymbols(static_cast<size_t>(SymbolsFor(now.differences() + 2.6 * now.common_error)),
                       step);
  }
  if (sketch_->second_layer) SendDeferredKeys(step);
  return SendSymbols(static_cast<size_t>(SymbolsForRest(sketch_->differences)), step);
}

absl::Status SymbolsStep::Send(std::string* step) {
  if (encoder_ != nullptr) return SendSymbols(cells_.size() + symbols_wanted_, step);
  SendDifference(step);
  return absl::OkStatus();
}

absl::Status SymbolsStep::Receive(Part part, std::string_view body) {
  const bool is_sender = encoder_ != nullptr;
  switch (expected_) {
    case Expected::kDeferredKeys:
      if (part == Part::kDeferredKeys) return ReceiveDeferredKeys(body);
      break;
    case Expected::kSymbols:
      if (part == Part::kSymbols) return ReceiveSymbols(body);
      break;
    case Expected::kMoreSymbols:
      if (part == Part::kSymbols && !is_sender) return ReceiveSymbols(body);
      break;
    case Expected::kDifference:
      if (part == Part::kMoreSymbols && is_sender) return ReceiveMore(body);
      if (part == Part::kDifference && is_sender) return ReceiveDifference(body);
      break;
    case Expected::kNothing:
      break;
  }
  return OutOfTurn(part);
}

//   what was set aside because of the second layer, as in matching_range.h
void SymbolsStep::SendDeferredKeys(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  const double may_be_asked_for = sketch_->their_deferred_count + sketch_->differences + 1;
  Candidates deferred;
  deferred.reserve(range_->deferred.size());
  for (const uint32_t position : range_->deferred) {
    deferred.push_back(range_->candidates.At(position));
  }
  WriteHashList(deferred, ListBitsFor(10 * may_be_asked_for) + range_->MoreHashBits(),
                range_->PartSalt(), &out, &listed_);
  range_->Append(Part::kDeferredKeys, body, step);
}

absl::Status SymbolsStep::ReceiveDeferredKeys(std::string_view body) {
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes() + HashListMemoryBytes(body)));
  ByteReader in(body);
  if (!ReadHashList(&in, range_->TheirKeys(), range_->PartSalt(), &their_deferred_) ||
      !in.Finished()) {
    return Nonsense("a damaged list of deferred keys");
  }
  expected_ = Expected::kSymbols;
  return absl::OkStatus();
}

uint64_t SymbolsStep::IdOf(const Candidate& candidate) const {
  return format_.IdOf(HashForStep(candidate.hash, salt_));
}

//   u8 bits of an id | varint candidates of the sender | symbols of the candidates' part hashes, as
//   in rateless_iblt.h
absl::Status SymbolsStep::SendSymbols(size_t symbols, std::string* step) {
  const size_t candidates = range_->candidates.size();
  if (encoder_ == nullptr) {
    salt_ = range_->PartSalt();
    const double keys_of_both = static_cast<double>(candidates) + range_->their_count;
    format_.id_bits =
        std::min(kMostBitsOfAnId,
                 IdBitsFor(keys_of_both, static_cast<double>(symbols)) + range_->MoreHashBits());
    rateless_bytes_ = RatelessEncoder::kBytesPerKey * candidates;
    RETURN_IF_ERROR(range_->HoldForWork(KeptBytes()));
    encoder_ = std::make_unique<RatelessEncoder>(range_->candidates.Hashes(salt_), format_);
  }
  const size_t sent = cells_.size();
  if (sent > 0) rateless_bytes_ = RatelessEncoder::kMostBytesPerKey * candidates;
  symbols = std::max(symbols, sent);
  const uint64_t most = range_->options.most_message_bytes / kMostBytesOfASymbol;
  symbols =
      sent + static_cast<size_t>(std::min<uint64_t>(symbols - sent, std::max<uint64_t>(most, 1)));
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes() + 2 * symbols * sizeof(RatelessCell) +
                                      (symbols - sent) * kMostBytesOfASymbol));
  cells_.reserve(symbols);
  encoder_->ExtendTo(symbols, &cells_);
  std::string body;
  ByteWriter out(&body);
  out.U8(static_cast<uint8_t>(format_.id_bits));
  out.Varint(candidates);
  WriteCells(cells_, sent, format_, &out);
  range_->Append(Part::kSymbols, body, step);
  expected_ = Expected::kDifference;
  return absl::OkStatus();
}

absl::Status SymbolsStep::ReceiveSymbols(std::string_view body) {
  ByteReader in(body);
  const int id_bits = in.U8();
  const uint64_t their_candidates = range_->ReadTheirCandidates(&in);
  if (!in.ok()) return Nonsense("symbols of more keys than it has");
  if (id_bits < kLeastBitsOfAnId || id_bits > kMostBitsOfAnId ||
      (decoder_ != nullptr && id_bits != format_.id_bits)) {
    return Nonsense("damaged symbols");
  }
  if (decoder_ == nullptr) {
    const size_t candidates = range_->candidates.size();
    salt_ = range_->PartSalt();
    format_.id_bits = id_bits;
    rateless_bytes_ = RatelessEncoder::kBytesPerKey * candidates;
    RETURN_IF_ERROR(range_->HoldForWork(KeptBytes()));
    // More than enough, unless two keys have the same hash.
    enough_symbols_ = 2 * (candidates + static_cast<size_t>(their_candidates)) + 500;
    decoder_ = std::make_unique<RatelessDecoder>(range_->candidates.Hashes(salt_), format_,
                                                 2 * enough_symbols_);
  }
  if (decoder_->symbols() > 0 && requests_ == 1) {
    rateless_bytes_ += (RatelessEncoder::kMostBytesPerKey - RatelessEncoder::kBytesPerKey) *
                       range_->candidates.size();
  }
  // Each has a byte at least: what it says beyond that, the decoder refuses.
  rateless_bytes_ += RatelessDecoder::kBytesPerSymbol * SymbolsIn(in.Peek());
  RETURN_IF_ERROR(range_->HoldForWork(KeptBytes()));
  const size_t had = decoder_->symbols();
  if (!decoder_->Consume(&in) || !in.Finished()) return Nonsense("damaged symbols, or too many");
  if (decoder_->symbols() == had) return Nonsense("no symbols");
  expected_ = Expected::kDifference;
  return absl::OkStatus();
}

// At first a few more are enough; if not, the difference is far larger than was thought, nobody
// knows how much.
size_t SymbolsStep::SymbolsWanted() {
  const size_t had = decoder_->symbols();
  switch (requests_++) {
    case 0:
      return had / 8 + 8;
    case 1:
      return had / 4 + 16;
    default:
      return std::min(3 * had, enough_symbols_ - had + 8);  // had is below
  }
}

// Either a request for more symbols:
//   varint how many
// or what the sender of the symbols alone has:
//   the ids, sorted and Golomb-coded | flags, one for each of its deferred keys: it is matched
void SymbolsStep::SendDifference(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  if (!decoder_->done() && decoder_->symbols() < enough_symbols_) {
    out.Varint(SymbolsWanted());
    range_->Append(Part::kMoreSymbols, body, step);
    expected_ = Expected::kMoreSymbols;
    return;
  }
  // If nothing can be decoded, an empty difference, which the sums contradict.
  SetDifference difference = decoder_->done() ? decoder_->Difference() : SetDifference();
  const std::vector<uint8_t> bitmap = DropOwnUnlessDeferred(&difference);
  EncodeSorted(difference.only_remote, {}, 0, &out);
  EncodeFlags(bitmap, &out);
  range_->Append(Part::kDifference, body, step);
  expected_ = Expected::kNothing;
}

absl::Status SymbolsStep::ReceiveMore(std::string_view body) {
  ByteReader in(body);
  symbols_wanted_ = static_cast<size_t>(in.Varint(4 * cells_.size() + 64));
  // An honest side gives up before, and begins anew (enough_symbols_).
  const double keys_of_both = range_->options.planner.keys.all_keys + range_->options.their_count;
  const double most = 3 * keys_of_both + 1000;
  if (!in.Finished() || static_cast<double>(cells_.size()) > most) {
    return Nonsense("a request for too many symbols");
  }
  expected_ = Expected::kMoreSymbols;
  return absl::OkStatus();
}

absl::Status SymbolsStep::ReceiveDifference(std::string_view body) {
  ByteReader in(body);
  SortedValues named;
  PageVector<uint8_t> bitmap;
  if (!DecodeSorted(&in, UINT64_MAX, 0, range_->candidates.size(), &named) ||
      !DecodeFlags(&in, listed_.size(), &bitmap) || !in.Finished()) {
    return Nonsense("a damaged difference");
  }
  Drop(named.values, *encoder_, [](const Candidate&) { return false; });
  for (size_t i = 0; i < bitmap.size(); i++) {
    if (bitmap[i] != 0) range_->candidates.PutBack(range_->deferred[listed_[i]]);
  }
  expected_ = Expected::kNothing;
  return absl::OkStatus();
}

// Deferred candidates that the other side has, and takes them off its list.
void SymbolsStep::BringBack(std::vector<uint64_t>* only_remote) {
  std::vector<uint64_t> brought_back;
  std::erase_if(range_->deferred, [&](uint32_t position) {
    const uint64_t id = IdOf(range_->candidates.At(position));
    if (!std::binary_search(only_remote->begin(), only_remote->end(), id)) return false;
    range_->candidates.PutBack(position);
    brought_back.push_back(id);
    return true;
  });
  std::sort(brought_back.begin(), brought_back.end());
  std::erase_if(*only_remote, [&brought_back](uint64_t id) {
    return std::binary_search(brought_back.begin(), brought_back.end(), id);
  });
}

std::vector<uint8_t> SymbolsStep::DropOwnUnlessDeferred(SetDifference* difference) {
  const std::vector<uint64_t>& listed = their_deferred_.values;
  std::vector<uint8_t> bitmap(listed.size());
  auto is_listed = [&](const Candidate& candidate) {
    if (listed.empty()) return false;
    const uint64_t value = their_deferred_.ValueOf(candidate);
    const auto found = std::lower_bound(listed.begin(), listed.end(), value);
    if (found == listed.end() || *found != value) return false;
    bitmap[static_cast<size_t>(found - listed.begin())] = 1;
    return true;
  };
  Drop(difference->only_local, decoder_->own(), is_listed);
  BringBack(&difference->only_remote);
  for (const uint32_t position : range_->deferred) {
    const CandidateSet& candidates = range_->candidates;
    if (is_listed(candidates.At(position))) range_->candidates.PutBack(position);
  }
  return bitmap;
}

template <typename IsKept>
void SymbolsStep::Drop(const std::vector<uint64_t>& sorted_ids, const RatelessEncoder& own,
                       IsKept is_kept) {
  const IdList list(sorted_ids);
  const PageVector<uint64_t>& ids = own.ids();
  PageVector<uint8_t> keep(ids.size(), 1);
  size_t next = 0;
  range_->candidates.ForEach([&](const Candidate& candidate) {
    const size_t i = next++;
    if (list.Has(ids[i])) keep[i] = is_kept(candidate);
  });
  range_->candidates.TakeOut(keep);
}

}  // namespace rocksieve::join
