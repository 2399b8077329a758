// A listener announces the table file that the same thread is about to build.
//
// RocksDB calls OnTableFileCreationStarted() on the thread that then asks the policy for a builder,
// and tells the listener what it does not tell the policy: database, file and job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugin/auto/database_ledger.h"

namespace rocksieve {

struct Announcement {
  std::shared_ptr<DatabaseLedger> ledger;  // null: nothing was announced
  std::string column_family;
  int job = 0;
  uint64_t file_number = 0;
};

// Replaces what this thread announced before.
void Announce(Announcement announcement);

// What this thread announced last, which is forgotten thereby: an SstFileWriter, which announces
// nothing, must not be taken for the file before.
Announcement TakeAnnouncement();

// From ".../000012.sst"; 0 if there is none.
uint64_t FileNumberOf(const std::string& path);

}  // namespace rocksieve
