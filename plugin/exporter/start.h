// SPDX-License-Identifier: Apache-2.0
// The door of librocksieve_exporter.so for the plugin, which finds it by dlsym(): the plugin needs
// nothing but RocksDB, and what HTTP needs comes only into processes that asked for it.
#pragma once

#include <string>
#include <vector>

#include <rocksieve/metrics.h>

namespace rocksieve {

inline constexpr char kStartProcessExporter[] = "rocksieve_start_process_exporter";

// Begins to show what `collect` gives, for the rest of the process. *error is a sentence if it
// cannot be shown, else untouched. `collect` is called by threads of the exporter.
using StartProcessExporter = void(const char* target, void (*collect)(std::vector<Metric>*),
                                  std::string* error);

}  // namespace rocksieve
