// SPDX-License-Identifier: Apache-2.0
// Gives db_stress filters of rocksieve, without a change to its source: the linker sends its calls
// of three functions of RocksDB here (--wrap in CMakeLists.txt). ROCKSIEVE_STRESS_SPEC names the
// filter policy; without it they are RocksDB's own, as db_stress's flags say. If
// ROCKSIEVE_STRESS_LISTENER is set, databases are opened with rocksieve.listener too, if
// ROCKSIEVE_STRESS_RANGES is set, with prefix_extractor=rocksieve.range, of which db_stress itself
// knows nothing: to it, iterators are as without any extractor.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/object_registry.h>
#include <rocksieve/filter_policy.h>
#include <rocksieve/listener.h>

namespace {

using rocksdb::FilterPolicy;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

// A killed program would lose what it had said.
const bool line_buffered = std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ) == 0;

// Null if RocksDB's own policies are wanted.
const FilterPolicy* NewPolicy() {
  const char* spec = std::getenv("ROCKSIEVE_STRESS_SPEC");
  if (spec == nullptr) return nullptr;
  std::shared_ptr<const FilterPolicy> shared;
  rocksdb::Status status = rocksieve::NewFilterPolicy(spec, &shared);
  // The caller wants a pointer that it may delete.
  std::unique_ptr<const FilterPolicy> policy;
  if (status.ok()) {
    status = rocksdb::ObjectRegistry::Default()->NewUniqueObject<const FilterPolicy>(spec, &policy);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "ROCKSIEVE_STRESS_SPEC=%s: %s\n", spec, status.ToString().c_str());
    std::exit(1);
  }
  return policy.release();
}

void AnswerRanges(Descriptors* column_families) {
  for (rocksdb::ColumnFamilyDescriptor& family : *column_families) {
    const rocksdb::Status status = rocksdb::SliceTransform::CreateFromString(
        rocksdb::ConfigOptions(), "rocksieve.range", &family.options.prefix_extractor);
    if (status.ok()) continue;
    std::fprintf(stderr, "prefix_extractor=rocksieve.range: %s\n", status.ToString().c_str());
    std::exit(1);
  }
}

}  // namespace

// clang-format off
#define NEW_BLOOM "_ZN7rocksdb20NewBloomFilterPolicyEdb"
#define NEW_RIBBON "_ZN7rocksdb21NewRibbonFilterPolicyEdi"
#define DB_OPEN \
  "_ZN7rocksdb2DB4OpenERKNS_9DBOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" \
  "RKSt6vectorINS_22ColumnFamilyDescriptorESaISD_EEPSC_IPNS_18ColumnFamilyHandleESaISJ_EEPPS0_"
// clang-format on
using NewBloom = const FilterPolicy*(double bits_per_key, bool use_block_based_builder);
using NewRibbon = const FilterPolicy*(double bits_per_key, int bloom_before_level);
using Open = rocksdb::Status(const rocksdb::DBOptions& options, const std::string& name,
                             const Descriptors& column_families, Handles* handles,
                             rocksdb::DB** db);
NewBloom RealBloom asm("__real_" NEW_BLOOM);
NewBloom WrappedBloom asm("__wrap_" NEW_BLOOM);
NewRibbon RealRibbon asm("__real_" NEW_RIBBON);
NewRibbon WrappedRibbon asm("__wrap_" NEW_RIBBON);
Open RealOpen asm("__real_" DB_OPEN);
Open WrappedOpen asm("__wrap_" DB_OPEN);

const FilterPolicy* WrappedBloom(double bits_per_key, bool use_block_based_builder) {
  const FilterPolicy* ours = NewPolicy();
  return ours != nullptr ? ours : RealBloom(bits_per_key, use_block_based_builder);
}

const FilterPolicy* WrappedRibbon(double bits_per_key, int bloom_before_level) {
  const FilterPolicy* ours = NewPolicy();
  return ours != nullptr ? ours : RealRibbon(bits_per_key, bloom_before_level);
}

rocksdb::Status WrappedOpen(const rocksdb::DBOptions& options, const std::string& name,
                            const Descriptors& column_families, Handles* handles,
                            rocksdb::DB** db) {
  rocksdb::DBOptions changed = options;
  if (std::getenv("ROCKSIEVE_STRESS_LISTENER") != nullptr) {
    changed.listeners.push_back(rocksieve::NewListener());
  }
  Descriptors families = column_families;
  if (std::getenv("ROCKSIEVE_STRESS_RANGES") != nullptr) AnswerRanges(&families);
  return RealOpen(changed, name, families, handles, db);
}
