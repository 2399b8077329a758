#include "join/matching.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <absl/strings/str_cat.h>

#include <rocksieve/filter.h>

#include "filter/hashed_filter.h"
#include "format/bit_coder.h"
#include "format/byte_io.h"
#include "format/golomb.h"
#include "join/key_list.h"

namespace rocksieve::join {
namespace {

constexpr int kMostColumns = 32;
constexpr int kMostListBits = 40;
// What is not a MoveKind.
constexpr uint8_t kHits = 0x10, kVerdict = 0x11, kDifference = 0x12, kMoreSymbols = 0x13;
constexpr uint8_t kMarks = 0x14, kMoreParity = 0x15, kParity = 0x16;
constexpr uint64_t kMostSketchMemoryBytes = uint64_t{1} << 30;
constexpr uint64_t kMostParitySymbols = uint64_t{1} << 24;
constexpr RatelessFormat kSymbolFormat;
constexpr size_t kMostSymbols = size_t{1} << 26;
constexpr uint64_t kMostRawKeyBytes = uint64_t{1} << 31;

absl::Status Nonsense(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the other side sent ", what));
}

// Of a list of `entries` with `bits` more than tell them apart.
uint64_t ListUniverse(uint64_t entries, int bits) { return std::max<uint64_t>(1, entries) << bits; }

uint64_t ListValue(const Candidate& candidate, uint64_t salt, uint64_t universe) {
  return MultiplyHigh64(HashForStep(candidate.hash, salt), universe);
}

}  // namespace

Matching::Matching(Candidates candidates, const Options& options, KeyReader* reader)
    : options_(options),
      summer_(options.salt),
      reader_(reader),
      candidates_(std::move(candidates)),
      their_count_(options.their_count),
      common_(options.common),
      their_count_is_exact_(options.their_count_is_exact),
      state_(options.begins ? State::kMyTurn : State::kTheirTurn) {}

uint64_t Matching::MessageSalt() const { return SplitMix64(options_.salt, messages_); }

SetSum Matching::SumOfCandidates() const {
  SetSum sum;
  for (const Candidate& candidate : candidates_) summer_.Add(candidate.hash, &sum);
  return sum;
}

std::vector<uint64_t> Matching::MessageHashes(uint64_t salt) const {
  std::vector<uint64_t> hashes;
  hashes.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    hashes.push_back(HashForStep(candidate.hash, salt));
  }
  return hashes;
}

void Matching::Keep(const std::vector<uint8_t>& keep) {
  size_t kept = 0;
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] != 0) candidates_[kept++] = candidates_[i];
  }
  candidates_.resize(kept);
}

absl::Status Matching::TakeTurn(std::string* message) {
  absl::Status status;
  state_ = State::kTheirTurn;
  switch (expected_) {
    case Expected::kMove: {
      // A list of none settles what has no candidates left, at either side.
      Move move;
      if (candidates_.empty() || (their_count_is_exact_ && their_count_ == 0)) {
        candidates_.clear();
      } else {
        move = CheapestMove(
            {static_cast<double>(candidates_.size()), std::max(1.0, their_count_), common_},
            options_.planner);
      }
      if (move.kind == MoveKind::kFilter) {
        status = SendFilter(move.columns, message);
        break;
      }
      ending_ = move.kind;
      expected_ = Expected::kHits;
      if (move.kind == MoveKind::kKeys) {
        status = SendKeys(message);
      } else if (move.kind == MoveKind::kSymbols) {
        SendSymbols(static_cast<size_t>(SymbolsFor(Differences())), message);
      } else if (move.kind == MoveKind::kSketch) {
        SendSketch(move.cells_log2, message);
      } else {
        SendList(message);
      }
      break;
    }
    case Expected::kHits:
      SendHits(message);
      expected_ = Expected::kVerdict;
      break;
    case Expected::kMarks:
      SendMarks(message);
      break;
    case Expected::kParity:
      message->assign(1, static_cast<char>(kParity));
      message->append(parity_);
      expected_ = Expected::kMarks;
      break;
    case Expected::kSymbols:
      SendSymbols(static_cast<size_t>(SymbolsFor(left_by_sketch_)), message);
      break;
    case Expected::kDifference:
      SendDifference(message);
      break;
    case Expected::kMoreSymbols:
      SendSymbols(cells_.size() + symbols_wanted_, message);
      break;
    case Expected::kVerdict:
      SendVerdict(message);
      break;
  }
  messages_++;
  return status;
}

