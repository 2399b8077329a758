// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/count_min_sketch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr uint64_t kMostWidth = uint64_t{1} << 32, kMostDepth = 64;
constexpr uint64_t kMostTotal = std::numeric_limits<uint64_t>::max();
constexpr double kE = 2.718281828459045;

// Empty if they are in their ranges.
std::string Problem(const CountMinOptions& options) {
  if (options.width < 1 || options.width > kMostWidth) {
    return "CountMinOptions: width is " + std::to_string(options.width) +
           ", but must be 1 .. 2^32; ForError() finds the one for an error";
  }
  if (options.depth < 1 || options.depth > kMostDepth) {
    return "CountMinOptions: depth is " + std::to_string(options.depth) +
           ", but must be 1 .. 64; ForError() finds the one for a probability";
  }
  return "";
}

}  // namespace

CountMinOptions CountMinOptions::ForError(double relative_error, double failure_probability) {
  // Written so that NaN is refused too.
  if (!(relative_error > 0 && relative_error < 1)) {
    throw std::invalid_argument("CountMinOptions: relative_error is " +
                                std::to_string(relative_error) +
                                ", but must be between 0 and 1, such as 0.001");
  }
  if (!(failure_probability > 0 && failure_probability < 1)) {
    throw std::invalid_argument("CountMinOptions: failure_probability is " +
                                std::to_string(failure_probability) +
                                ", but must be between 0 and 1, such as 0.01");
  }
  const double width = std::ceil(kE / relative_error);
  if (width > static_cast<double>(kMostWidth)) {
    throw std::invalid_argument(
        "CountMinOptions: relative_error is below 6.4e-10, which needs more "
        "than 2^32 counters in a row");
  }
  CountMinOptions options;
  options.width = static_cast<uint64_t>(width);
  // At most 745, the logarithm of the least positive double; beyond 64 rows it is certainty.
  options.depth = std::min(
      kMostDepth, static_cast<uint64_t>(std::max(1.0, std::ceil(-std::log(failure_probability)))));
  return options;
}

CountMinSketch::CountMinSketch(const CountMinOptions& options) : options_(options) {
  if (const std::string problem = Problem(options); !problem.empty()) {
    throw std::invalid_argument(problem);
  }
  cells_.resize(options.width * options.depth);
}

uint64_t CountMinSketch::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

size_t CountMinSketch::CellOf(uint64_t key_hash, uint64_t row) const {
  return row * options_.width + MultiplyHigh64(SplitMix64(key_hash, row), options_.width);
}

bool CountMinSketch::AddHash(uint64_t key_hash, uint64_t count) {
  if (count > kMostTotal - total_) return false;
  total_ += count;
  if (options_.conservative) {
    const uint64_t enough = CountHash(key_hash) + count;  // no counter is above the old total
    for (uint64_t row = 0; row < options_.depth; row++) {
      uint64_t& cell = cells_[CellOf(key_hash, row)];
      cell = std::max(cell, enough);
    }
  } else {
    for (uint64_t row = 0; row < options_.depth; row++) cells_[CellOf(key_hash, row)] += count;
  }
  return true;
}

bool CountMinSketch::RemoveHash(uint64_t key_hash, uint64_t count) {
  if (options_.conservative) {
    throw std::logic_error(
        "CountMinSketch: a sketch with conservative update cannot remove; make "
        "it with CountMinOptions::conservative = false");
  }
  if (CountHash(key_hash) < count) return false;
  for (uint64_t row = 0; row < options_.depth; row++) cells_[CellOf(key_hash, row)] -= count;
  total_ -= count;
  return true;
}

uint64_t CountMinSketch::CountHash(uint64_t key_hash) const {
  uint64_t least = kMostTotal;
  for (uint64_t row = 0; row < options_.depth; row++) {
    least = std::min(least, cells_[CellOf(key_hash, row)]);
  }
  return least;
}

bool CountMinSketch::Merge(const CountMinSketch& other) {
  const CountMinOptions& theirs = other.options_;
  if (theirs.width != options_.width || theirs.depth != options_.depth ||
      theirs.conservative != options_.conservative || theirs.seed != options_.seed ||
      other.total_ > kMostTotal - total_) {
    return false;
  }
  total_ += other.total_;
  for (size_t i = 0; i < cells_.size(); i++) cells_[i] += other.cells_[i];
  return true;
}

double CountMinSketch::ErrorBound() const {
  return kE / static_cast<double>(options_.width) * static_cast<double>(total_);
}

double CountMinSketch::FailureProbability() const {
  return std::exp(-static_cast<double>(options_.depth));
}

size_t CountMinSketch::MemoryBytes() const {
  return sizeof(*this) + cells_.capacity() * sizeof(uint64_t);
}

std::string CountMinSketch::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.seed);
  out.U8(options_.conservative);
  out.Varint(options_.width);
  out.Varint(options_.depth);
  out.Varint(total_);
  for (const uint64_t cell : cells_) out.Varint(cell);
  return WriteEnvelope(EnvelopeType::kCountMin, payload);
}

std::optional<CountMinSketch> CountMinSketch::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kCountMin, error);
  CountMinOptions options;
  options.seed = in.U64();
  const uint8_t conservative = in.U8();
  options.conservative = conservative != 0;
  options.width = in.Varint();
  options.depth = in.Varint();
  const uint64_t total = in.Varint();
  if (!in.ok() || conservative > 1) return in.Refuse("damaged first fields");
  if (const std::string problem = Problem(options); !problem.empty()) return in.Refuse(problem);
  // Each counter is at least a byte; so no memory is asked for that the bytes do not justify.
  if (options.width * options.depth > in.remaining()) return in.Refuse("counters are missing");
  CountMinSketch sketch(options);
  sketch.total_ = total;
  uint64_t left = 0;  // of the total, which a plain row adds up to, and no row exceeds
  for (size_t i = 0; i < sketch.cells_.size(); i++) {
    if (i % options.width == 0) {
      if (left != 0 && !options.conservative) return in.Refuse("the sum of a row is not the total");
      left = total;
    }
    sketch.cells_[i] = in.Varint(left);
    left -= sketch.cells_[i];
  }
  if (!in.Finished()) return in.Refuse("damaged counters");
  if (left != 0 && !options.conservative) return in.Refuse("the sum of a row is not the total");
  return sketch;
}

}  // namespace rocksieve
