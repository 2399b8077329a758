// SPDX-License-Identifier: Apache-2.0
// A block of an SST file without its file: entries, an index of places, properties.
//
// Oracle: entries lie in the block, and what the two readers of an index say of keys is the same.
#include "plugin/tables/sst_block.h"

#include "tests/fuzz/target.h"
#include "plugin/tables/table_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  const fuzz::ExactCopy block(std::string_view(reinterpret_cast<const char*>(data), size));
  uint64_t value_bytes = 0;
  const rocksdb::Status status =
      ForEachEntry(block.view(), [&](std::string_view key, std::string_view value) {
        FUZZ_CHECK(key.size() <= size);
        fuzz::Use(std::string(key));
        value_bytes += value.size();
        return true;
      });
  FUZZ_CHECK(value_bytes <= size);
  FUZZ_CHECK(status.ok() || status.IsCorruption() || status.IsNotSupported());
  for (const bool delta : {false, true}) {
    ForEachIndexEntry(block.view(), delta, [&](std::string_view key, BlockPlace place) {
      FUZZ_CHECK(key.size() <= size);
      fuzz::Use(place);
      return true;
    }).PermitUncheckedError();
  }
  TableProperties properties;
  const rocksdb::Status parsed = ParseProperties(block.view(), &properties);
  FUZZ_CHECK(parsed.ok() == status.ok());
  return 0;
}