absl::Status Matching::Receive(std::string_view message) {
  ByteReader in(message);
  const uint8_t kind = in.U8();
  const std::string_view body = in.Rest();
  state_ = State::kMyTurn;
  absl::Status status = Nonsense(absl::StrCat("a message of the kind ", kind, " out of turn"));
  if (expected_ == Expected::kMove) {
    if (kind == static_cast<uint8_t>(MoveKind::kFilter)) status = ReceiveFilter(body);
    if (kind == static_cast<uint8_t>(MoveKind::kList)) status = ReceiveList(body);
    if (kind == static_cast<uint8_t>(MoveKind::kKeys)) status = ReceiveKeys(body);
    if (kind == static_cast<uint8_t>(MoveKind::kSymbols)) status = ReceiveSymbols(body);
    if (kind == static_cast<uint8_t>(MoveKind::kSketch)) status = ReceiveSketch(body);
  } else if (expected_ == Expected::kMarks && kind == kMoreParity) {
    status = ReceiveParityRequest(body);
  } else if (expected_ == Expected::kMarks && kind == kMarks) {
    status = ReceiveMarks(body);
  } else if (expected_ == Expected::kParity && kind == kParity) {
    status = ReceiveParity(body);
  } else if ((expected_ == Expected::kMoreSymbols || expected_ == Expected::kSymbols) &&
             kind == static_cast<uint8_t>(MoveKind::kSymbols)) {
    status = ReceiveSymbols(body);
  } else if (expected_ == Expected::kDifference && kind == kMoreSymbols) {
    status = ReceiveMore(body);
  } else if (expected_ == Expected::kDifference && kind == kDifference) {
    status = ReceiveDifference(body);
  } else if (expected_ == Expected::kHits && kind == kHits) {
    status = ReceiveHits(body);
  } else if (expected_ == Expected::kVerdict && kind == kVerdict) {
    status = ReceiveVerdict(body);
  }
  messages_++;
  return status;
}

//   u8 columns | varint candidates of the sender | filter block over their message hashes
absl::Status Matching::SendFilter(int columns, std::string* message) {
  FilterSpec spec;
  spec.family = Family::kRibbon;
  spec.unit = FilterSpec::Unit::kFalsePositiveRate;
  spec.amount = std::ldexp(1.0, -columns);
  HashList hashes;
  const uint64_t salt = MessageSalt();
  for (const Candidate& candidate : candidates_)
    hashes.push_back(HashForStep(candidate.hash, salt));
  const FilterBlock block = BuildFilterOfHashes(spec, std::move(hashes));
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kFilter));
  out.U8(static_cast<uint8_t>(columns));
  out.Varint(candidates_.size());
  out.Bytes(block.view());
  counts_.filters_sent++;
  // What the other side will have left.
  their_count_is_exact_ = false;
  their_count_ = common_ + std::ldexp(std::max(0.0, their_count_ - common_), -columns);
  return absl::OkStatus();
}

absl::Status Matching::ReceiveFilter(std::string_view body) {
  ByteReader in(body);
  const int columns = in.U8();
  const uint64_t their_candidates = in.Varint(UINT32_MAX);
  const std::string_view block = in.Rest();
  if (!in.ok() || columns < 1 || columns > kMostColumns) return Nonsense("a damaged filter");
  const OpenedFilter opened = OpenFilter(block);
  if (opened.filter == nullptr) return Nonsense("a filter that cannot be read");
  const uint64_t salt = MessageSalt();
  std::vector<uint8_t> passes(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); i++) {
    passes[i] = opened.filter->MayContainHash(HashForStep(candidates_[i].hash, salt));
  }
  const auto before = static_cast<double>(candidates_.size());
  Keep(passes);
  counts_.filters_received++;
  counts_.candidates_pruned += static_cast<uint64_t>(before) - candidates_.size();
  their_count_ = static_cast<double>(their_candidates);
  their_count_is_exact_ = true;
  common_ = CommonAfterFilter(before, static_cast<double>(candidates_.size()), columns);
  return absl::OkStatus();
}

