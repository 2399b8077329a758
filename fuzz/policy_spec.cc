// Filter policies as users write them for whatif and load, ours and RocksDB's.
//
// Oracle: what whatif takes for a contender with a policy, load makes a policy of, or refuses with
// a reason; no exception.
#include <rocksdb/filter_policy.h>

#include "fuzz/target.h"
#include "tools/command/policy_spec.h"
#include "tools/whatif/contender.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve;
  const std::string text(reinterpret_cast<const char*>(data), size);
  tools::Contender contender;
  const rocksdb::Status parsed = tools::ParseContender(text, &contender);
  FUZZ_CHECK(parsed.ok() || !parsed.ToString().empty());
  if (parsed.ok()) {
    FUZZ_CHECK(!contender.FamilyName().empty());
    fuzz::Use(contender.IsAllowed());
    if (contender.kind != tools::ContenderKind::kNone) fuzz::Use(contender.WithBits(7.5).spec);
  }
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status made = tools::MakePolicy(text, &policy);
  FUZZ_CHECK(made.ok() || !made.ToString().empty());
  return 0;
}
