// SPDX-License-Identifier: Apache-2.0
// What a session fuzzer begins with: two small sets of rows and the options of both sides, from the
// front of an input.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/target.h"
#include "lib/join/memory_account.h"
#include "lib/join/session/client_session.h"
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

}  // namespace rocksieve::fuzz
