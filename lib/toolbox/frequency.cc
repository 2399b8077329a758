// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <rocksieve/estimate/count_min_sketch.h>
#include <rocksieve/estimate/top_k.h>

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
  RefuseIf(!(relative_error > 0 && relative_error < 1), "CountMinOptions: relative_error is ",
           relative_error, ", but must be between 0 and 1, such as 0.001");
  RefuseIf(!(failure_probability > 0 && failure_probability < 1),
           "CountMinOptions: failure_probability is ", failure_probability,
           ", but must be between 0 and 1, such as 0.01");
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

namespace {

constexpr uint64_t kMostCounters = uint64_t{1} << 31;

bool LargerFirst(const TopK::Item& a, const TopK::Item& b) {
  return a.count != b.count ? a.count > b.count : a.key < b.key;
}

}  // namespace

TopK::TopK(const TopKOptions& options) : options_(options) {
  RefuseIf(options.counters < 1 || options.counters > kMostCounters, "TopKOptions: counters is ",
           options.counters, ", but must be 1 .. 2^31; of words, 15 times the wanted k");
}

bool TopK::Add(std::string_view key, uint64_t count) {
  if (count > kMostTotal - total_) return false;
  if (count == 0) return true;
  total_ += count;
  const uint64_t hash = HashKey(key, options_.seed);
  if (const uint32_t slot = Find(hash, key); slot != kNone) {
    Raise(slot, count);
  } else if (slots_.size() < options_.counters) {
    Insert({std::string(key), count, 0});
  } else {
    ReplaceLeast(key, hash, count);
  }
  return true;
}

uint64_t TopK::Count(std::string_view key) const {
  const uint32_t slot = Find(HashKey(key, options_.seed), key);
  return slot == kNone ? ErrorBound() : slots_[slot].item.count;
}

std::vector<TopK::Item> TopK::Top(size_t k) const {
  std::vector<const Item*> items;
  items.reserve(slots_.size());
  for (const Slot& slot : slots_) items.push_back(&slot.item);
  k = std::min(k, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<ptrdiff_t>(k), items.end(),
                    [](const Item* a, const Item* b) { return LargerFirst(*a, *b); });
  std::vector<Item> top;
  top.reserve(k);
  for (size_t i = 0; i < k; i++) top.push_back(*items[i]);
  return top;
}

// A key that one summary does not watch occurred there at most ErrorBound() times. With these added
// the least of the m largest sums is a bound again: Agarwal et al. prove it for the equivalent
// summary of Misra and Gries.
bool TopK::Merge(const TopK& other) {
  if (other.options_.counters != options_.counters || other.options_.seed != options_.seed ||
      other.total_ > kMostTotal - total_) {
    return false;
  }
  const uint64_t missing_here = ErrorBound(), missing_there = other.ErrorBound();
  std::vector<Item> sums;
  for (const Slot& slot : slots_) {
    const uint32_t there = other.Find(slot.hash, slot.item.key);
    const Item& item =
        there == kNone ? Item{"", missing_there, missing_there} : other.slots_[there].item;
    sums.push_back({slot.item.key, slot.item.count + item.count, slot.item.error + item.error});
  }
  for (const Slot& slot : other.slots_) {
    if (Find(slot.hash, slot.item.key) != kNone) continue;
    sums.push_back({slot.item.key, slot.item.count + missing_here, slot.item.error + missing_here});
  }
  std::sort(sums.begin(), sums.end(), LargerFirst);
  if (sums.size() > options_.counters) sums.resize(options_.counters);
  TopK merged(options_);
  merged.total_ = total_ + other.total_;
  for (Item& item : sums) merged.Insert(std::move(item));
  *this = std::move(merged);
  return true;
}

uint64_t TopK::ErrorBound() const {
  return slots_.size() < options_.counters ? 0 : slots_[heap_.front()].item.count;
}

size_t TopK::MemoryBytes() const {
  // A node of the map: the pair, the next node, the cached place; and a bucket.
  constexpr size_t kNodeBytes = sizeof(std::pair<uint64_t, uint32_t>) + 3 * sizeof(void*);
  size_t bytes = sizeof(*this) + slots_.capacity() * sizeof(Slot) +
                 heap_.capacity() * sizeof(uint32_t) + slots_.size() * kNodeBytes;
  for (const Slot& slot : slots_) {
    const size_t capacity = slot.item.key.capacity();
    if (capacity > std::string().capacity()) bytes += capacity + 1;
  }
  return bytes;
}

