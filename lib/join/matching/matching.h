// One side's part in settling which keys of a range both sides have.
//
// Both sides begin with candidates, all of their keys in the range, and take turns until each knows
// which of its keys are matched, that is, are among the other's too. A turn is one or more parts:
//
//   filter*                                         to and fro, each may be followed by
//   list | keys          -> hits                    and that is all; or by
//   symbols              -> (more symbols ->)* difference
//   sketch               -> (more parity -> parity ->)* marks ->  symbols -> difference
//                                              or: marks, sketch -> marks, doubtful, symbols ->
//                                                  difference
//   ... the answering side: sum
//
// No part loses a match: filters have no false negatives, and everything else that is dropped is
// dropped by both. Matches that are none (two keys with the same hash) are found at the end: the
// answering side sums its matched keys, from its own keys, as soon as it knows them, and the asking
// side compares that with the sum of its own. If they differ, the range is contradicted, and has to
// be settled again under another salt.
//
// The parts are described in docs/protocol.md. Whatever arrives, nothing outside of it is read, and
// no more memory is taken than a few times the message and the candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/candidate.h"
#include "lib/join/matching/filter_maker.h"
#include "lib/join/matching/hash_list.h"
#include "lib/join/matching/planner.h"
#include "lib/join/matching/turn_parts.h"
#include "lib/join/memory_account.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"
#include "lib/sketch/rateless_iblt.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// Reads keys of a range again.
class KeyReader {
 public:
  virtual ~KeyReader() = default;
  // Appends the keys with these ordinals, which rise, front-coded and compressed. ResourceExhausted
  // if that takes clearly more than `most_bytes`.
  virtual absl::Status AppendKeys(const std::vector<uint32_t>& ordinals, uint64_t most_bytes,
                                  std::string* out) = 0;
};

class Matching {
 public:
  enum class State {
    kMyTurn,
    kTheirTurn,
    kSettled,       // matched() is the answer
    kContradicted,  // the asking side: the sums of both sides did not agree
  };

  struct Options {
    // Of the range and attempt, as that of the candidates; the same on both sides.
    uint64_t salt = 0;
    uint32_t attempt = 0;    // later ones take longer hashes, so that hardly any comes twice
    bool asks = false;       // one side does, the other answers
    bool begins = false;     // one of the two
    double their_count = 0;  // keys of the other side
    bool their_count_is_exact = false;
    double common = 0;        // matched keys, as far as known
    double common_error = 0;  // its standard error
    PlannerOptions planner;
    uint64_t most_list_entries = uint64_t{1} << 24;  // that a message may have
    uint64_t most_message_bytes = UINT64_MAX;  // more of keys than that are not even collected
    uint64_t longest_key_bytes = UINT64_MAX;   // of this side: longer ones are no candidates
    FilterMaker* filters = nullptr;  // if others need the same ones; must outlive the Matching
    // What it keeps, the candidates among it, and what each step needs is taken from this account
    // first. Null: no limit.
    MemoryAccount* memory = nullptr;
  };

  // `reader` is for the move kKeys only and must outlive the Matching.
  Matching(Candidates candidates, const Options& options, KeyReader* reader);

  State state() const { return state_; }

  // Appends this side's next turn. REQUIRES: kMyTurn.
  absl::Status TakeTurn(std::string* turn);

  // Takes the other side's turn. Fails, and is of no use any more, if it makes no sense at this
  // point: the other side is broken or hostile. REQUIRES: kTheirTurn.
  absl::Status Receive(std::string_view turn);

  // The matched keys, by rising ordinal. REQUIRES: kSettled.
  const Candidates& matched() const { return candidates_; }
  // The same, for who needs nothing more of this.
  Candidates TakeMatched() { return std::move(candidates_); }

  // For statistics.
  struct Counts {
    uint64_t filters_sent = 0, filters_received = 0;
    uint64_t filters_built = 0;      // of those that were sent
    uint64_t candidates_pruned = 0;  // by filters received
    // Of the other side, when it last told how many it had left; nothing if it never did.
    std::optional<uint64_t> their_candidates;
    uint64_t turns = 0;  // of both sides
  };
  const Counts& counts() const { return counts_; }
  // The move with which the range was ended, by either side.
  MoveKind ending() const { return ending_; }

 private:
  // What the next part is about, whoever sends it.
  enum class Expected {
    kMove,
    kHits,
    kMarks,
    kParity,
    kDoubtful,
    kSymbols,
    kDifference,
    kMoreSymbols,
    kSum
  };

  // Of all that is kept from one turn to the next, about.
  uint64_t KeptBytes() const;
  // Takes from the account what is kept, and what a step needs beside it.
  absl::Status Hold(uint64_t step_bytes);
  // A step's need for each candidate: hashes, flags, tables of one step, whatever it is.
  uint64_t StepBytes() const;

