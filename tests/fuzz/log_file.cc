// SPDX-License-Identifier: Apache-2.0
// RocksDB's info log, as doctor reads it.
#include "tools/doctor/facts.h"

#include <sstream>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  const tools::LogFile log = tools::ParseLog(text);
  FUZZ_CHECK(log.plugin_reports.size() <= size && log.families.size() <= size);
  for (const tools::LoggedLine& report : log.plugin_reports) {
    FUZZ_CHECK(report.line > 0 && report.text.size() <= size + 16);
  }
  fuzz::Use(log.ticker("rocksdb.block.cache.hit"));
  return 0;
}
