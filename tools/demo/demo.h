// SPDX-License-Identifier: Apache-2.0
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

}  // namespace rocksieve::tools
