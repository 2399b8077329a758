// The bytes of a node of a filter tree: docs/formats/toolbox.md.
#include <rocksieve/routing/filter_tree_node.h>

#include <limits>

#include "lib/dynamic/frame.h"
#include "lib/format/byte_io.h"

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

}  // namespace

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
  out.String(keys_.Serialize());
  out.Varint(unpublished_.size());
  for (const uint64_t hash : unpublished_) out.U64(hash);
  return WriteFrame(FrameType::kFilterTree, payload);
}

std::optional<FilterTreeNode> FilterTreeNode::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  const auto payload = ReadFrame(bytes, FrameType::kFilterTree, error);
  if (!payload) return std::nullopt;
  ByteReader in(*payload);
  const NodeId id = static_cast<NodeId>(in.Varint(kMostId));
  const uint8_t flags = in.U8();
  std::optional<NodeId> parent;
  if (flags & kHasParent) parent = static_cast<NodeId>(in.Varint(kMostId));
  const BloomFilter filter = ReadFilter(&in);
  if (in.ok() && flags <= kAllFlags) {
    FilterTreeNode node({filter.options(), (flags & kKnowsSiblings) != 0}, id, parent);
    node.subtree_filter_ = filter;
    node.all_unpublished_ = (flags & kAllUnpublished) != 0;
    ReadNeighbours(filter.options(), &in, &node.children_);
    ReadNeighbours(filter.options(), &in, &node.siblings_);
    std::optional<CuckooTable> keys = CuckooTable::Deserialize(in.String(), nullptr);
    const uint64_t unpublished = in.Varint(in.remaining() / sizeof(uint64_t));
    for (uint64_t i = 0; i < unpublished; i++) node.unpublished_.push_back(in.U64());
    if (keys && in.Finished()) {
      node.keys_ = std::move(*keys);
      const std::string wrong = node.WhatIsWrong();
      if (wrong.empty()) return node;
      if (error != nullptr) *error = "damaged: " + wrong;
      return std::nullopt;
    }
  }
  if (error != nullptr) *error = "damaged: cut off, or a filter or the keys are";
  return std::nullopt;
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
  for (const std::string_view key : keys_.SortedKeys()) {
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

}  // namespace rocksieve
