// SPDX-License-Identifier: Apache-2.0
// What fuzzers of sessions share: two small sets of rows and the options of both sides, from the
// front of an input; and a wire that is hostile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "tests/join/in_memory.h"

namespace rocksieve::fuzz {

// Rows in memory, some with a NULL key, and with existing filters.
class CaseSource final : public join::Source {
 public:
  // `filters`: how many filters cover the rows; 0 for none.
  CaseSource(join::MemorySource::Rows rows, join::MemorySource::Rows absent, size_t filters);

  std::unique_ptr<join::Cursor> Scan(const join::KeyInterval& interval) override;
  std::unique_ptr<join::Cursor> ScanAbsent() override;
  std::unique_ptr<join::ExistingFilterReader> ExistingFilters(const join::KeyInterval&) override;
  uint64_t EstimateKeys() override { return rows_.EstimateKeys(); }

  // By key.
  const std::map<std::string, std::vector<std::string>>& table() const { return table_; }
  size_t absent_rows() const { return absent_count_; }

 private:
  class Reader;

  std::map<std::string, std::vector<std::string>> table_;
  join::MemorySource rows_, absent_;
  const size_t absent_count_;
  std::vector<join::ExistingFilter> filters_;
};

struct SessionCase {
  explicit SessionCase(Choices* choices);

  join::ClientSessionOptions client;
  join::ServerSessionOptions server;
  std::unique_ptr<CaseSource> here, there;
};

// What becomes of one side's honest messages on their way to the side that is tested, by a program
// in the input: passed, lost, repeated, held back, replaced by earlier ones, changed in a byte, a
// field or a part of a turn, or joined by messages that nobody sent; with checks made right, so
// that the changes get in, or not.
class HostileWire {
 public:
  // At its end, messages pass as they are. `choices` must outlive it.
  explicit HostileWire(Choices* choices) : choices_(choices) {}

  // What arrives in the place of a message.
  std::vector<std::string> Deliver(const std::string& message);
  // What arrives though nothing was sent: held back or made up. Empty if there is no more.
  std::vector<std::string> DeliverMore();

 private:
  std::string MadeUp();
  std::string Earlier();
  std::string WithOtherBytes(std::string message);
  std::string WithOtherField(const std::string& message);
  std::string WithOtherPart(const std::string& step);
  std::string WithOtherBody(std::string_view body);
  uint64_t AnyNumber();

  Choices* const choices_;
  std::vector<std::string> sent_, held_;
};

}  // namespace rocksieve::fuzz
