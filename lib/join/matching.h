// One side's part in settling which keys of a range both sides have.
//
// Both sides begin with candidates, all of their keys in the range, and take turns to send messages
// until each knows which of its keys are matched, that is, are among the other's too:
//
//   (filter)*  (list hits | keys hits | [sketch (more parity)* marks] symbols (more symbols)*
//   difference)  verdict
//
// No message loses a match: filters have no false negatives, and everything else that is dropped is
// dropped by both. Matches that are none (two keys with the same hash) are found at the end: each
// side sums its matched keys, from its own keys, and the sums must agree. If not, the range is
// contradicted, and has to be settled again under another salt.
//
// The messages are described in docs/protocol.md. Whatever arrives, nothing outside of it is read,
// and no more memory is taken than a few times the message and the candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "join/candidate.h"
#include "join/filter_maker.h"
#include "join/planner.h"
#include "sketch/pinsketch/partitioned_pinsketch.h"
#include "sketch/rateless_iblt.h"
#include "sketch/set_sum.h"

namespace rocksieve::join {

// Reads keys of a range again.
class KeyReader {
 public:
  virtual ~KeyReader() = default;
  // Appends the keys with these ordinals, which rise, front-coded and compressed.
  virtual absl::Status AppendKeys(const std::vector<uint32_t>& ordinals, std::string* out) = 0;
};

class Matching {
 public:
  enum class State {
    kMyTurn,
    kTheirTurn,
    kSettled,       // matched() is the answer
    kContradicted,  // the sums of both sides did not agree
  };

  struct Options {
    // Of the range and attempt, as that of the candidates; the same on both sides.
    uint64_t salt = 0;
    bool begins = false;
    double their_count = 0;  // keys of the other side
    bool their_count_is_exact = false;
    double common = 0;  // matched keys, as far as known
    PlannerOptions planner;
    uint64_t most_list_entries = uint64_t{1} << 24;  // that a message may have
    FilterMaker* filters = nullptr;  // if others need the same ones; must outlive the Matching
  };

  // `reader` is for the move kKeys only and must outlive the Matching.
  Matching(Candidates candidates, const Options& options, KeyReader* reader);

  State state() const { return state_; }

  // Appends this side's next message. REQUIRES: kMyTurn.
  absl::Status TakeTurn(std::string* message);

  // Takes the other side's message. Fails, and is of no use any more, if it makes no sense at this
  // point: the other side is broken or hostile. REQUIRES: kTheirTurn.
  absl::Status Receive(std::string_view message);

  // The matched keys, by rising ordinal. REQUIRES: kSettled.
  const Candidates& matched() const { return candidates_; }

  // Filters and keys that went each way, for statistics.
  struct Counts {
    uint64_t filters_sent = 0, filters_received = 0;
    uint64_t filters_built = 0;      // of those that were sent
    uint64_t candidates_pruned = 0;  // by filters received
    // Of the other side, when it last told how many it had left; nothing if it never did.
    std::optional<uint64_t> their_candidates;
  };
  const Counts& counts() const { return counts_; }
  // The move with which the range was ended, by either side.
  MoveKind ending() const { return ending_; }

 private:
  enum class Expected {
    kMove,
    kHits,
    kMarks,
    kParity,
    kSymbols,
    kDifference,
    kMoreSymbols,
    kVerdict
  };

  absl::Status SendFilter(int columns, std::string* message);
  void SendList(std::string* message);
  absl::Status SendKeys(std::string* message);
  void SendSymbols(size_t symbols, std::string* message);
  void SendSketch(int cells_log2, std::string* message);
  void SendMarks(std::string* message);
  void SendHits(std::string* message);
  void SendDifference(std::string* message);
  void SendVerdict(std::string* message);

  absl::Status ReceiveFilter(std::string_view body);
  absl::Status ReceiveList(std::string_view body);
  absl::Status ReceiveKeys(std::string_view body);
  absl::Status ReceiveSymbols(std::string_view body);
  absl::Status ReceiveSketch(std::string_view body);
  absl::Status ReceiveParity(std::string_view body);
  absl::Status ReceiveParityRequest(std::string_view body);
  absl::Status ReceiveMarks(std::string_view body);
  absl::Status ReceiveHits(std::string_view body);
  absl::Status ReceiveMore(std::string_view body);
  absl::Status ReceiveDifference(std::string_view body);
  absl::Status ReceiveVerdict(std::string_view body);

  uint64_t MessageSalt() const;
  // Of all candidates.
  std::vector<uint64_t> MessageHashes(uint64_t salt) const;
  SetSum SumOfCandidates() const;
  // Keys that only one side has, estimated.
  double Differences() const;
  void BringBack(std::vector<uint64_t>* only_remote);
  void DropNamed(const std::vector<uint64_t>& message_hashes);
  // Keeps the candidates whose keep flag is set.
  void Keep(const std::vector<uint8_t>& keep);

  const Options options_;
  const SetSummer summer_;
  KeyReader* const reader_;
  Candidates candidates_;
  double their_count_, common_;
  bool their_count_is_exact_;
  State state_;
  Expected expected_ = Expected::kMove;  // the next message, of either side
  uint32_t messages_ = 0;                // so far, of both sides
  std::vector<uint32_t> order_;          // candidates in the order of a list that was sent
  std::vector<uint8_t> hits_;            // entries of a list that was received
  // Of a sketch: as the sender, or as the receiver.
  pinsketch::Plan sketch_plan_;
  std::vector<uint64_t> sketched_hashes_;
  std::unique_ptr<pinsketch::PartitionedEncoder> sketch_encoder_;
  std::unique_ptr<pinsketch::PartitionedDecoder> sketch_decoder_;
  std::string parity_;  // asked for, to be sent
  double left_by_sketch_ = 0;
  // Candidates that stood alone in a differing cell: not matched, unless symbols bring them back.
  Candidates doubtful_;
  uint64_t symbols_salt_ = 0;  // of all messages with symbols
  std::unique_ptr<RatelessEncoder> encoder_;
  std::vector<RatelessCell> cells_;
  size_t symbols_wanted_ = 0, enough_symbols_ = 0;
  std::unique_ptr<RatelessDecoder> decoder_;
  SetSum their_sum_;
  MoveKind ending_ = MoveKind::kList;
  Counts counts_;
};

}  // namespace rocksieve::join
