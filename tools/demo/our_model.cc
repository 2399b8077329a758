#include "tools/demo/our_model.h"

#include <algorithm>
#include <string>

#include <rocksieve/filter.h>

#include "lib/filter/family.h"

namespace rocksieve::tools {
namespace {

// Probes per key, which the spec leaves to the filter: as a filter of the same size has them.
uint8_t Probes(const FilterSpec& spec, uint64_t keys) {
  FilterBuilder builder(spec);
  for (uint64_t i = 0; i < keys; i++) builder.AddKey(std::to_string(i));
  const FilterBlock block = builder.Finish();
  return OpenFilter(block.view()).info.parameter;
}

}  // namespace

FileRate OurRate(const FilterSpec& spec, uint64_t keys, uint64_t filter_bytes) {
  FileRate rate = {ExpectedFalsePositiveRate(spec, keys), 0};
  const size_t line_bytes = FindFamily(spec.family)->line_bytes;
  if (line_bytes == 0 || keys == 0) return rate;

  // A filter of one line has no other lines that its keys could be in.
  const std::string payload(line_bytes, 0);
  FilterBlockInfo line;
  line.family = spec.family;
  line.parameter = Probes(spec, keys);
  line.payload = payload;
  const uint64_t lines = std::max<uint64_t>(filter_bytes / line_bytes, 1);
  rate.variance = VarianceOfLines(static_cast<double>(lines),
                                  static_cast<double>(keys) / static_cast<double>(lines),
                                  [&](int keys_in_line) {
                                    line.key_count = static_cast<uint64_t>(keys_in_line);
                                    return ExpectedFalsePositiveRate(line);
                                  });
  return rate;
}

}  // namespace rocksieve::tools
