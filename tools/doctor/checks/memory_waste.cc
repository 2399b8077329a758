// tiny-files, filter-memory-waste.
#include <bit>

#include "support/text.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/caching.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// A filter of fewer keys is mostly rounding: RocksDB's Bloom filters come in steps of 64 bytes, and
// every filter has some bytes that say what it is.
constexpr uint64_t kTinyKeys = 128;
constexpr size_t kManyTinyFiles = 100;

constexpr double kWastedShare = 0.08;
constexpr uint64_t kWastedBytes = 8 << 20;

// jemalloc has four sizes per doubling, from 16 KiB on.
uint64_t JemallocBytes(uint64_t bytes) {
  constexpr uint64_t kSmallest = 16 << 10;
  if (bytes <= kSmallest) return bytes;
  const uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

void CheckTinyFiles(const FamilyFacts& family, Findings* findings) {
  Files tiny;
  uint64_t keys = 0, filter_bytes = 0;
  for (const TreeFile* file : family.files()) {
    if (!file->filter.exists() || KeysOf(*file) >= kTinyKeys) continue;
    tiny.push_back(file);
    keys += KeysOf(*file);
    filter_bytes += file->filter.bytes;
  }
  if (tiny.size() < kManyTinyFiles || 2 * tiny.size() < family.tree.file_count()) return;
  findings->push_back(
      {"tiny-files",
       Severity::kWarning,
       family.name(),
       "most files have but a few keys, each with a filter of its own",
       {"fewer than " + std::to_string(kTinyKeys) + " keys: " + QuoteFiles(tiny, family),
        "their filters have " + Thousands(filter_bytes) + " bytes for " + Thousands(keys) +
            " keys: " +
            Fixed(8 * static_cast<double>(filter_bytes) /
                      static_cast<double>(std::max<uint64_t>(keys, 1)),
                  1) +
            " bits per key"},
       "Filters are rounded up, and every file that a lookup comes to costs a probe of its own.",
       "Larger write_buffer_size and target_file_size_base; do not flush after every few writes."});
}

void CheckAllocator(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const std::string option = "optimize_filters_for_memory";
  const bool optimized = facts.options.TableValue(family.name(), option) == "true";
  if (optimized || !facts.process || !facts.process->jemalloc) return;
  uint64_t bytes = 0, allocated = 0;
  for (const TreeFile* file : family.files()) {
    if (file->filter.layout != FilterLayout::kFull) continue;
    bytes += file->filter.bytes;
    allocated += JemallocBytes(file->filter.bytes);
  }
  const uint64_t wasted = allocated - bytes;
  if (wasted < kWastedBytes ||
      static_cast<double>(wasted) < kWastedShare * static_cast<double>(bytes)) {
    return;
  }
  findings->push_back(
      {"filter-memory-waste",
       Severity::kWarning,
       family.name(),
       "filters take more memory than they fill",
       {QuoteTableOption(facts, family.name(), option),
        "process " + std::to_string(facts.process->pid) + " uses jemalloc, which gives " +
            Thousands(allocated) + " bytes to " + Thousands(bytes) + " bytes of filters"},
       Thousands(wasted) + " bytes of memory are used for nothing.",
       "Set optimize_filters_for_memory=true: filters are then built in sizes that fit."});
}

}  // namespace

void CheckMemoryWaste(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    CheckTinyFiles(family, findings);
    CheckAllocator(facts, family, findings);
  }
}

}  // namespace rocksieve::tools
