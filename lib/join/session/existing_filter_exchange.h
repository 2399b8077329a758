// SPDX-License-Identifier: Apache-2.0
// One session's existing SST filters: the side that sends them, or the side that receives them.
//
// The sender keeps what it sent and holds each of its own keys against it while it scans: a key
// that does not pass would be lost, so then the filters are not used. The receiver drops candidates
// only in ranges below which all filters have come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <absl/status/status.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"

namespace rocksieve::join {

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
