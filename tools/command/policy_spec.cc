#include "tools/command/policy_spec.h"

#include <exception>

#include <rocksdb/convenience.h>
#include <rocksieve/filter_policy.h>

namespace rocksieve::tools {

using rocksdb::Status;

Status MakePolicy(const std::string& spec, std::shared_ptr<const rocksdb::FilterPolicy>* policy) {
  policy->reset();
  if (spec == "none") return Status::OK();
  if (spec.rfind("rocksieve", 0) == 0) return NewFilterPolicy(spec, policy);
  rocksdb::ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  try {
    const Status status = rocksdb::FilterPolicy::CreateFromString(strict, spec, policy);
    if (status.ok() && *policy != nullptr) return status;
  } catch (const std::exception&) {  // of its number parser
  }
  policy->reset();
  return Status::InvalidArgument(
      "there is no filter policy \"" + spec +
      "\": allowed are those of rocksieve (rocksieve.bloom:10, rocksieve.ribbon:10, "
      "rocksieve.cuckoo:0.1%, ...), RocksDB's own (bloomfilter:10:false, ribbonfilter:10), "
      "and none");
}

}  // namespace rocksieve::tools
