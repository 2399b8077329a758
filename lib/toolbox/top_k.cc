// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/top_k.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr uint64_t kMostCounters = uint64_t{1} << 31;
constexpr uint64_t kMostTotal = std::numeric_limits<uint64_t>::max();

bool LargerFirst(const TopK::Item& a, const TopK::Item& b) {
  return a.count != b.count ? a.count > b.count : a.key < b.key;
}

}  // namespace

TopK::TopK(const TopKOptions& options) : options_(options) {
  if (options.counters < 1 || options.counters > kMostCounters) {
    throw std::invalid_argument("TopKOptions: counters is " + std::to_string(options.counters) +
                                ", but must be 1 .. 2^31; of words, 15 times the wanted k");
  }
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