//   u8 bits | values of the candidates below entries * 2^bits, sorted and Golomb-coded
void Matching::SendList(std::string* message) {
  const int bits = ListBitsFor(their_count_);
  const uint64_t universe = ListUniverse(candidates_.size(), bits);
  const uint64_t salt = MessageSalt();
  std::vector<std::pair<uint64_t, uint32_t>> entries;
  entries.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) {
    entries.emplace_back(ListValue(candidates_[i], salt, universe), i);
  }
  std::sort(entries.begin(), entries.end());
  std::vector<uint64_t> values;
  values.reserve(entries.size());
  order_.clear();
  for (const auto& [value, candidate] : entries) {
    values.push_back(value);
    order_.push_back(candidate);
  }
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kList));
  out.U8(static_cast<uint8_t>(bits));
  EncodeSorted(values, {}, 0, &out);
}

absl::Status Matching::ReceiveList(std::string_view body) {
  ByteReader in(body);
  const int bits = in.U8();
  if (bits > kMostListBits) return Nonsense("a damaged list");
  SortedValues list;
  if (!DecodeSorted(&in, UINT64_MAX, 0, options_.most_list_entries, &list) || !in.Finished()) {
    return Nonsense("a damaged list");
  }
  const uint64_t universe = ListUniverse(list.values.size(), bits);
  const uint64_t salt = MessageSalt();
  std::vector<std::pair<uint64_t, uint32_t>> mine;
  mine.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) {
    mine.emplace_back(ListValue(candidates_[i], salt, universe), i);
  }
  std::sort(mine.begin(), mine.end());
  hits_.assign(list.values.size(), 0);
  std::vector<uint8_t> keep(candidates_.size());
  size_t next = 0;
  for (const auto& [value, candidate] : mine) {
    while (next < list.values.size() && list.values[next] < value) next++;
    for (size_t i = next; i < list.values.size() && list.values[i] == value; i++) {
      hits_[i] = keep[candidate] = 1;
    }
  }
  Keep(keep);
  ending_ = MoveKind::kList;
  expected_ = Expected::kHits;
  return absl::OkStatus();
}

//   the keys of the candidates, as in key_list.h
absl::Status Matching::SendKeys(std::string* message) {
  std::vector<uint32_t> ordinals(candidates_.size());
  order_.resize(candidates_.size());
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = 0; i < ordinals.size(); i++) ordinals[i] = candidates_[i].ordinal;
  ByteWriter(message).U8(static_cast<uint8_t>(MoveKind::kKeys));
  return reader_->AppendKeys(ordinals, message);
}

absl::Status Matching::ReceiveKeys(std::string_view body) {
  std::unordered_map<uint64_t, uint32_t> by_low;
  by_low.reserve(candidates_.size());
  for (uint32_t i = 0; i < candidates_.size(); i++) by_low.emplace(candidates_[i].hash.low, i);
  std::vector<uint8_t> keep(candidates_.size());
  hits_.clear();
  absl::Status status = ReadKeyList(body, kMostRawKeyBytes, [&](std::string_view key) {
    const KeyHash128 theirs = HashKey128(key, options_.salt);
    const auto found = by_low.find(theirs.low);
    const bool hit = found != by_low.end() && candidates_[found->second].hash == theirs;
    if (hit) keep[found->second] = 1;
    hits_.push_back(hit);
  });
  Keep(keep);
  ending_ = MoveKind::kKeys;
  expected_ = Expected::kHits;
  return status;
}

double Matching::Differences() const {
  const auto mine = static_cast<double>(candidates_.size());
  return mine + their_count_ - 2 * std::min({common_, mine, their_count_});
}

