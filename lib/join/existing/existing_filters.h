// SPDX-License-Identifier: Apache-2.0
// Whose existing SST filters a session begins with, if any: decided once, by the server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/filter.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

enum class ExistingFilterChoice : uint8_t {
  kNotThere = 0,   // neither side has filters of whole keys
  kServer = 1,     // the server's, which follow at once
  kClient = 2,     // the client's
  kTooDear = 3,    // filters made for the occasion are expected to take fewer bytes
  kUnusable = 4,   // of a format that the other side does not read, or too large for it
  kNotWanted = 5,  // another strategy is forced, or the client takes none
};

constexpr bool UsesExistingFilters(ExistingFilterChoice choice) {
  return choice == ExistingFilterChoice::kServer || choice == ExistingFilterChoice::kClient;
}

// "used: the server's", "not used: neither side has filters of whole keys in SST files"
std::string_view Describe(ExistingFilterChoice choice);

struct ExistingFilterSide {
  double keys = 0;
  ExistingFilterOffer offer;
  uint64_t accepted_bytes = 0;  // of the other side's filters; 0 for none
  uint8_t readable_formats = 0;
};

constexpr bool WantsExistingFilters(Strategy strategy) {
  return strategy == Strategy::kAuto || strategy == Strategy::kSstFilters;
}

// The smaller ones of those that there are. Unless forced (Strategy::kSstFilters), only if they are
// expected to take hardly more bytes than without, whatever the overlap, which nobody knows yet.
ExistingFilterChoice ChooseExistingFilters(const ExistingFilterSide& client,
                                           const ExistingFilterSide& server,
                                           const PlannerOptions& options);

// Keys of the receiver that are the sender's as well, after so many passed its filters.
struct CommonKeys {
  double keys = 0;
  double standard_error = 0;
};
CommonKeys CommonAfterExistingFilters(double before, double passed, double pass_rate);

// All existing SST filters of one side, as far as they came, to be asked for keys in order.
//
// Whatever a block holds, a key is only dropped if each filter within whose fences it lies can be
// read and denies it. Blocks that are damaged, or of a format that nobody here reads, deny nothing.

// As it goes over the wire: one after another, each preceded by its length, cut into pieces
// anywhere.
void AppendExistingFilter(const ExistingFilter& filter, std::string* out);

class ExistingFilterSet {
  struct Member {
    ExistingFilter filter;
    uint64_t digest = 0;
    std::unique_ptr<Filter> ours;
    std::unique_ptr<KeyFilter> builtin;

    bool MayContain(std::string_view key) const;
  };

 public:
  // Null: built-in filters of RocksDB deny nothing.
  explicit ExistingFilterSet(BuiltinFilterDecoder decode_builtin = nullptr)
      : decode_builtin_(std::move(decode_builtin)) {}

  // False, and nothing is added, if `smallest` is below that of the one before, or above `largest`.
  bool Add(ExistingFilter filter);

  // No more will be added.
  void Complete() { complete_ = true; }

  // Whether all filters are here within whose fences a key below `end` may lie (null: any key).
  bool Covers(const std::optional<std::string>& end) const {
    return complete_ || (end && !members_.empty() && *end <= members_.back()->filter.smallest);
  }
  bool complete() const { return complete_; }
  // The largest key below which it covers everything. REQUIRES: not complete.
  std::string_view covered_end() const {
    return members_.empty() ? std::string_view() : members_.back()->filter.smallest;
  }

  size_t size() const { return members_.size(); }
  // Memory that it takes, about.
  uint64_t bytes() const { return bytes_; }
  static uint64_t BytesOf(const ExistingFilter& filter);
  // Of the first `size` filters: sets of equal digests drop the same keys. 0 for none.
  uint64_t DigestOf(size_t size) const { return size == 0 ? 0 : members_[size - 1]->digest; }
  // Whether a copy of the first `size` filters with this digest covers all keys below `end`.
  bool IsCoveredBy(size_t size, uint64_t digest, const std::optional<std::string>& end) const {
    if (size > members_.size() || digest != DigestOf(size)) return false;
    return size == members_.size() ? Covers(end) : end && *end <= members_[size]->filter.smallest;
  }

  // Asks for keys that rise. The set must not change meanwhile.
  class Sweep {
   public:
    explicit Sweep(const ExistingFilterSet& set) : set_(set) {}
    bool MayContain(std::string_view key);

