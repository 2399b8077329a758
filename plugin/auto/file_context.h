// A listener announces the table file that the same thread is about to build.
//
// RocksDB calls OnTableFileCreationStarted() on the thread that then asks the policy for a builder,
// and tells the listener what it does not tell the policy: database, file and job.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugin/auto/live_file_registry.h"

namespace rocksieve {

struct FileContext {
  std::shared_ptr<LiveFileRegistry> registry;  // null: nothing was announced
  std::string column_family;
  int job = 0;
  uint64_t file_number = 0;
};

// Replaces what this thread announced before.
void SetFileContext(FileContext file_context);

// What this thread announced last, which is forgotten thereby: an SstFileWriter, which announces
// nothing, must not be taken for the file before.
FileContext TakeFileContext();

// From ".../000012.sst"; 0 if there is none.
uint64_t FileNumberOf(const std::string& path);

}  // namespace rocksieve
