#include "tools/demo/savings.h"

#include <cmath>
#include <cstdlib>

#include "support/text.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {
namespace {

bool Distinguishable(uint64_t reads, uint64_t other_reads) {
  const auto a = static_cast<double>(reads), b = static_cast<double>(other_reads);
  return std::abs(a - b) > 1.96 * std::sqrt(a + b);
}

std::string Reads(const VariantResult& bloom, const VariantResult& variant) {
  if (!Distinguishable(bloom.missing.data_block_reads, variant.missing.data_block_reads)) {
    return " saves none or too few to tell";
  }
  const double saved = SavedReadsPer100(bloom, variant);
  const std::string count = std::to_string(std::lround(std::abs(saved)));
  return saved > 0 ? " saves " + count : " saves none but costs " + count + " more";
}

std::string Memory(const VariantResult& bloom, const VariantResult& variant) {
  const double extra = ExtraMemory(bloom, variant);
  const long percent = std::lround(100 * std::abs(extra));
  if (percent == 0) return " with the same memory";
  return " with " + std::to_string(percent) + " % " + (extra > 0 ? "more" : "less") + " memory";
}

}  // namespace

double SavedReadsPer100(const VariantResult& bloom, const VariantResult& variant) {
  return 100 * (1 - static_cast<double>(variant.missing.data_block_reads) /
                        static_cast<double>(bloom.missing.data_block_reads));
}

double ExtraMemory(const VariantResult& bloom, const VariantResult& variant) {
  return variant.FilterBytesPerKey() / bloom.FilterBytesPerKey() - 1;
}

std::string SavingsSentence(const DemoResult& result) {
  const VariantResult& bloom = result.variants[kBuiltinBloom];
  if (bloom.missing.keys == 0) return "No key is missing, so there is nothing to save.";
  const bool any_reads = bloom.missing.data_block_reads > 0;
  std::string sentence =
      any_reads
          ? "Of 100 disk reads that lookups of missing keys cost with RocksDB's Bloom filter, "
          : "Lookups of missing keys cost no disk reads with RocksDB's Bloom filter, so there is "
            "nothing to save; per 1,000 lookups ";
  for (size_t i = kFirstOfOurs; i < result.variants.size(); i++) {
    const VariantResult& ours = result.variants[i];
    if (i > kFirstOfOurs) sentence += ", and ";
    sentence += ours.name;
    sentence += any_reads ? Reads(bloom, ours) : " costs " + Fixed(ours.ReadsPer1000Missing(), 1);
    sentence += Memory(bloom, ours);
  }
  return sentence + ".";
}

}  // namespace rocksieve::tools
