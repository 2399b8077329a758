// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/routing/filter_tree.h>

#include <limits>
#include <optional>
#include <set>

#include "lib/format/byte_io.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr uint8_t kHasParent = 1, kKnowsSiblings = 2, kAllUnpublished = 4, kAllFlags = 7;
constexpr uint64_t kMostId = std::numeric_limits<NodeId>::max();

void WriteNeighbours(const std::map<NodeId, BloomFilter>& neighbours, ByteWriter* out) {
  out->Varint(neighbours.size());
  for (const auto& [id, filter] : neighbours) {
    out->Varint(id);
    out->String(filter.Serialize());
  }
}

BloomFilter ReadFilter(ByteReader* in) {
  const std::optional<BloomFilter> filter = BloomFilter::Deserialize(in->String(), nullptr);
  if (filter) return *filter;
  in->Fail();
  return BloomFilter({64, 1});
}

// In ascending order, all with those options.
void ReadNeighbours(const BloomFilterOptions& options, ByteReader* in,
                    std::map<NodeId, BloomFilter>* neighbours) {
  const uint64_t count = in->Varint(in->remaining());
  for (uint64_t i = 0; i < count && in->ok(); i++) {
    const NodeId id = static_cast<NodeId>(in->Varint(kMostId));
    BloomFilter filter = ReadFilter(in);
    if (filter.options() != options || (i > 0 && id <= neighbours->rbegin()->first)) in->Fail();
    if (in->ok()) neighbours->emplace_hint(neighbours->end(), id, std::move(filter));
  }
}

using Keys = std::set<std::string, std::less<>>;

// As the bytes of a cuckoo hash table, which are its seed, and its keys in order.
std::string WriteKeys(const Keys& keys, uint64_t seed) {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(seed);
  out.Varint(keys.size());
  for (const std::string& key : keys) out.String(key);
  return WriteEnvelope(EnvelopeType::kCuckooTable, payload);
}

bool ReadKeys(std::string_view bytes, Keys* keys, uint64_t* seed) {
  PayloadReader in(bytes, EnvelopeType::kCuckooTable, nullptr);
  *seed = in.U64();
  const uint64_t count = in.Varint(in.remaining());  // each takes a byte at least
  for (uint64_t i = 0; i < count && in.ok(); i++) {
    const std::string_view key = in.String();
    if (i > 0 && key <= *keys->rbegin()) in.Fail();
    if (in.ok()) keys->emplace_hint(keys->end(), key);
  }
  return in.Finished();
}

}  // namespace

FilterTreeNode::FilterTreeNode(const FilterTreeOptions& options, NodeId id,
                               std::optional<NodeId> parent)
    : options_(options), id_(id), parent_(parent), subtree_filter_(options.filter) {
  options_.filter = subtree_filter_.options();  // as they are after rounding
}

bool FilterTreeNode::IsKnown(NodeId id) const {
  return id == id_ || id == parent_ || children_.count(id) != 0 || siblings_.count(id) != 0;
}

bool FilterTreeNode::AddChild(NodeId child, const BloomFilter& filter) {
  if (IsKnown(child) || filter.options() != options_.filter) return false;
  children_.emplace(child, filter);
  AddToSubtree(filter);
  return true;
}

bool FilterTreeNode::AddSibling(NodeId sibling, const BloomFilter& filter) {
  const bool possible = options_.know_siblings && parent_ && !IsKnown(sibling);
  if (!possible || filter.options() != options_.filter) return false;
  siblings_.emplace(sibling, filter);
  return true;
}

void FilterTreeNode::Add(std::string_view key) {
  keys_.emplace(key);
  AddToSubtree(subtree_filter_.KeyHash(key));
}

// Whoever has been told of this filter has all bits that are set in it, so that only keys which set
// a new one have to be told.
void FilterTreeNode::AddToSubtree(uint64_t key_hash) {
  if (subtree_filter_.MayContainHash(key_hash)) return;
  subtree_filter_.AddHash(key_hash);
  if (all_unpublished_ || !parent_) return;
  unpublished_.push_back(key_hash);
  if (unpublished_.size() * 64 > options_.filter.bits) {
    all_unpublished_ = true;
    unpublished_.clear();
  }
}

void FilterTreeNode::AddToSubtree(const BloomFilter& filter) {
  const BloomFilter before = subtree_filter_;
  subtree_filter_.Merge(filter);
  if (subtree_filter_ == before || !parent_) return;
  all_unpublished_ = true;
  unpublished_.clear();
}

