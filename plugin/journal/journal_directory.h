// SPDX-License-Identifier: Apache-2.0
// Writes the journal of a database: journal_format.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/journal/journal_format.h"

namespace rocksieve {

// Keeps nothing between calls, so that a database may come and go. Thread-safe. What
// cannot be written is left out: what is missing in a journal costs a comparison time, and nothing
// else.
class JournalDirectory {
 public:
  explicit JournalDirectory(const std::string& database);

  // `name`: JournalNameOf(). `sequence`: of all entries, if it was ingested; else null.
  void AddTable(const std::string& path, const std::string& name, const uint64_t* sequence) const;
  // With the database's present options.
  void AddJob(const std::string& session, std::vector<std::string> inputs,
              std::vector<std::string> outputs) const;
  // Takes away the oldest tables, until the others have so many bytes.
  void Keep(uint64_t most_bytes) const;

 private:
  // As which one the present one is in the journal. Empty if there is none, or if it is older than
  // the MANIFEST in use: RocksDB may fail to write one, and then that of an earlier session stands.
  std::string AddOptions(const std::string& session) const;

  const std::string database_, directory_;
};

}  // namespace rocksieve
