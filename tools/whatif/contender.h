// A filter policy that the tree might have: a spec taken apart.
#pragma once

#include <string>

#include <rocksdb/status.h>
#include <rocksieve/filter_spec.h>

namespace rocksieve::tools {

enum class ContenderKind { kNone, kOurs, kBuiltinBloom, kBuiltinRibbon, kAuto };

struct Contender {
  std::string spec;  // as it would stand in an OPTIONS file
  ContenderKind kind = ContenderKind::kNone;
  // Bits per key (of RocksDB's Ribbon: of a Bloom filter of the same rate) or, of kAuto, per live
  // entry. Of kOurs, `ours` says more.
  double bits = 0;
  FilterSpec ours;
  int bloom_before_level = 0;  // of kBuiltinRibbon

  // The same with another amount of memory.
  Contender WithBits(double other_bits) const;

  // "RocksDB Bloom", "rocksieve.ribbon": all but the amount.
  std::string FamilyName() const;
};

// InvalidArgument, saying what is allowed, for a spec that is none.
rocksdb::Status ParseContender(const std::string& spec, Contender* contender);

}  // namespace rocksieve::tools
