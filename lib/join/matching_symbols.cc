#include "join/matching.h"

#include <algorithm>

#include "format/byte_io.h"
#include "format/golomb.h"
#include "join/matching_messages.h"

namespace rocksieve::join {
namespace {

constexpr RatelessFormat kSymbolFormat;
constexpr size_t kMostSymbols = size_t{1} << 26;

}  // namespace

//   symbols of the candidates' message hashes, as in rateless_iblt.h
void Matching::SendSymbols(size_t symbols, std::string* message) {
  if (encoder_ == nullptr) {
    symbols_salt_ = MessageSalt();
    encoder_ = std::make_unique<RatelessEncoder>(MessageHashes(symbols_salt_), kSymbolFormat);
  }
  const size_t sent = cells_.size();
  encoder_->ExtendTo(symbols, &cells_);
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kSymbols));
  WriteCells(cells_, sent, kSymbolFormat, &out);
  expected_ = Expected::kDifference;
}

absl::Status Matching::ReceiveSymbols(std::string_view body) {
  if (decoder_ == nullptr) {
    symbols_salt_ = MessageSalt();
    // More than enough, unless two keys have the same hash.
    enough_symbols_ = 2 * (candidates_.size() + static_cast<size_t>(their_count_)) + 500;
    decoder_ = std::make_unique<RatelessDecoder>(MessageHashes(symbols_salt_), kSymbolFormat,
                                                 2 * enough_symbols_);
  }
  ByteReader in(body);
  if (!decoder_->Consume(&in) || !in.Finished()) return Nonsense("damaged symbols, or too many");
  if (ending_ != MoveKind::kSketch) ending_ = MoveKind::kSymbols;
  expected_ = Expected::kDifference;
  return absl::OkStatus();
}

// Either a wish for more symbols:
//   varint how many
// or what the sender of the symbols alone has:
//   sum of the matched keys | the message hashes, sorted and Golomb-coded
void Matching::SendDifference(std::string* message) {
  ByteWriter out(message);
  if (!decoder_->done() && decoder_->symbols() < enough_symbols_) {
    out.U8(kMoreSymbolsMessage);
    out.Varint(decoder_->symbols() / 8 + 8);
    expected_ = Expected::kMoreSymbols;
    return;
  }
  // If nothing can be decoded, an empty difference, which the sums contradict.
  SetDifference difference = decoder_->done() ? decoder_->Difference() : SetDifference();
  DropNamed(difference.only_local);
  BringBack(&difference.only_remote);
  out.U8(kDifferenceMessage);
  SumOfCandidates().Write(&out);
  EncodeSorted(difference.only_remote, {}, 0, &out);
  expected_ = Expected::kVerdict;
}

absl::Status Matching::ReceiveMore(std::string_view body) {
  ByteReader in(body);
  symbols_wanted_ = static_cast<size_t>(in.Varint(cells_.size() + 64));
  if (!in.Finished() || cells_.size() > kMostSymbols) {
    return Nonsense("a wish for too many symbols");
  }
  expected_ = Expected::kMoreSymbols;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveDifference(std::string_view body) {
  ByteReader in(body);
  SortedValues named;
  if (!their_sum_.Read(&in) || !DecodeSorted(&in, UINT64_MAX, 0, candidates_.size(), &named) ||
      !in.Finished()) {
    return Nonsense("a damaged difference");
  }
  DropNamed(named.values);
  expected_ = Expected::kVerdict;
  return absl::OkStatus();
}

// Doubtful candidates that the other side has, and takes them off its list.
void Matching::BringBack(std::vector<uint64_t>* only_remote) {
  std::vector<uint64_t> brought_back;
  for (const Candidate& candidate : doubtful_) {
    const uint64_t hash = HashForStep(candidate.hash, symbols_salt_);
    if (!std::binary_search(only_remote->begin(), only_remote->end(), hash)) continue;
    candidates_.push_back(candidate);
    brought_back.push_back(hash);
  }
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.ordinal < b.ordinal; });
  std::sort(brought_back.begin(), brought_back.end());
  std::erase_if(*only_remote, [&brought_back](uint64_t hash) {
    return std::binary_search(brought_back.begin(), brought_back.end(), hash);
  });
}

// Candidates whose message hashes are among these, which are sorted.
void Matching::DropNamed(const std::vector<uint64_t>& names) {
  std::vector<uint8_t> keep(candidates_.size(), 1);
  for (size_t i = 0; i < candidates_.size(); i++) {
    const uint64_t hash = HashForStep(candidates_[i].hash, symbols_salt_);
    keep[i] = !std::binary_search(names.begin(), names.end(), hash);
  }
  Keep(keep);
}

}  // namespace rocksieve::join
