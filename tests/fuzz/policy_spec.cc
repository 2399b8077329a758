// SPDX-License-Identifier: Apache-2.0
// Filter policies as users write them for whatif and load, ours and RocksDB's.
//
// Oracle: what is taken for a spec, a policy can be made of, or refuses with
// a reason; no exception.
#include <rocksdb/filter_policy.h>

#include "tests/fuzz/target.h"
#include "plugin/database/policy_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  const std::string text(reinterpret_cast<const char*>(data), size);
  PolicySpec spec;
  const rocksdb::Status parsed = PolicySpec::Parse(text, &spec);
  FUZZ_CHECK(parsed.ok() || !parsed.ToString().empty());
  if (parsed.ok()) {
    FUZZ_CHECK(!spec.FamilyName().empty());
    PolicySpec other;
    if (spec.automatic() != nullptr || spec.family() != Family::kNone) {
      fuzz::Use(spec.WithBits(7.5, &other).ok());
    }
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status made = NewPolicy(text, &policy);
  FUZZ_CHECK(made.ok() || !made.ToString().empty());
  return 0;
}