   private:
    const ExistingFilterSet& set_;
    size_t next_ = 0;
    std::vector<const Member*> open_;  // within whose fences the last key was
    bool crowded_ = false;
  };

 private:
  const BuiltinFilterDecoder decode_builtin_;
  std::vector<std::unique_ptr<Member>> members_;
  uint64_t bytes_ = 0;
  bool complete_ = false;
};

// Puts pieces together.
class ExistingFilterAssembler {
 public:
  // The pointers must outlive it. Takes no more memory than `most_bytes` and a piece, and asks for
  // it first: `memory` holds what the set and this keep.
  ExistingFilterAssembler(ExistingFilterSet* set, uint64_t most_bytes, MemoryHold* memory)
      : set_(set), most_bytes_(most_bytes), memory_(memory) {}

  absl::Status Add(std::string_view piece);
  // Nothing is left of a filter that did not end.
  bool AtBoundary() const { return buffer_.empty(); }

 private:
  absl::Status AddFilter(std::string_view bytes);
  // Beside what is kept already.
  absl::Status Hold(uint64_t more_bytes);

  ExistingFilterSet* const set_;
  const uint64_t most_bytes_;
  MemoryHold* const memory_;
  std::string buffer_;
};

// One session's existing SST filters: the side that sends them, or the side that receives them.
//
// The sender keeps what it sent and holds each of its own keys against it while it scans: a key
// that does not pass would be lost, so then the filters are not used. The receiver drops candidates
// only in ranges below which all filters have come.

// A piece of the existing SST filters of a side.
struct Filters {
  enum class State : uint8_t {
    kMore = 0,
    kLast = 1,
    kWithdrawn = 2,  // they are not all to be had: forget those that came
  };
  State state = State::kMore;
  std::string piece;
};

struct ExistingFilterOptions {
  // Of filters that are kept, of either side's.
  uint64_t most_bytes = uint64_t{64} << 20;
  BuiltinFilterDecoder decode_builtin;  // null: filters of RocksDB's own are not asked for

  uint8_t readable_formats() const {
    return BitOf(FilterFormat::kNone) | BitOf(FilterFormat::kOurs) |
           (decode_builtin ? BitOf(FilterFormat::kRocksDbBuiltin) : 0);
  }
};

class ExistingFilterExchange {
 public:
  enum class Role { kNone, kSender, kReceiver };

  // What is kept of filters is taken from `memory`, unless that is null.
  ExistingFilterExchange(Source* source, const ExistingFilterOptions& options,
                         MemoryAccount* memory)
      : source_(source), options_(options), set_(options.decode_builtin), memory_(memory) {}

  // What this side could send.
  ExistingFilterOffer Offer(const KeyInterval& interval);

  // The other side takes so many bytes. REQUIRES: Offer() was asked.
  void BeginSending(uint64_t most_bytes);
  void BeginReceiving();
  Role role() const { return role_; }

  // Sender: the next message; false if all were given.
  bool Next(Filters* message);
  // Receiver.
  absl::Status Receive(const Filters& message);

  // Filters turned out to be of no use: neither side asks them any more.
  void Withdraw();
  bool usable() const { return role_ != Role::kNone && !withdrawn_; }
  // Nothing is to be sent or waited for any more.
  bool finished() const { return !usable() || set_.complete(); }

  // As far as it was sent or has come; null if there is no use in it.
  const ExistingFilterSet* set() const { return usable() ? &set_ : nullptr; }
  // Sender: the rest of a filter that was begun.
  bool has_unsent() const { return sent_ < unsent_.size(); }

  // Whether a range that begins here may be opened, and where it must end then: not before the
  // filters for it are there, and not for every few keys that come to be covered.
  bool MayOpen(const std::string& begin, std::optional<std::string>* end);

  uint64_t bytes() const { return bytes_; }  // of filters, sent or received
  size_t filters() const { return set_.size(); }

 private:
  Source* const source_;
  const ExistingFilterOptions options_;
  Role role_ = Role::kNone;
  bool withdrawn_ = false;
  std::unique_ptr<ExistingFilterReader> reader_;
  uint64_t most_bytes_ = 0;  // that the receiver takes
  ExistingFilterSet set_;
  MemoryHold memory_;  // of the set, and what is sent or put together
  std::string unsent_;
  size_t sent_ = 0;  // of them
  std::unique_ptr<ExistingFilterAssembler> assembler_;
  uint64_t bytes_ = 0, bytes_when_opened_ = 0;
};

}  // namespace rocksieve::join