uint32_t TopK::Find(uint64_t hash, std::string_view key) const {
  const auto [begin, end] = slot_of_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (slots_[it->second].item.key == key) return it->second;
  }
  return kNone;
}

void TopK::Insert(Item item) {
  const uint64_t hash = HashKey(item.key, options_.seed);
  const uint32_t slot = static_cast<uint32_t>(slots_.size());
  slots_.push_back({std::move(item), hash, heap_.size()});
  heap_.push_back(slot);
  slot_of_hash_.emplace(hash, slot);
  SiftUp(slots_[slot].place);
}

void TopK::Raise(uint32_t slot, uint64_t count) {
  slots_[slot].item.count += count;
  SiftDown(slots_[slot].place);
}

void TopK::ReplaceLeast(std::string_view key, uint64_t hash, uint64_t count) {
  const uint32_t slot = heap_.front();
  Slot& least = slots_[slot];
  const auto [begin, end] = slot_of_hash_.equal_range(least.hash);
  slot_of_hash_.erase(
      std::find_if(begin, end, [slot](const auto& entry) { return entry.second == slot; }));
  slot_of_hash_.emplace(hash, slot);
  least.item.key.assign(key);
  least.item.error = least.item.count;
  least.hash = hash;
  Raise(slot, count);
}

bool TopK::Less(uint32_t a, uint32_t b) const {
  const Slot &left = slots_[a], &right = slots_[b];
  return left.item.count != right.item.count ? left.item.count < right.item.count
                                             : left.hash < right.hash;
}

void TopK::SiftDown(size_t place) {
  const uint32_t slot = heap_[place];
  for (size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
    if (child + 1 < heap_.size() && Less(heap_[child + 1], heap_[child])) child++;
    if (!Less(heap_[child], slot)) break;
    heap_[place] = heap_[child];
    slots_[heap_[place]].place = place;
  }
  heap_[place] = slot;
  slots_[slot].place = place;
}

void TopK::SiftUp(size_t place) {
  const uint32_t slot = heap_[place];
  for (size_t parent; place > 0; place = parent) {
    parent = (place - 1) / 2;
    if (!Less(slot, heap_[parent])) break;
    heap_[place] = heap_[parent];
    slots_[heap_[place]].place = place;
  }
  heap_[place] = slot;
  slots_[slot].place = place;
}

std::string TopK::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.seed);
  out.Varint(options_.counters);
  out.Varint(total_);
  out.Varint(slots_.size());
  for (const Item& item : Top(slots_.size())) {
    out.String(item.key);
    out.Varint(item.count);
    out.Varint(item.error);
  }
  return WriteEnvelope(EnvelopeType::kTopK, payload);
}

std::optional<TopK> TopK::Deserialize(std::string_view bytes, std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kTopK, error);
  TopKOptions options;
  options.seed = in.U64();
  options.counters = in.Varint(kMostCounters);
  const uint64_t total = in.Varint(), items = in.Varint(options.counters);
  if (!in.ok() || options.counters == 0) return in.Refuse("damaged first fields");
  TopK summary(options);
  summary.total_ = total;
  uint64_t left = total;  // the counts never add up to more
  Item before;
  for (uint64_t i = 0; i < items; i++) {
    Item item;
    item.key = std::string(in.String());
    item.count = in.Varint(left);
    item.error = in.Varint(item.count);
    if (!in.ok() || item.count == 0) return in.Refuse("damaged items");
    if (i > 0 && !LargerFirst(before, item)) return in.Refuse("items out of order");
    if (summary.Find(HashKey(item.key, options.seed), item.key) != kNone) {
      return in.Refuse("a key has two items");
    }
    left -= item.count;
    before = item;
    summary.Insert(std::move(item));
  }
  if (!in.Finished()) return in.Refuse("bytes after the last item");
  for (const Slot& slot : summary.slots_) {
    if (slot.item.error > summary.ErrorBound()) return in.Refuse("an error above the least count");
  }
  return summary;
}

}  // namespace rocksieve
