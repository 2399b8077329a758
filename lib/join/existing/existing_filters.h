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

}  // namespace rocksieve::join
