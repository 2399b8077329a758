#include <algorithm>

#include "lib/format/bit_coder.h"
#include "lib/format/byte_io.h"
#include "lib/format/golomb.h"
#include "lib/join/matching/matching.h"

namespace rocksieve::join {
namespace {

constexpr int kLeastIdBits = 32, kMostIdBits = 64;
// In a message, while it is put together, of 64 + 16 + 4 bits at most.
constexpr uint64_t kMostBytesOfASymbol = 2 * 11;

// Of a message of WriteCells; 0 if it does not have them.
uint64_t SymbolsIn(std::string_view cells) {
  ByteReader in(cells);
  in.Varint();
  return in.Varint(cells.size());
}

}  // namespace

uint64_t Matching::SymbolId(const Candidate& candidate) const {
  return symbol_format_.IdOf(HashForStep(candidate.hash, symbols_salt_));
}

//   u8 bits of an id | varint candidates of the sender | symbols of the candidates' part hashes, as
//   in rateless_iblt.h
absl::Status Matching::SendSymbols(size_t symbols, std::string* turn) {
  const auto mine = static_cast<double>(candidates_.size());
  if (encoder_ == nullptr) {
    symbols_salt_ = PartSalt();
    symbol_format_.id_bits = std::min(
        kMostIdBits, IdBitsFor(mine + their_count_, static_cast<double>(symbols)) + MoreHashBits());
    rateless_bytes_ = RatelessEncoder::kBytesPerKey * candidates_.size();
    const absl::Status room = Hold(StepBytes());
    if (!room.ok()) return room;
    encoder_ = std::make_unique<RatelessEncoder>(PartHashes(symbols_salt_), symbol_format_);
  }
  const size_t sent = cells_.size();
  symbols = std::max(symbols, sent);
  const uint64_t most = options_.most_message_bytes / kMostBytesOfASymbol;
  symbols =
      sent + static_cast<size_t>(std::min<uint64_t>(symbols - sent, std::max<uint64_t>(most, 1)));
  const absl::Status room =
      Hold(StepBytes() + symbols * sizeof(RatelessCell) + (symbols - sent) * kMostBytesOfASymbol);
  if (!room.ok()) return room;
  cells_.reserve(symbols);
  encoder_->ExtendTo(symbols, &cells_);
  std::string body;
  ByteWriter out(&body);
  out.U8(static_cast<uint8_t>(symbol_format_.id_bits));
  out.Varint(candidates_.size());
  WriteCells(cells_, sent, symbol_format_, &out);
  Append(Part::kSymbols, body, turn);
  expected_ = Expected::kDifference;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveSymbols(std::string_view body) {
  ByteReader in(body);
  const int id_bits = in.U8();
  const uint64_t their_candidates = ReadTheirCandidates(&in);
  if (!in.ok()) return Nonsense("symbols of more keys than it has");
  if (id_bits < kLeastIdBits || id_bits > kMostIdBits ||
      (decoder_ != nullptr && id_bits != symbol_format_.id_bits)) {
    return Nonsense("damaged symbols");
  }
  if (decoder_ == nullptr) {
    symbols_salt_ = PartSalt();
    symbol_format_.id_bits = id_bits;
    rateless_bytes_ = RatelessDecoder::kBytesPerKey * candidates_.size();
    const absl::Status room = Hold(StepBytes());
    if (!room.ok()) return room;
    // More than enough, unless two keys have the same hash.
    enough_symbols_ = 2 * (candidates_.size() + static_cast<size_t>(their_candidates)) + 500;
    decoder_ = std::make_unique<RatelessDecoder>(PartHashes(symbols_salt_), symbol_format_,
                                                 2 * enough_symbols_);
  }
  // Each has a byte at least: what it says beyond that, the decoder refuses.
  rateless_bytes_ += RatelessDecoder::kBytesPerSymbol * SymbolsIn(in.Peek());
  const absl::Status room = Hold(StepBytes());
  if (!room.ok()) return room;
  if (!decoder_->Consume(&in) || !in.Finished()) return Nonsense("damaged symbols, or too many");
  if (ending_ != MoveKind::kSketch) ending_ = MoveKind::kSymbols;
  expected_ = Expected::kDifference;
  return absl::OkStatus();
}

// At first a few more are enough; if not, the difference is far larger than was thought, nobody
// knows how much.
uint64_t Matching::SymbolsWanted() {
  const uint64_t had = decoder_->symbols();
  switch (wishes_++) {
    case 0:
      return had / 8 + 8;
    case 1:
      return had / 4 + 16;
    default:
      return std::min<uint64_t>(3 * had, enough_symbols_ - had + 8);  // had is below
  }
}

// Either a wish for more symbols:
//   varint how many
// or what the sender of the symbols alone has:
//   the ids, sorted and Golomb-coded | flags, one for each of its doubtful keys: it is matched
void Matching::SendDifference(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  if (!decoder_->done() && decoder_->symbols() < enough_symbols_) {
    out.Varint(SymbolsWanted());
    Append(Part::kMoreSymbols, body, turn);
    expected_ = Expected::kMoreSymbols;
    return;
  }
  // If nothing can be decoded, an empty difference, which the sums contradict.
  SetDifference difference = decoder_->done() ? decoder_->Difference() : SetDifference();
  BringBack(&difference.only_remote);
  const std::vector<uint8_t> hits = DropOwnUnlessDoubted(difference.only_local);
  EncodeSorted(difference.only_remote, {}, 0, &out);
  EncodeFlags(hits, &out);
  Append(Part::kDifference, body, turn);
  SendSumIfAnswering(turn);
}

absl::Status Matching::ReceiveMore(std::string_view body) {
  ByteReader in(body);
  symbols_wanted_ = static_cast<size_t>(in.Varint(4 * cells_.size() + 64));
  // An honest side gives up before, and begins anew (enough_symbols_).
  const double most = 3 * (options_.planner.keys.all_keys + options_.their_count) + 1000;
  if (!in.Finished() || static_cast<double>(cells_.size()) > most) {
    return Nonsense("a wish for too many symbols");
  }
  expected_ = Expected::kMoreSymbols;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveDifference(std::string_view body) {
  ByteReader in(body);
  SortedValues named;
  std::vector<uint8_t> hits;
  // Those that were listed as doubtful, in that order.
  const size_t listed = layer_ == 2 ? order_.size() : 0;
  if (!DecodeSorted(&in, UINT64_MAX, 0, candidates_.size(), &named) ||
      !DecodeFlags(&in, listed, &hits) || !in.Finished()) {
    return Nonsense("a damaged difference");
  }
  DropNamed(named.values);
  if (listed > 0) {
    Candidates matched;
    for (size_t i = 0; i < hits.size(); i++) {
      if (hits[i] != 0) matched.push_back(doubtful_[order_[i]]);
    }
    Return(matched);
  }
  expected_ = Expected::kSum;
  turn_goes_on_ = options_.asks;
  return absl::OkStatus();
}

// Doubtful candidates that the other side has, and takes them off its list.
void Matching::BringBack(std::vector<uint64_t>* only_remote) {
  std::vector<uint64_t> brought_back;
  Candidates matched, still_doubtful;
  for (const Candidate& candidate : doubtful_) {
    const uint64_t id = SymbolId(candidate);
    const bool theirs = std::binary_search(only_remote->begin(), only_remote->end(), id);
    (theirs ? matched : still_doubtful).push_back(candidate);
    if (theirs) brought_back.push_back(id);
  }
  doubtful_ = std::move(still_doubtful);
  Return(matched);
  std::sort(brought_back.begin(), brought_back.end());
  std::erase_if(*only_remote, [&brought_back](uint64_t id) {
    return std::binary_search(brought_back.begin(), brought_back.end(), id);
  });
}

std::vector<uint8_t> Matching::DropOwnUnlessDoubted(const std::vector<uint64_t>& only_local) {
  const std::vector<uint64_t>& listed = their_doubtful_.values;
  std::vector<uint8_t> hits(listed.size());
  auto is_listed = [&](const Candidate& candidate) {
    if (listed.empty()) return false;
    const uint64_t value = their_doubtful_.ValueOf(candidate);
    const auto found = std::lower_bound(listed.begin(), listed.end(), value);
    if (found == listed.end() || *found != value) return false;
    hits[static_cast<size_t>(found - listed.begin())] = 1;
    return true;
  };
  std::vector<uint8_t> keep(candidates_.size(), 1);
  for (size_t i = 0; i < candidates_.size(); i++) {
    const bool mine_alone =
        std::binary_search(only_local.begin(), only_local.end(), SymbolId(candidates_[i]));
    keep[i] = !mine_alone || is_listed(candidates_[i]);
  }
  Keep(keep);
  Candidates matched;
  for (const Candidate& candidate : doubtful_) {
    if (is_listed(candidate)) matched.push_back(candidate);
  }
  Return(matched);
  return hits;
}

// Candidates whose ids are among these, which are sorted.
void Matching::DropNamed(const std::vector<uint64_t>& ids) {
  std::vector<uint8_t> keep(candidates_.size(), 1);
  for (size_t i = 0; i < candidates_.size(); i++) {
    keep[i] = !std::binary_search(ids.begin(), ids.end(), SymbolId(candidates_[i]));
  }
  Keep(keep);
}

}  // namespace rocksieve::join
