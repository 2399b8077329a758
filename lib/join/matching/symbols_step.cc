// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/symbols_step.h"

#include <algorithm>
#include <utility>

#include "lib/format/bit_coder.h"
#include "lib/join/matching/list_step.h"

namespace rocksieve::join {
namespace {

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

//   what was set aside because of the second layer, as in candidates.h
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
  const absl::Status room = range_->HoldForWork(KeptBytes() + HashListMemoryBytes(body));
  if (!room.ok()) return room;
  ByteReader in(body);
  if (!ReadHashList(&in, range_->options.most_list_entries, range_->PartSalt(), &their_deferred_) ||
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
    const absl::Status room = range_->HoldForWork(KeptBytes());
    if (!room.ok()) return room;
    encoder_ = std::make_unique<RatelessEncoder>(range_->candidates.Hashes(salt_), format_);
  }
  const size_t sent = cells_.size();
  if (sent > 0) rateless_bytes_ = RatelessEncoder::kMostBytesPerKey * candidates;
  symbols = std::max(symbols, sent);
  const uint64_t most = range_->options.most_message_bytes / kMostBytesOfASymbol;
  symbols =
      sent + static_cast<size_t>(std::min<uint64_t>(symbols - sent, std::max<uint64_t>(most, 1)));
  const absl::Status room = range_->HoldForWork(KeptBytes() + 2 * symbols * sizeof(RatelessCell) +
                                                (symbols - sent) * kMostBytesOfASymbol);
  if (!room.ok()) return room;
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
    const absl::Status room = range_->HoldForWork(KeptBytes());
    if (!room.ok()) return room;
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
  const absl::Status room = range_->HoldForWork(KeptBytes());
  if (!room.ok()) return room;
  if (!decoder_->Consume(&in) || !in.Finished()) return Nonsense("damaged symbols, or too many");
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
