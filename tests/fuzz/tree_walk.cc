// SPDX-License-Identifier: Apache-2.0
// A history of a database, as scans of a join see it that walk through its table files.
//
// Oracle: RocksDB's iterator has the same rows and errors, whatever the bounds.
#include "tests/fuzz/target.h"
#include "tests/fuzz/tree_walk_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::fuzz;
  TreeWalkCase history(std::string_view(reinterpret_cast<const char*>(data), size));
  const std::string difference = history.Run();
  if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
  FUZZ_CHECK(difference.empty());
  return 0;
}
