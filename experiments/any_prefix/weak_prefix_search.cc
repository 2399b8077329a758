// SPDX-License-Identifier: Apache-2.0
// Weak prefix search: D. Belazzougui, P. Boldi, R. Pagh, S. Vigna, "Fast prefix search in little
// space, with applications", 2010. Each node of the Patricia trie is known by one prefix on its
// edge, that whose length is divisible by the highest power of two ("2-fattest"); a retrieval
// structure has, for the hash of that prefix, where the edge ends, and a signature. A search halves
// the lengths until it is at the edge on which the prefix ends or leaves the trie.
//
// There the answer of the paper is arbitrary if no key begins so. Here the rest of the bits are a
// filter of the first bytes of all edges, which denies a prefix that leaves the trie at a node. One
// that leaves it within an edge, behind the 2-fattest prefix, is not seen, and of what a single key
// has behind its first own byte nothing is kept.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "experiments/any_prefix/bit_ribbon.h"
#include "experiments/any_prefix/patricia_trie.h"
#include "experiments/any_prefix/prefix_filter.h"
#include "lib/hash/key_hash.h"

namespace rocksieve::experiments {
namespace {

constexpr uint64_t kHandleSeed = 2010, kHeadSeed = 2011;
constexpr uint64_t kBitsPerLost = 64;  // an entry that the retrieval structure could not take

// Of the numbers in (low, high], that which is divisible by the highest power of two.
size_t FattestIn(size_t low, size_t high) {
  size_t fattest = high;
  while ((fattest & (fattest - 1)) > low) fattest &= fattest - 1;
  return fattest;
}

class WeakPrefixSearch : public PrefixFilter {
 public:
  WeakPrefixSearch(const SortedKeys& keys, double bits_per_key) {
    const std::vector<PatriciaNode> nodes = PatriciaNodes(keys);
    std::vector<std::string_view> heads;
    std::vector<Handle> handles;
    for (const PatriciaNode& node : nodes) {
      if (!node.text.empty()) AddEdge(node, &handles, &heads);
    }
    // Signatures and the filter of first bytes err alike.
    double entries = 0, others = 0;
    for (const Handle& handle : handles) (handle.is_one ? entries : others)++;
    const double left = bits_per_key * static_cast<double>(keys.size()) / (1 + BitRibbon::kSpare) -
                        kEndBits * entries - others;
    const double each = left / (entries + static_cast<double>(heads.size()));
    signature_bits_ = static_cast<uint32_t>(std::clamp(std::floor(each), 1.0, 16.0));
    head_bits_ = std::clamp(
        (left - signature_bits_ * entries) / static_cast<double>(std::max<size_t>(1, heads.size())),
        0.0, 16.0);
    std::vector<BitRibbon::Entry> rows;
    for (const Handle& handle : handles) {
      const uint64_t hash = HashKey(handle.text, kHandleSeed);
      const uint32_t signature = SignatureOf(hash);
      if (handle.is_one) {
        rows.push_back(
            {hash, signature_bits_ + kEndBits, signature | handle.end << signature_bits_});
      } else {
        rows.push_back({hash, 1, ~signature & 1});  // one bit tells that it is another
      }
    }
    for (const BitRibbon::Entry& entry : ends_.Build(rows)) lost_[entry.hash] = entry.value;
    rows.clear();
    for (const std::string_view head : heads) {
      const uint64_t hash = HashKey(head, kHeadSeed);
      rows.push_back({hash, HeadBits(hash), 0});
    }
    heads_.Build(rows);
  }

  bool MayHavePrefix(std::string_view prefix) const override {
    size_t low = 0, high = prefix.size();  // a node ends at `low`, or it is the root
    while (low < high) {
      const size_t handle = FattestIn(low, high);
      const uint64_t hash = HashKey(prefix.substr(0, handle), kHandleSeed);
      const uint32_t value = ValueOf(hash);
      if ((value & SignatureMask()) != SignatureOf(hash)) {
        high = handle - 1;
        continue;
      }
      const uint32_t end = value >> signature_bits_;
      // The edge reaches beyond the prefix, or nobody knows how far it goes.
      if (handle + end >= prefix.size() || end == kBeyond) return true;
      low = handle + end;
    }
    // The deepest node of the search. Its edge to the next byte, whose handle is longer than the
    // prefix, or was just denied.
    const uint64_t hash = HashKey(prefix.substr(0, low + 1), kHeadSeed);
    return heads_.AreZero(hash, HeadBits(hash));
  }

  uint64_t size_bits() const override {
    return ends_.size_bits() + heads_.size_bits() + kBitsPerLost * lost_.size() + 128;
  }

 private:
  static constexpr uint32_t kEndBits = 4;
  static constexpr uint32_t kBeyond = (1 << kEndBits) - 1;  // and more

  struct Handle {
    std::string_view text;
    uint32_t end;  // of the edge, counted from here
    bool is_one;   // not: one that is looked up, too, and must not be taken for one
  };

  // Prefixes that end on the edge before its handle make the search ask for others, by lengths that
  // are 2-fattest so far.
  static void AddEdge(const PatriciaNode& node, std::vector<Handle>* handles,
                      std::vector<std::string_view>* heads) {
    const size_t first = node.parent_depth + 1;
    const bool is_leaf = node.children.empty();
    const size_t handle = is_leaf ? first : FattestIn(node.parent_depth, node.text.size());
    const size_t end = is_leaf ? kBeyond : std::min<size_t>(node.text.size() - handle, kBeyond);
    handles->push_back({node.text.substr(0, handle), static_cast<uint32_t>(end), true});
    for (size_t length = first; length < (is_leaf ? node.text.size() + 1 : handle); length++) {
      if (length != handle && FattestIn(node.parent_depth, length) == length) {
        handles->push_back({node.text.substr(0, length), 0, false});
      }
    }
    if (handle > first) heads->push_back(node.text.substr(0, first));
  }

  uint32_t SignatureOf(uint64_t hash) const {
    return static_cast<uint32_t>(hash >> 40) & SignatureMask();
  }
  uint32_t SignatureMask() const { return (1U << signature_bits_) - 1; }
  uint32_t ValueOf(uint64_t hash) const {
    const auto lost = lost_.find(hash);
    return lost != lost_.end() ? lost->second : ends_.Get(hash, kEndBits + signature_bits_);
  }
  // Some have one more than others.
  uint32_t HeadBits(uint64_t hash) const {
    const double chance = static_cast<double>(hash & 0xffffff) / 0x1000000;
    return static_cast<uint32_t>(head_bits_ + chance);
  }

  uint32_t signature_bits_ = 0;
  double head_bits_ = 0;
  BitRibbon ends_, heads_;
  std::unordered_map<uint64_t, uint32_t> lost_;
};

}  // namespace

std::unique_ptr<PrefixFilter> BuildWeakPrefixSearch(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<WeakPrefixSearch>(keys, bits_per_key);
}

}  // namespace rocksieve::experiments
