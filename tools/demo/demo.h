// The demonstration: one tree of real keys, built with each filter, and what lookups cost.
#pragma once

#include <string>

#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

struct DemoOptions {
  std::string keys = "/usr/share/dict/american-english-insane";  // a file, or "-"
  std::string database_directory;  // kept; if empty, a temporary one that is removed
};

// The document of docs/json.md. Writes nothing but the directory, and removes it on every error.
// Aborted if interrupted. A check that fails (a lost key, say) is no error: "ok" is false then.
rocksdb::Status RunDemo(const DemoOptions& options, Progress* progress, Json* result);

// That document in words: what was compared, the table, what was saved, and how to turn the plugin
// on. At most 100 columns wide, but for long paths.
std::string DemoInWords(const Json& result);

// What the filters come to, in one sentence: the data-block reads and the memory of ours against
// those of RocksDB's Bloom filter, whichever way it turns out. A difference that chance explains
// (less than 1.96 standard deviations of the two counts) is not claimed. `filters`: as in the
// document, in the order of MakeVariants().
std::string SavingsSentence(const Json& filters);

}  // namespace rocksieve::tools
