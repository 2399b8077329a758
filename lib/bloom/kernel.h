// SPDX-License-Identifier: Apache-2.0
// The inner loops of the Bloom family, one implementation per instruction set, each in a file of
// its own (kernel_NAME.cc). All of them give the same answers and the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rocksieve/filter.h>

#include "lib/bloom/layout.h"
#include "lib/cpu/isa.h"

namespace rocksieve::bloom {

// Where the bits of the keys of one line would stand unturned: masks[group][word].
using LineMasks = uint64_t[kGroups][8];

// The filter given must be a LineArray.
struct Queries {
  bool (*one)(const Filter& line_array, uint64_t hash);
  // The same for many keys. Overlaps the memory accesses of all of them.
  void (*many)(const Filter& line_array, const uint64_t* hashes, size_t count, bool* may_contain);
};

// What a query works on: the lines of a payload, of which there is at least one.
class LineArray final : public Filter {
 public:
  LineArray(const uint8_t* lines, uint64_t line_count, uint64_t salt, const Queries& queries)
      : Filter(salt, queries.one), lines_(lines), line_count_(line_count), many_(queries.many) {}

  const uint8_t* lines() const { return lines_; }
  uint64_t line_count() const { return line_count_; }
  const uint8_t* LineOf(uint64_t hash) const {
    return lines_ + LineIndex(hash, line_count_) * kLineBytes;
  }
  // Whether it is so large that batches fetch lines ahead.
  bool is_fetched_ahead() const { return line_count_ >= kLeastBytesAhead / kLineBytes; }
  // Not here: no kernel's file may have the virtual functions.
  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override;

 private:
  const uint8_t* const lines_;
  const uint64_t line_count_;
  decltype(Queries::many) const many_;
};

// The queries for a number of probes (IsProbeCount), in plain C++.
Queries PortableQueriesFor(int probes);
// Sets the unturned bits of `count` keys, which all fall into the lines from first_line on.
void PortableAddKeys(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
                     uint64_t first_line, LineMasks* masks);

// How many first seeds are tried with all second ones, by the effort. The builder's affair, not
// the format's.
inline constexpr int kBeams[kEfforts] = {4, 1, kSeeds};

// Picks the seeds of a line's lanes and writes its 64 bytes. Per lane: the kBeams[effort] first
// seeds with the fewest bits set by the groups 0..3 are tried with all second seeds; the fewest
// bits win, ties by the smaller second seed, then the smaller first seed.
using SeedChoice = void (*)(const LineMasks& masks, uint8_t* line);

struct Kernel {
  const char* name;
  Queries (*queries_for)(int probes);
  void (*add_keys)(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
                   uint64_t first_line, LineMasks* masks);
  SeedChoice (*seed_choice_for)(Effort effort);
};

extern const Kernel kPortableKernel;
#if defined(__x86_64__)
extern const Kernel kSse2Kernel, kAvx2Kernel, kAvx512Kernel;
#elif defined(__aarch64__)
extern const Kernel kNeonKernel;
#endif

// REQUIRES: isa is one of UsableIsas().
const Kernel& KernelFor(Isa isa);

// That of ActiveIsa().
const Kernel& ActiveKernel();

}  // namespace rocksieve::bloom
