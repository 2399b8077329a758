// SPDX-License-Identifier: Apache-2.0
// A node of a tree of machines that find keys by each other's Bloom filters: who has this key?
//
// DESCRIPTION. Every node holds keys of its own, and knows a filter of each child's whole subtree.
// A request goes down to those children whose filter may contain the key, and, if nothing is found
// there, up to the parent, which looks in its other children, and so on. Where a key is not, a
// filter may still say that it could be: a false forward, which costs two messages and no more. If
// nodes also know the filters of their siblings, a request that would go up and down again goes
// across, at the price of those filters' memory and updates.
//
// A node adds a key to its filter and tells its parent (and siblings) only if that changed a bit;
// the parent does the same, so that an update ends where the filter has all its bits already.
// Until it has arrived, requests that come by there do not find the key. Keys cannot be removed,
// since others may have set the same bits; start afresh when too much of a filter is of the past.
//
// This class is what one machine knows and decides. It sends nothing: whoever uses it says how a
// request or an update gets to another node. FilterTree, below, has all nodes in one process.
//
// All filters of a tree have the same options, so that they can be united: make them for the number
// of keys of all nodes together (BloomFilterOptions::ForKeys), since the root's has those.
//
// Sources: S. Czerwinski et al., "An architecture for a secure service discovery service", 1999 (a
// hierarchy of filters, each the OR of those below it); A. Broder, M. Mitzenmacher, "Network
// applications of Bloom filters: a survey", 2004, section 5 (resource routing).
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>

namespace rocksieve {

using NodeId = uint32_t;

struct FilterTreeOptions {
  BloomFilterOptions filter;
  // Nodes know the filters of their siblings too.
  bool know_siblings = false;
};

// Where the node that is asked is to look.
enum class RouteScope : uint8_t {
  kEverywhere = 0,     // a request that starts here
  kSubtree = 1,        // from above, or from a sibling: here and below
  kNotBelowAsker = 2,  // from a child: everywhere but in that child's subtree
  kNotBelow = 3,       // from a child, which has asked its siblings too: here and above
};

struct RouteAnswer {
  // The first node that was found to hold the key.
  std::optional<NodeId> holder;
  // Requests sent from node to node; each is answered once.
  uint64_t forwards = 0;
  // Those of them that a filter suggested, to a subtree that does not hold the key.
  uint64_t false_forwards = 0;
};

// What has been added to a node's filter: keys by their hashes, or the whole filter where that is
// less to send.
struct FilterUpdate {
  std::vector<uint64_t> key_hashes;
  std::optional<BloomFilter> filter;
};

class FilterTreeNode {
 public:
  // Asks node `to`, as node `asker`, to route the key; its answer. An answer of no holder stands
  // for a node that does not answer too.
  using Ask =
      std::function<RouteAnswer(NodeId to, NodeId asker, std::string_view key, RouteScope scope)>;
  // Tells node `to`, whose Receive() is to be called.
  using Tell = std::function<void(NodeId to, const FilterUpdate& update)>;

  // Without parent it is the root. Throws std::invalid_argument as BloomFilter does.
  FilterTreeNode(const FilterTreeOptions& options, NodeId id, std::optional<NodeId> parent);

  // A neighbour with the filter of its subtree, which may be empty. False, and nothing changed, if
  // there is one of that id already (this node and its parent included), or the filter has other
  // options, or siblings are not known in this tree. Publish() afterwards.
  bool AddChild(NodeId child, const BloomFilter& filter);
  bool AddSibling(NodeId sibling, const BloomFilter& filter);

  // A key that this node holds from now on. Publish() afterwards, at once or after many.
  void Add(std::string_view key);
  // Takes up what a child or a sibling tells. False, and nothing changed, if `from` is neither, or
  // its filter has other options. Publish() afterwards.
  bool Receive(NodeId from, const FilterUpdate& update);
  // Tells parent and siblings what the filter has got since the last time, if anything. If `tell`
  // throws, the next call tells all of the filter.
  void Publish(const Tell& tell);

  // Finds a node that holds the key: this one, one below, across, or above, as far as the scope
  // goes, asking one after the other.
  RouteAnswer Route(std::string_view key, NodeId asker, RouteScope scope, const Ask& ask) const;

  NodeId id() const { return id_; }
  std::optional<NodeId> parent() const { return parent_; }
  bool Holds(std::string_view key) const { return keys_.find(key) != keys_.end(); }
  // Of this node's keys and all below.
  const BloomFilter& subtree_filter() const { return subtree_filter_; }
  const std::map<NodeId, BloomFilter>& children() const { return children_; }
  const std::map<NodeId, BloomFilter>& siblings() const { return siblings_; }
  // 64 bytes for each key of up to 15, all filters, and what is unpublished. Visits all keys.
  size_t MemoryBytes() const;

  // With keys, neighbours, their filters, and what is not published yet; a node can go on from it
  // after a restart. Bytes: docs/formats/toolbox.md, "Node of a filter tree".
  std::string Serialize() const;
  // Nothing, and in *error (which may be null) why, if the bytes are not what Serialize() gives.
  static std::optional<FilterTreeNode> Deserialize(std::string_view bytes, std::string* error);

 private:
  bool IsKnown(NodeId id) const;
  void AddToSubtree(uint64_t key_hash);
  void AddToSubtree(const BloomFilter& filter);
  std::string WhatIsWrong() const;

  FilterTreeOptions options_;
  NodeId id_;
  std::optional<NodeId> parent_;
  // A tree, since keys that somebody chooses cannot make it slow, as they can a hash table.
  std::set<std::string, std::less<>> keys_;
  uint64_t keys_seed_ = 0;  // of the hash table as which they are written
  BloomFilter subtree_filter_;
  std::map<NodeId, BloomFilter> children_, siblings_;
  // Not published yet: these, or all of the filter.
  std::vector<uint64_t> unpublished_;
  bool all_unpublished_ = false;
};

// A whole tree of nodes that find keys by each other's Bloom filters (FilterTreeNode), in one
// process: to plan such a tree, and to see what it costs.
//
//   FilterTree tree(options);                    // a root, node 0
//   NodeId left = tree.AddNode(0), right = tree.AddNode(0);
//   tree.Add(right, "apple");                    // its update has travelled when this returns
//   tree.Route(left, "apple").holder;            // right
//
// Thread safety: const members from any number of threads at once, as long as none calls another.

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