bool FilterTreeNode::Receive(NodeId from, const FilterUpdate& update) {
  if (update.filter && update.filter->options() != options_.filter) return false;
  const auto child = children_.find(from), sibling = siblings_.find(from);
  const bool is_child = child != children_.end();
  if (!is_child && sibling == siblings_.end()) return false;
  BloomFilter& known = is_child ? child->second : sibling->second;
  if (update.filter) {
    known.Merge(*update.filter);
    if (is_child) AddToSubtree(*update.filter);
  }
  for (const uint64_t hash : update.key_hashes) {
    known.AddHash(hash);
    if (is_child) AddToSubtree(hash);
  }
  return true;
}

void FilterTreeNode::Publish(const Tell& tell) {
  FilterUpdate update;
  update.key_hashes.swap(unpublished_);
  if (all_unpublished_) update.filter = subtree_filter_;
  all_unpublished_ = false;
  if (update.key_hashes.empty() && !update.filter) return;
  try {
    tell(*parent_, update);
    for (const auto& [sibling, filter] : siblings_) tell(sibling, update);
  } catch (...) {
    // All is told again, also to those who know it: that takes no memory, and does no harm.
    all_unpublished_ = true;
    unpublished_.clear();
    throw;
  }
}

RouteAnswer FilterTreeNode::Route(std::string_view key, NodeId asker, RouteScope scope,
                                  const Ask& ask) const {
  RouteAnswer answer;
  if (Holds(key)) {
    answer.holder = id_;
    return answer;
  }
  const auto forward = [&](NodeId to, RouteScope further, bool suggested_by_filter) {
    const RouteAnswer theirs = ask(to, id_, key, further);
    answer.holder = theirs.holder;
    answer.forwards += 1 + theirs.forwards;
    answer.false_forwards += theirs.false_forwards + (suggested_by_filter && !theirs.holder);
    return answer.holder.has_value();
  };
  const uint64_t hash = subtree_filter_.KeyHash(key);
  if (scope != RouteScope::kNotBelow && subtree_filter_.MayContainHash(hash)) {
    for (const auto& [child, filter] : children_) {
      if (scope == RouteScope::kNotBelowAsker && child == asker) continue;
      if (filter.MayContainHash(hash) && forward(child, RouteScope::kSubtree, true)) return answer;
    }
  }
  if (scope == RouteScope::kSubtree || !parent_) return answer;
  for (const auto& [sibling, filter] : siblings_) {
    if (filter.MayContainHash(hash) && forward(sibling, RouteScope::kSubtree, true)) return answer;
  }
  forward(*parent_, options_.know_siblings ? RouteScope::kNotBelow : RouteScope::kNotBelowAsker,
          false);
  return answer;
}

size_t FilterTreeNode::MemoryBytes() const {
  size_t bytes =
      sizeof(*this) + subtree_filter_.MemoryBytes() + unpublished_.capacity() * sizeof(uint64_t);
  // libstdc++ and libc++ keep three nodes and a colour beside each key.
  for (const std::string& key : keys_) {
    bytes += sizeof(key) + 4 * sizeof(void*);
    if (key.capacity() > std::string().capacity()) bytes += key.capacity() + 1;
  }
  for (const auto& [id, filter] : children_) bytes += filter.MemoryBytes();
  for (const auto& [id, filter] : siblings_) bytes += filter.MemoryBytes();
  return bytes;
}

std::string FilterTreeNode::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.Varint(id_);
  out.U8(static_cast<uint8_t>((parent_ ? kHasParent : 0) |
                              (options_.know_siblings ? kKnowsSiblings : 0) |
                              (all_unpublished_ ? kAllUnpublished : 0)));
  if (parent_) out.Varint(*parent_);
  out.String(subtree_filter_.Serialize());
  WriteNeighbours(children_, &out);
  WriteNeighbours(siblings_, &out);
  out.String(WriteKeys(keys_, keys_seed_));
  out.Varint(unpublished_.size());
  for (const uint64_t hash : unpublished_) out.U64(hash);
  return WriteEnvelope(EnvelopeType::kFilterTree, payload);
}

