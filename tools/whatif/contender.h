// A filter policy that the tree might have: a spec taken apart.
#pragma once

#include <string>

#include <rocksdb/status.h>
#include <rocksieve/filter_spec.h>

#include "lib/budget/auto_spec.h"

namespace rocksieve::tools {

enum class ContenderKind { kNone, kOurs, kBuiltinBloom, kBuiltinRibbon, kAuto };

struct Contender {
  Contender();

  std::string spec;  // as it would stand in an OPTIONS file
  ContenderKind kind = ContenderKind::kNone;
  // Bits per key (of RocksDB's Ribbon: of a Bloom filter of the same rate) or, of kAuto, per live
  // entry.
  double bits = 0;
  FilterSpec ours;             // of kOurs
  AutoSpec automatic;          // of kAuto
  int bloom_before_level = 0;  // of kBuiltinRibbon

  // The same with another amount of memory; not of kNone.
  Contender WithBits(double other_bits) const;

  // Whether there is a policy with this amount.
  bool IsAllowed() const;

  // "RocksDB Bloom", "rocksieve.ribbon": all but the amount.
  std::string FamilyName() const;
};

// InvalidArgument, saying what is allowed, for a spec that is none.
rocksdb::Status ParseContender(const std::string& spec, Contender* contender);

}  // namespace rocksieve::tools
