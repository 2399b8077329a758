// SPDX-License-Identifier: Apache-2.0
// Filters that a side has already, such as those in a database's SST files: they can be sent at
// once, where a filter of this protocol's own needs a scan of the keys first.
//
// A source gives them one by one, each with the smallest and the largest key that it is about (its
// fences). Together they cover the source: every key that a scan shows lies within the fences of a
// filter that it passes. They may cover more: deleted keys, old versions, neighbours of an
// interval.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rocksieve::join {

enum class FilterFormat : uint8_t {
  kNone = 0,            // no block: every key within the fences may be there
  kOurs = 1,            // docs/formats/block.md
  kRocksDbBuiltin = 2,  // of RocksDB's own Bloom and Ribbon filters
};

struct ExistingFilter {
  std::string smallest, largest;  // both belong to it
  FilterFormat format = FilterFormat::kNone;
  std::string block;
};

// What a side says of its filters before it sends them.
struct ExistingFilterOffer {
  uint64_t bytes = 0;    // about; 0 if it has none
  double pass_rate = 1;  // share of the keys that the side does not have which pass, about
  uint8_t formats = 0;   // that are among them, as bits: 1 << FilterFormat

  bool exists() const { return bytes > 0; }
};

constexpr uint8_t BitOf(FilterFormat format) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(format));
}

// Reads each filter only when it is asked for. Must not outlive its source.
class ExistingFilterReader {
 public:
  virtual ~ExistingFilterReader() = default;
  // Quick, whatever the number of filters.
  virtual ExistingFilterOffer Offer() = 0;
  // By rising `smallest`. False at the end; what cannot be read is given as kNone.
  virtual bool Next(ExistingFilter* filter) = 0;
  // Not all could be given: what came is of no use.
  virtual bool failed() const { return false; }
};

class KeyFilter {
 public:
  virtual ~KeyFilter() = default;
  virtual bool MayContain(std::string_view key) const = 0;
};

// Reads a block of kRocksDbBuiltin, whose bytes outlive the result. Null if every key may be in it.
// Bytes come from the other side, and may be anything.
using BuiltinFilterDecoder = std::function<std::unique_ptr<KeyFilter>(std::string_view block)>;

}  // namespace rocksieve::join
