#include <rocksieve/routing/filter_tree.h>

#include <optional>
#include <set>

namespace rocksieve {

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
