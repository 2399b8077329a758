// SPDX-License-Identifier: Apache-2.0
// A Patricia trie of which labels are hashed and edges are known by a few bits: about what SuRF is
// (H. Zhang and others, 2018), in fewer bits. Two bits for each node tell its shape, as a unary
// sequence of degrees in the order of breadth (G. Jacobson, "Space-efficient static trees and
// graphs", 1989); each node has some bits of the hash of its edge's first byte, the length of the
// edge, as far as that is short, and a bit for each of the next bytes of the edge.
#include "experiments/any_prefix/patricia_trie.h"

#include <algorithm>

#include "experiments/any_prefix/bit_vector.h"
#include "experiments/any_prefix/context_model.h"
#include "lib/hash/mix.h"

namespace rocksieve::experiments {
namespace {

constexpr double kShapeBits = 2 * (1 + 32.0 / 512);  // of a node

uint64_t HashOfByte(char byte) { return Mix64(static_cast<uint8_t>(byte) + 1968); }

class PatriciaTrie : public PrefixFilter {
 public:
  PatriciaTrie(const SortedKeys& keys, double bits_per_key) {
    const std::vector<PatriciaNode> nodes = PatriciaNodes(keys);
    const double per_node =
        bits_per_key * static_cast<double>(keys.size()) / static_cast<double>(nodes.size());
    const int bits = std::clamp(static_cast<int>(per_node - kShapeBits), 2, 24);
    skip_bits_ = std::clamp(bits / 3, 1, 4);
    label_bits_ = std::min(4, (bits - skip_bits_ + 1) / 2);
    byte_bits_ = bits - skip_bits_ - label_bits_;
    data_ = PackedNumbers(bits);
    for (const PatriciaNode& node : nodes) {
      for (size_t i = 0; i < node.children.size(); i++) shape_.Append(true);
      shape_.Append(false);
      data_.Append(DataOf(node.text.substr(node.parent_depth)));
    }
    shape_.Finish();
  }

  bool MayHavePrefix(std::string_view prefix) const override { return MayHaveBelow(0, prefix); }
  uint64_t size_bits() const override { return shape_.size_bits() + data_.size_bits() + 64; }

 private:
  uint64_t most_skip() const { return (uint64_t{1} << skip_bits_) - 1; }

  // Of an edge: label, length - 1, bits of the bytes behind the first, from the lowest bit.
  uint64_t DataOf(std::string_view edge) const {
    if (edge.empty()) return 0;  // the root's
    uint64_t data = HashOfByte(edge[0]) & ((uint64_t{1} << label_bits_) - 1);
    data |= std::min<uint64_t>(edge.size() - 1, most_skip()) << label_bits_;
    for (int i = 0; i < byte_bits_ && static_cast<size_t>(i) + 1 < edge.size(); i++) {
      data |= (HashOfByte(edge[static_cast<size_t>(i) + 1]) >> 63)
              << (label_bits_ + skip_bits_ + i);
    }
    return data;
  }

  // Whether a string may begin so that goes through the node, its edge included.
  bool MayHave(uint64_t node, std::string_view rest) const {
    const uint64_t data = data_.Get(node), label = (uint64_t{1} << label_bits_) - 1;
    if (((HashOfByte(rest[0]) ^ data) & label) != 0) return false;
    const uint64_t skip = data >> label_bits_ & most_skip();
    const bool is_leaf = !shape_.Get(BeginOf(node));
    for (size_t i = 0; i < static_cast<size_t>(byte_bits_) && i + 1 < rest.size(); i++) {
      if (i >= skip && (skip < most_skip() || i >= most_skip())) break;
      const uint64_t bit = data >> (static_cast<size_t>(label_bits_ + skip_bits_) + i) & 1;
      if (bit != HashOfByte(rest[i + 1]) >> 63) return false;
    }
    if (skip == most_skip()) return true;  // nobody knows where the edge ends
    if (rest.size() <= skip + 1) return true;
    return !is_leaf && MayHaveBelow(node, rest.substr(skip + 1));
  }

  bool MayHaveBelow(uint64_t node, std::string_view rest) const {
    if (rest.empty()) return true;
    const uint64_t begin = BeginOf(node);
    // Each one before stands for a node, the root for none.
    uint64_t child = shape_.Rank(begin) + 1;
    for (uint64_t at = begin; shape_.Get(at); at++, child++) {
      if (MayHave(child, rest)) return true;
    }
    return false;
  }

  uint64_t BeginOf(uint64_t node) const { return node == 0 ? 0 : shape_.SelectZero(node - 1) + 1; }

  int label_bits_ = 0, skip_bits_ = 0, byte_bits_ = 0;
  BitVector shape_;
  PackedNumbers data_;
};

// The consecutive keys that are below a node.
struct Span {
  size_t begin, end;
};

}  // namespace

std::vector<PatriciaNode> PatriciaNodes(const SortedKeys& keys) {
  std::vector<std::string_view> strings;
  for (const std::string& key : keys) {
    if (!strings.empty() && CommonBytes(strings.back(), key) == strings.back().size()) {
      strings.pop_back();
    }
    strings.push_back(key);
  }
  std::vector<PatriciaNode> nodes;
  std::vector<Span> spans;
  const auto add = [&](size_t parent_depth, Span span) {
    const std::string_view first = strings[span.begin];
    const size_t depth =
        span.end - span.begin == 1 ? first.size() : CommonBytes(first, strings[span.end - 1]);
    nodes.push_back({first.substr(0, depth), parent_depth, {}});
    spans.push_back(span);
  };
  if (strings.empty()) return nodes;
  // The root is the empty prefix, so that every edge has a first byte.
  nodes.push_back({std::string_view(), 0, {}});
  spans.push_back({0, strings.size()});
  for (size_t node = 0; node < nodes.size(); node++) {
    const size_t depth = nodes[node].text.size();
    Span left = spans[node];
    if (depth == strings[left.begin].size()) continue;  // a leaf
    while (left.begin < left.end) {
      const char byte = strings[left.begin][depth];
      const auto end = std::partition_point(
          strings.begin() + static_cast<std::ptrdiff_t>(left.begin),
          strings.begin() + static_cast<std::ptrdiff_t>(left.end), [&](std::string_view text) {
            return static_cast<uint8_t>(text[depth]) <= static_cast<uint8_t>(byte);
          });
      const Span child{left.begin, static_cast<size_t>(end - strings.begin())};
      nodes[node].children.push_back(nodes.size());
      add(depth, child);
      left.begin = child.end;
    }
  }
  return nodes;
}

std::unique_ptr<PrefixFilter> BuildPatriciaTrie(const SortedKeys& keys, double bits_per_key) {
  return std::make_unique<PatriciaTrie>(keys, bits_per_key);
}

}  // namespace rocksieve::experiments
