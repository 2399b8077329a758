// A whole tree of nodes that find keys by each other's Bloom filters (filter_tree_node.h), in one
// process: to plan such a tree, and to see what it costs.
//
//   FilterTree tree(options);                    // a root, node 0
//   NodeId left = tree.AddNode(0), right = tree.AddNode(0);
//   tree.Add(right, "apple");                    // its update has travelled when this returns
//   tree.Route(left, "apple").holder;            // right
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include <rocksieve/routing/filter_tree_node.h>

namespace rocksieve {

class FilterTree {
 public:
  // Throws std::invalid_argument as BloomFilter does.
  explicit FilterTree(const FilterTreeOptions& options);

  // The number of the new node. Throws std::out_of_range if there is no such parent.
  NodeId AddNode(NodeId parent);
  // Throw std::out_of_range if there is no such node.
  void Add(NodeId node, std::string_view key);
  // What a request that starts at this node finds, and costs.
  RouteAnswer Route(NodeId from, std::string_view key) const;

  size_t size() const { return nodes_.size(); }
  const FilterTreeNode& node(NodeId id) const { return nodes_.at(id); }

  // What updates have cost so far: messages from node to node, and their bytes (8 for a key, or a
  // whole filter).
  uint64_t update_messages() const { return update_messages_; }
  uint64_t update_bytes() const { return update_bytes_; }

  // False forwards of a request for a key that no node holds, on average over such keys: the sum of
  // the rates of the filters of all nodes that are not on the way from this one to the root. For
  // the filter of a node has all bits of those below it, so that each of these nodes is asked if
  // and only if its own filter says yes. The same whether siblings are known or not: that saves
  // messages on the way up.
  double ExpectedFalseForwards(NodeId from) const;
  size_t MemoryBytes() const;

 private:
  // Lets the update of a node travel as far as it goes.
  void Publish(NodeId id);

  FilterTreeOptions options_;
  std::deque<FilterTreeNode> nodes_;
  uint64_t update_messages_ = 0, update_bytes_ = 0;
};

}  // namespace rocksieve