  absl::Status TakePart(std::string* turn);
  absl::Status TakeMove(std::string* turn);
  absl::Status SendFilter(const Move& move, std::string* turn);
  void SendList(std::string* turn);
  absl::Status SendKeys(std::string* turn);
  // At most so many as a message and the memory have room for.
  absl::Status SendSymbols(size_t symbols, std::string* turn);
  absl::Status SendSketch(int cells_log2, std::string* turn);
  absl::Status SendMarks(std::string* turn);
  void SendSecondLayer(std::string* turn);
  // False, and nothing is sent, if there is no room for it.
  bool WriteSketch(double keys, double differences, int cells_log2, std::string* turn);
  void SendDoubtful(std::string* turn);
  void SendHits(std::string* turn);
  void SendDifference(std::string* turn);
  void SendSum(std::string* turn);
  // After the last that the asking side needs to tell, or be told.
  void SendSumIfAnswering(std::string* turn);

  absl::Status ReceivePart(Part part, std::string_view body);
  // The other side's candidates, as it says: no more than it had. Else the reader fails.
  uint64_t ReadTheirCandidates(ByteReader* in) const;
  absl::Status ReceiveFilter(std::string_view body);
  absl::Status ReceiveList(std::string_view body);
  absl::Status ReceiveKeys(std::string_view body);
  absl::Status ReceiveSymbols(std::string_view body);
  absl::Status ReceiveSketch(std::string_view body);
  absl::Status ReceiveParity(std::string_view body);
  absl::Status ReceiveParityRequest(std::string_view body);
  absl::Status ReceiveMarks(std::string_view body);
  absl::Status ReceiveDoubtful(std::string_view body);
  absl::Status ReceiveHits(std::string_view body);
  absl::Status ReceiveMore(std::string_view body);
  absl::Status ReceiveDifference(std::string_view body);
  absl::Status ReceiveSum(std::string_view body);
  // Whether this side sends symbols, now that both know what the sketch told.
  bool SymbolsAreMine() const { return (layer_ == 1) == sent_sketch_; }

  // Of short hashes, beyond those that are right for a first attempt.
  int MoreHashBits() const { return 8 * static_cast<int>(std::min(options_.attempt, 3u)); }
  uint64_t PartSalt() const { return SplitMix64(options_.salt, parts_); }
  // Of all candidates.
  std::vector<uint64_t> PartHashes(uint64_t salt) const;
  SetSum SumOfCandidates() const;
  Standing standing() const;
  TurnLimit TurnsLeft() const;
  void Append(Part part, std::string_view body, std::string* turn);
  // After marks: what the sketch left, by the keys that both sides had.
  void CountLeft(double differing_cells, double unknown_share, double senders, double receivers);
  // The candidates that are not among the symbols' sender's, but for those that it doubts: a flag
  // for each of these that is matched.
  std::vector<uint8_t> DropOwnUnlessDoubted(const std::vector<uint64_t>& only_local);
  void BringBack(std::vector<uint64_t>* only_remote);
  void DropNamed(const std::vector<uint64_t>& ids);
  uint64_t SymbolsWanted();
  uint64_t SymbolId(const Candidate& candidate) const;
  // Keeps the candidates whose keep flag is set.
  void Keep(const std::vector<uint8_t>& keep);
  // Adds some, and restores the order.
  void Return(const Candidates& candidates);

  const Options options_;
  MemoryHold memory_;
  const SetSummer summer_;
  KeyReader* const reader_;
  Candidates candidates_;
  double their_count_, common_, common_error_;
  bool their_count_is_exact_;
  State state_;
  Expected expected_ = Expected::kMove;
  bool turn_goes_on_ = false;  // the other side's turn, with a part of the kind expected_
  uint32_t parts_ = 0;         // so far, of both sides
  // Candidates, or doubtful ones, in the order of a list that was sent.
  std::vector<uint32_t> order_;
  bool sent_list_ = false;
  std::vector<uint8_t> hits_;  // entries of a list that was received
  // Of a sketch: as the sender, or as the receiver.
  int layer_ = 1;
  bool sent_sketch_ = false;  // that of this layer
  pinsketch::Plan sketch_plan_;
  std::vector<uint64_t> sketched_hashes_;
  std::unique_ptr<pinsketch::PartitionedEncoder> sketch_encoder_;
  std::unique_ptr<pinsketch::PartitionedDecoder> sketch_decoder_;
  int parity_requests_ = 0;         // that were answered, about this layer
  uint64_t more_parity_bytes_ = 0;  // that were received
  std::string parity_;              // asked for, to be sent
  Standing left_by_sketch_;         // as the receiver of the sketch sees it
  // Candidates that stood alone in a differing cell: not matched, unless the end brings them back.
  Candidates doubtful_;
  double their_doubtful_count_ = 0;
  ShortHashes their_doubtful_;
  uint64_t symbols_salt_ = 0;  // of all parts with symbols
  RatelessFormat symbol_format_;
  std::unique_ptr<RatelessEncoder> encoder_;
  std::vector<RatelessCell> cells_;
  size_t symbols_wanted_ = 0, enough_symbols_ = 0;
  int wishes_ = 0;               // for more of them
  uint64_t rateless_bytes_ = 0;  // of the encoder's, or the decoder's, keys and symbols
  std::unique_ptr<RatelessDecoder> decoder_;
  MoveKind ending_ = MoveKind::kList;
  Counts counts_;
};

}  // namespace rocksieve::join
