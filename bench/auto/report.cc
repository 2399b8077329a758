#include "bench/auto/report.h"

#include "support/text.h"

namespace rocksieve::bench {
namespace {

nlohmann::json ForPrograms(const Lookups& lookups) {
  return {{"lookups", lookups.lookups},
          {"useless_reads_per_lookup", lookups.useless_reads},
          {"filter_probes_per_lookup", lookups.filter_probes}};
}

nlohmann::json ForPrograms(const Measured& measured) {
  return {{"policy", measured.policy},
          {"entries", measured.memory.entries},
          {"files", measured.memory.files},
          {"filter_bytes", measured.memory.filter_bytes},
          {"bits_per_entry", measured.memory.bits_per_entry()},
          {"files_per_level", measured.files_per_level},
          {"build_seconds", measured.build_seconds},
          {"in_memory_ns_per_missing_lookup", measured.in_memory_ns},
          {"modelled_ns_per_missing_lookup", measured.modelled_ns},
          {"missing", ForPrograms(measured.missing)},
          {"missing_in_a_sixteenth_of_the_key_space", ForPrograms(measured.nearby)},
          {"present", ForPrograms(measured.present)}};
}

std::string PerThousand(const Lookups& lookups) { return Fixed(1000 * lookups.useless_reads, 3); }

}  // namespace

std::string ForPeople(const std::vector<Gain>& gains) {
  std::vector<std::vector<std::string>> rows = {
      {"tree", "budget", "bits per", "reads/1000", "missing:", "", "ratio to", "", "reads/1000",
       "present:", "", "ns/miss", "in memory:", ""},
      {"", "", "entry", "auto", "Bloom", "Ribbon", "Bloom", "Ribbon", "auto", "Bloom", "Ribbon",
       "auto", "Bloom", "Ribbon"}};
  for (const Gain& gain : gains) {
    rows.push_back({gain.shape.description, Fixed(gain.budget, 1),
                    Fixed(gain.automatic.memory.bits_per_entry(), 2),
                    PerThousand(gain.automatic.missing), PerThousand(gain.bloom.missing),
                    PerThousand(gain.ribbon.missing), Fixed(gain.of_bloom(), 3),
                    Fixed(gain.of_ribbon(), 3), PerThousand(gain.automatic.present),
                    PerThousand(gain.bloom.present), PerThousand(gain.ribbon.present),
                    Fixed(gain.automatic.in_memory_ns, 0), Fixed(gain.bloom.in_memory_ns, 0),
                    Fixed(gain.ribbon.in_memory_ns, 0)});
  }
  return AlignedTable(rows);
}

nlohmann::json ForPrograms(const std::vector<Gain>& gains) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Gain& gain : gains) {
    rows.push_back({{"tree", gain.shape.name},
                    {"budget_bits_per_entry", gain.budget},
                    {"keys", gain.shape.keys},
                    {"useless_reads_ratio_to_bloom", gain.of_bloom()},
                    {"useless_reads_ratio_to_ribbon", gain.of_ribbon()},
                    {"auto", ForPrograms(gain.automatic)},
                    {"bloom", ForPrograms(gain.bloom)},
                    {"ribbon", ForPrograms(gain.ribbon)}});
  }
  return rows;
}

}  // namespace rocksieve::bench
