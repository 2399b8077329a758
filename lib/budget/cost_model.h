// What a useless read and a probe of a filter cost, in one unit.
//
// A filter saves reads and costs probes: a missing key that meets a file pays the probe for certain
// and a read with the filter's rate. Only their proportion matters, so a charge is in reads.
#pragma once

#include "lib/budget/filter_kind.h"

namespace rocksieve {

// Defaults: a 4 KiB read of an NVMe drive with its way through the kernel; probes of filters of a
// million keys, hash included, on x86-64 (docs/performance.md).
struct CostModel {
  double read_ns = 80000;
  double bloom_probe_ns = 6;
  double cuckoo_probe_ns = 11;
  double ribbon_probe_ns = 8;
  double builtin_bloom_probe_ns = 6;
  double builtin_ribbon_probe_ns = 27;

  double ProbeNs(FilterKind kind) const {
    switch (kind) {
      case FilterKind::kNone:
        return 0;
      case FilterKind::kBloom:
        return bloom_probe_ns;
      case FilterKind::kCuckoo:
        return cuckoo_probe_ns;
      case FilterKind::kRibbon:
        return ribbon_probe_ns;
      case FilterKind::kBuiltinBloom:
        return builtin_bloom_probe_ns;
      case FilterKind::kBuiltinRibbon:
        return builtin_ribbon_probe_ns;
    }
    return 0;
  }

  // Of one probe, in units of a read.
  double ProbeCharge(FilterKind kind) const { return ProbeNs(kind) / read_ns; }
};

}  // namespace rocksieve