//   plan and sketch, as in partitioned_pinsketch.h, of the candidates' message hashes
void Matching::SendSketch(int cells_log2, std::string* message) {
  const double keys = std::max(static_cast<double>(candidates_.size()), their_count_);
  sketch_plan_ = pinsketch::MakePlan(keys, SketchedDifferences(Differences()), cells_log2);
  sketched_hashes_ = MessageHashes(MessageSalt());
  sketch_encoder_ = std::make_unique<pinsketch::PartitionedEncoder>(sketch_plan_, sketched_hashes_);
  ByteWriter out(message);
  out.U8(static_cast<uint8_t>(MoveKind::kSketch));
  sketch_plan_.Write(&out);
  sketch_encoder_->WriteSketch(&out);
  expected_ = Expected::kMarks;
}

absl::Status Matching::ReceiveSketch(std::string_view body) {
  ByteReader in(body);
  if (!sketch_plan_.Read(&in, kMostSketchMemoryBytes)) return Nonsense("a damaged sketch");
  sketched_hashes_ = MessageHashes(MessageSalt());
  sketch_decoder_ = std::make_unique<pinsketch::PartitionedDecoder>(sketch_plan_, sketched_hashes_);
  if (!sketch_decoder_->ReadSketch(&in) || !in.Finished()) return Nonsense("a damaged sketch");
  ending_ = MoveKind::kSketch;
  expected_ = Expected::kMarks;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveParityRequest(std::string_view body) {
  ByteReader in(body);
  parity_.clear();
  ByteWriter out(&parity_);
  if (!sketch_encoder_->AnswerRequest(&in, kMostParitySymbols, &out) || !in.Finished()) {
    return Nonsense("a damaged request for parity");
  }
  expected_ = Expected::kParity;
  return absl::OkStatus();
}

absl::Status Matching::ReceiveParity(std::string_view body) {
  ByteReader in(body);
  if (!sketch_decoder_->ReadMore(&in) || !in.Finished()) return Nonsense("damaged parity");
  expected_ = Expected::kMarks;
  return absl::OkStatus();
}

// Either a request for more parity, as in partitioned_pinsketch.h, or marks:
//   varint differing cells | flags, one per 64 groups: known | u64 digest of the receiver's odd
//   cells, as the sender believes them to be | flags, one for each of these cells: the sender has
//   no key there
void Matching::SendMarks(std::string* message) {
  ByteWriter out(message);
  if (sketch_decoder_->WantsMore()) {
    out.U8(kMoreParity);
    sketch_decoder_->WriteRequest(&out);
    expected_ = Expected::kParity;
    return;
  }
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<uint8_t> empty_here, keep(candidates_.size(), 1);
  std::vector<uint32_t> odd_here, odd_there;
  uint64_t digest = 0, differing_cells = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (!sketch_decoder_->IsKnown(group)) continue;
    const std::vector<uint32_t>& differing = sketch_decoder_->DifferingCells(group);
    differing_cells += differing.size();
    mine.OddCells(group, &odd_here);
    odd_there.clear();
    std::set_symmetric_difference(odd_here.begin(), odd_here.end(), differing.begin(),
                                  differing.end(), std::back_inserter(odd_there));
    const std::span<const pinsketch::CellEntry> entries = mine.Group(group);
    auto in_cell = [entries](uint32_t id) {
      return std::equal_range(entries.begin(), entries.end(), pinsketch::CellEntry{id, 0},
                              [](const auto& a, const auto& b) { return a.id < b.id; });
    };
    for (uint32_t id : odd_there) {
      digest += Mix64(uint64_t{group} << 32 | id);
      const auto [begin, end] = in_cell(id);
      empty_here.push_back(begin == end);
    }
    for (uint32_t id : differing) {
      const auto [begin, end] = in_cell(id);
      if (end - begin == 1) keep[begin->index] = 0;
    }
  }
  out.U8(kMarks);
  out.Varint(differing_cells);
  EncodeFlags(sketch_decoder_->known_blocks(), &out);
  out.U64(digest);
  EncodeFlags(empty_here, &out);
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] == 0) doubtful_.push_back(candidates_[i]);
  }
  Keep(keep);
  sketch_decoder_.reset();
  expected_ = Expected::kSymbols;
}