std::optional<FilterTreeNode> FilterTreeNode::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kFilterTree, error);
  const NodeId id = static_cast<NodeId>(in.Varint(kMostId));
  const uint8_t flags = in.U8();
  std::optional<NodeId> parent;
  if (flags & kHasParent) parent = static_cast<NodeId>(in.Varint(kMostId));
  const BloomFilter filter = ReadFilter(&in);
  if (!in.ok() || flags > kAllFlags) return in.Refuse("cut off, or a filter is");
  FilterTreeNode node({filter.options(), (flags & kKnowsSiblings) != 0}, id, parent);
  node.subtree_filter_ = filter;
  node.all_unpublished_ = (flags & kAllUnpublished) != 0;
  ReadNeighbours(filter.options(), &in, &node.children_);
  ReadNeighbours(filter.options(), &in, &node.siblings_);
  if (!ReadKeys(in.String(), &node.keys_, &node.keys_seed_)) in.Fail();
  const uint64_t unpublished = in.Varint(in.remaining() / sizeof(uint64_t));
  for (uint64_t i = 0; i < unpublished; i++) node.unpublished_.push_back(in.U64());
  if (!in.Finished()) return in.Refuse("cut off, or a filter or the keys are");
  const std::string wrong = node.WhatIsWrong();
  if (!wrong.empty()) return in.Refuse(wrong);
  return node;
}

// What holds for every node that came about by calls of its members.
std::string FilterTreeNode::WhatIsWrong() const {
  if (parent_ == id_ || children_.count(id_) != 0 || siblings_.count(id_) != 0) {
    return "the node is its own neighbour";
  }
  for (const auto& [child, filter] : children_) {
    if (child == parent_ || siblings_.count(child) != 0) return "a child is a neighbour twice";
    BloomFilter united = subtree_filter_;
    united.Merge(filter);
    if (!(united == subtree_filter_)) return "the filter lacks bits of a child's";
  }
  if (parent_ && siblings_.count(*parent_) != 0) return "the parent is a sibling";
  if (!siblings_.empty() && !(options_.know_siblings && parent_)) return "siblings are not known";
  for (const std::string& key : keys_) {
    if (!subtree_filter_.MayContain(key)) return "the filter lacks a key";
  }
  for (const uint64_t hash : unpublished_) {
    if (!subtree_filter_.MayContainHash(hash)) return "the filter lacks an unpublished key";
  }
  const bool unpublished = all_unpublished_ || !unpublished_.empty();
  if (unpublished && (!parent_ || (all_unpublished_ && !unpublished_.empty()))) {
    return "more is unpublished than there is";
  }
  return "";
}

FilterTree::FilterTree(const FilterTreeOptions& options) : options_(options) {
  nodes_.emplace_back(options, 0, std::nullopt);
}

NodeId FilterTree::AddNode(NodeId parent_id) {
  FilterTreeNode& parent = nodes_.at(parent_id);
  const NodeId id = static_cast<NodeId>(nodes_.size());
  FilterTreeNode& node = nodes_.emplace_back(options_, id, parent_id);
  if (options_.know_siblings) {
    for (const auto& [sibling, filter] : parent.children()) {
      nodes_[sibling].AddSibling(id, node.subtree_filter());
      node.AddSibling(sibling, filter);
    }
  }
  parent.AddChild(id, node.subtree_filter());
  return id;
}

void FilterTree::Add(NodeId node, std::string_view key) {
  nodes_.at(node).Add(key);
  Publish(node);
}

void FilterTree::Publish(NodeId id) {
  for (std::optional<NodeId> at = id; at; at = nodes_[*at].parent()) {
    nodes_[*at].Publish([&](NodeId to, const FilterUpdate& update) {
      nodes_[to].Receive(*at, update);
      update_messages_++;
      update_bytes_ += update.key_hashes.size() * sizeof(uint64_t) +
                       (update.filter ? (update.filter->options().bits + 7) / 8 : 0);
    });
  }
}

RouteAnswer FilterTree::Route(NodeId from, std::string_view key) const {
  const FilterTreeNode::Ask ask = [&](NodeId to, NodeId asker, std::string_view same_key,
                                      RouteScope scope) {
    return nodes_[to].Route(same_key, asker, scope, ask);
  };
  return nodes_.at(from).Route(key, from, RouteScope::kEverywhere, ask);
}

double FilterTree::ExpectedFalseForwards(NodeId from) const {
  std::set<NodeId> way_up;
  for (std::optional<NodeId> at = from; at; at = nodes_.at(*at).parent()) way_up.insert(*at);
  double sum = 0;
  for (const FilterTreeNode& node : nodes_) {
    if (way_up.count(node.id()) == 0) sum += node.subtree_filter().ExpectedFalsePositiveRate();
  }
  return sum;
}

size_t FilterTree::MemoryBytes() const {
  size_t bytes = sizeof(*this);
  for (const FilterTreeNode& node : nodes_) bytes += node.MemoryBytes();
  return bytes;
}

}  // namespace rocksieve
