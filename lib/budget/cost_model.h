// What a useless read and a probe of a filter cost, in one unit.
//
// A filter saves reads and costs probes: a missing key that meets a file pays the probe for certain
// and a read with the filter's rate. Only their proportion matters, so a charge is in reads.
#pragma once

#include <map>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

struct CostModel {
  // A 4 KiB read of an NVMe drive with its way through the kernel.
  double read_ns = 80000;
  // Where it is not what the family says of itself (lib/filter/family.h).
  std::map<Family, double> probe_ns;

  double ProbeNs(Family family) const;  // 0 without a filter
  // Of one probe, in units of a read.
  double ProbeCharge(Family family) const { return ProbeNs(family) / read_ns; }
};

}  // namespace rocksieve