absl::Status Matching::ReceiveMarks(std::string_view body) {
  ByteReader in(body);
  const uint64_t differing_cells = in.Varint(UINT32_MAX);
  std::vector<uint8_t> known, empty_there;
  if (!DecodeFlags(&in, sketch_plan_.Checks(), &known)) return Nonsense("damaged marks");
  const uint64_t their_digest = in.U64();
  const pinsketch::CellTable mine(sketched_hashes_, sketch_plan_.groups, sketch_plan_.field_bits);
  std::vector<pinsketch::Cell> odd_cells;
  std::vector<uint32_t> ids;
  uint64_t digest = 0, unknown_groups = 0;
  for (uint32_t group = 0; group < sketch_plan_.groups; group++) {
    if (known[group / pinsketch::kGroupsPerCheck] == 0) {
      unknown_groups++;
      continue;
    }
    mine.OddCells(group, &ids);
    for (uint32_t id : ids) {
      odd_cells.push_back({group, id});
      digest += Mix64(uint64_t{group} << 32 | id);
    }
  }
  const double differences = Differences();
  left_by_sketch_ = differences;
  // What the other side made of the sketch may be wrong, hardly ever. Then nothing follows from it,
  // and symbols settle everything.
  if (digest == their_digest) {
    if (!DecodeFlags(&in, odd_cells.size(), &empty_there) || !in.Finished()) {
      return Nonsense("damaged marks");
    }
    std::vector<uint8_t> keep(candidates_.size(), 1);
    for (size_t i = 0; i < odd_cells.size(); i++) {
      if (empty_there[i] == 0) continue;
      for (const pinsketch::CellEntry& entry : mine.Group(odd_cells[i].group)) {
        if (entry.id == odd_cells[i].id) keep[entry.index] = 0;
      }
    }
    const auto before = static_cast<double>(candidates_.size());
    const auto all = static_cast<double>(differing_cells);
    const double mine_only = std::clamp((all + before - their_count_) / 2, 0.0, before);
    const double cells = std::ldexp(sketch_plan_.groups, sketch_plan_.field_bits);
    left_by_sketch_ = LeftBySketch({before, their_count_, before - mine_only}, cells) +
                      differences * static_cast<double>(unknown_groups) / sketch_plan_.groups;
    Keep(keep);
  }
  sketch_encoder_.reset();
  expected_ = Expected::kSymbols;
  return absl::OkStatus();
}

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
    out.U8(kMoreSymbols);
    out.Varint(decoder_->symbols() / 8 + 8);
    expected_ = Expected::kMoreSymbols;
    return;
  }
  // If nothing can be decoded, an empty difference, which the sums contradict.
  SetDifference difference = decoder_->done() ? decoder_->Difference() : SetDifference();
  DropNamed(difference.only_local);
  BringBack(&difference.only_remote);
  out.U8(kDifference);
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

//   sum of the matched keys | flags, one per entry of the list
void Matching::SendHits(std::string* message) {
  ByteWriter out(message);
  out.U8(kHits);
  SumOfCandidates().Write(&out);
  EncodeFlags(hits_, &out);
}

absl::Status Matching::ReceiveHits(std::string_view body) {
  ByteReader in(body);
  std::vector<uint8_t> hits;
  if (!their_sum_.Read(&in) || !DecodeFlags(&in, order_.size(), &hits) || !in.Finished()) {
    return Nonsense("damaged hits");
  }
  std::vector<uint8_t> keep(candidates_.size());
  for (size_t i = 0; i < hits.size(); i++) keep[order_[i]] = hits[i];
  Keep(keep);
  expected_ = Expected::kVerdict;
  return absl::OkStatus();
}

//   sum of the matched keys
void Matching::SendVerdict(std::string* message) {
  const SetSum sum = SumOfCandidates();
  ByteWriter out(message);
  out.U8(kVerdict);
  sum.Write(&out);
  state_ = sum == their_sum_ ? State::kSettled : State::kContradicted;
}

absl::Status Matching::ReceiveVerdict(std::string_view body) {
  ByteReader in(body);
  if (!their_sum_.Read(&in) || !in.Finished()) return Nonsense("a damaged verdict");
  state_ = SumOfCandidates() == their_sum_ ? State::kSettled : State::kContradicted;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
