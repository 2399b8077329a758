// SPDX-License-Identifier: Apache-2.0
// What `rocksieve inspect` finds out about one table file, or a filter that is a file by itself.
#pragma once

#include <string>

#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

// The document of docs/json.md; `hex`: with the bytes of the blocks. Every error is a sentence that
// names the thing and the remedy.
rocksdb::Status Inspect(const std::string& path, bool hex, Progress* progress, Json* inspection);

}  // namespace rocksieve::tools
