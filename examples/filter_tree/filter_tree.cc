// SPDX-License-Identifier: Apache-2.0
// A node of a tree of machines that find keys by each other's Bloom filters; one process for each.
//
//   filter_tree DIRECTORY PARENTS NODE [--siblings]
//
// PARENTS says what the tree is, alike for all nodes: the parent of each node, "-" for the root, as
// in "-,0,0,1,1,2,2". With --siblings, nodes know the filters of their siblings as well. Reads
// commands:
//   add KEY    the node holds it from now on; the next command waits until those above know
//   find KEY   prints who holds it, and what it took to find out
//
// Each node listens twice: at DIRECTORY/NODE.up for its children, at DIRECTORY/NODE.down for its
// parent and siblings. What comes from above waits for nodes further down only, and what comes from
// below for nodes above or to the side, so that no two nodes ever wait for each other.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksieve/routing/filter_tree.h>

#include "examples/transport/transport.h"

namespace {

using rocksieve::BloomFilter;
using rocksieve::BloomFilterOptions;
using rocksieve::FilterTreeNode;
using rocksieve::FilterTreeOptions;
using rocksieve::FilterUpdate;
using rocksieve::NodeId;
using rocksieve::RouteAnswer;
using rocksieve::RouteScope;

// What all nodes hold together, about, and how often a filter may err then.
constexpr uint64_t kKeysOfTree = 2000;
constexpr double kRate = 0.1;

// PARENTS, taken apart.
struct Tree {
  static constexpr int kNone = -1;
  std::vector<int> parents;

  explicit Tree(const std::string& text) {
    std::stringstream in(text);
    for (std::string parent; std::getline(in, parent, ',');) {
      parents.push_back(parent == "-" ? kNone : std::stoi(parent));
      if (parents.back() >= static_cast<int>(parents.size()) - 1 ||
          (parents.back() < 0) != (parents.size() == 1)) {
        throw std::invalid_argument("PARENTS: the root first, and each node after its parent");
      }
    }
  }

  FilterTreeNode Node(int id, bool know_siblings) const {
    FilterTreeOptions options;
    options.filter = BloomFilterOptions::ForKeys(kKeysOfTree, kRate);
    options.know_siblings = know_siblings;
    const BloomFilter empty(options.filter);
    const int parent = parents.at(static_cast<size_t>(id));
    FilterTreeNode node(options, static_cast<NodeId>(id),
                        parent == kNone ? std::nullopt : std::optional<NodeId>(parent));
    for (int other = 1; other < static_cast<int>(parents.size()); other++) {
      const int others_parent = parents[static_cast<size_t>(other)];
      if (others_parent == id) node.AddChild(static_cast<NodeId>(other), empty);
      if (know_siblings && others_parent == parent && other != id) {
        node.AddSibling(static_cast<NodeId>(other), empty);
      }
    }
    return node;
  }
};

// Messages are "route SCOPE ASKER KEY", answered with "HOLDER FORWARDS FALSE", and "keys ASKER
// HASH..." or "filter ASKER BYTES", answered with "ok". HOLDER is -1 if there is none.
class Peer {
 public:
  Peer(std::string directory, FilterTreeNode node)
      : directory_(std::move(directory)),
        id_(node.id()),
        parent_(node.parent()),
        node_(std::make_shared<FilterTreeNode>(std::move(node))) {}

  void Add(const std::string& key) {
    Change([&](FilterTreeNode* node) { node->Add(key); });
  }

  RouteAnswer Find(std::string_view key, NodeId asker, RouteScope scope) const {
    return Now()->Route(key, asker, scope,
                        [this](NodeId to, NodeId from, std::string_view wanted,
                               RouteScope further) { return Ask(to, from, wanted, further); });
  }

  // Never throws: to a message that is none, an empty answer.
  std::string Answer(std::string_view message) {
    std::istringstream in{std::string(message)};
    std::string verb;
    if (!(in >> verb)) return "";
    if (verb == "route") {
      int scope = 0;
      NodeId asker = 0;
      if (!(in >> scope >> asker) || scope < 0 || scope > 3 || in.get() != ' ') return "";
      const std::string key(std::istreambuf_iterator<char>(in), {});
      const RouteAnswer answer = Find(key, asker, static_cast<RouteScope>(scope));
      return (answer.holder ? std::to_string(*answer.holder) : "-1") + ' ' +
             std::to_string(answer.forwards) + ' ' + std::to_string(answer.false_forwards);
    }
    NodeId asker = 0;
    FilterUpdate update;
    if (!(in >> asker)) return "";
    if (verb == "filter" && in.get() == ' ') {
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      update.filter = BloomFilter::Deserialize(bytes, nullptr);
      if (!update.filter) return "";
    } else if (verb == "keys") {
      for (uint64_t hash; in >> hash;) update.key_hashes.push_back(hash);
    } else {
      return "";
    }
    bool received = false;
    Change([&](FilterTreeNode* node) { received = node->Receive(asker, update); });
    return received ? "ok" : "";
  }

 private:
  // Requests work on the node as it was when they came, so that they hold nobody up.
  std::shared_ptr<const FilterTreeNode> Now() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return node_;
  }

  template <typename What>
  void Change(What what) {
    std::vector<std::pair<NodeId, FilterUpdate>> to_tell;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      auto changed = std::make_shared<FilterTreeNode>(*node_);
      what(changed.get());
      changed->Publish([&](NodeId to, const FilterUpdate& update) {
        to_tell.push_back({to, update});
      });
      node_ = changed;
    }
    for (const auto& [to, update] : to_tell) Tell(to, update);
  }

  // The parent is spoken to from below, all others from above.
  std::string Address(NodeId to) const {
    return "unix:" + directory_ + "/" + std::to_string(to) + (to == parent_ ? ".up" : ".down");
  }

  RouteAnswer Ask(NodeId to, NodeId asker, std::string_view key, RouteScope scope) const {
    RouteAnswer answer;
    try {
      std::istringstream reply(Connection(Address(to))
                                   .Ask("route " + std::to_string(static_cast<int>(scope)) + ' ' +
                                        std::to_string(asker) + ' ' + std::string(key)));
      long holder = -1;
      reply >> holder >> answer.forwards >> answer.false_forwards;
      if (reply && holder >= 0) answer.holder = static_cast<NodeId>(holder);
    } catch (const std::runtime_error& error) {  // it is down: as if it had nothing
      std::fprintf(stderr, "filter_tree: %s\n", error.what());
    }
    return answer;
  }

  void Tell(NodeId to, const FilterUpdate& update) const {
    std::string message = (update.filter ? "filter " : "keys ") + std::to_string(id_);
    if (update.filter) message += ' ' + update.filter->Serialize();
    for (const uint64_t hash : update.key_hashes) message += ' ' + std::to_string(hash);
    try {
      if (Connection(Address(to)).Ask(message) == "ok") return;
      std::fprintf(stderr, "filter_tree: node %u did not take the update\n", to);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "filter_tree: %s\n", error.what());
    }
  }

  const std::string directory_;
  const NodeId id_;
  const std::optional<NodeId> parent_;
  mutable std::mutex mutex_;
  std::shared_ptr<const FilterTreeNode> node_;
};

void Run(const std::string& directory, const std::string& tree, int id, bool know_siblings) {
  Peer peer(directory, Tree(tree).Node(id, know_siblings));
  const std::string address = "unix:" + directory + "/" + std::to_string(id);
  const auto answer = [&](std::string_view message) { return peer.Answer(message); };
  const Server below(address + ".up", answer), above(address + ".down", answer);
  std::fprintf(stderr, "listening\n");
  for (std::string line; std::getline(std::cin, line);) {
    const std::string verb = line.substr(0, line.find(' '));
    const std::string key = line.substr(std::min(line.size(), verb.size() + 1));
    if (verb == "add") {
      peer.Add(key);
    } else if (verb == "find") {
      const RouteAnswer found = peer.Find(key, static_cast<NodeId>(id), RouteScope::kEverywhere);
      std::printf("%s: %s, %ju forwards, %ju in vain\n", key.c_str(),
                  found.holder ? ("node " + std::to_string(*found.holder)).c_str() : "nowhere",
                  uintmax_t{found.forwards}, uintmax_t{found.false_forwards});
    } else {
      std::fprintf(stderr, "filter_tree: add KEY or find KEY, not: %s\n", line.c_str());
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const bool know_siblings = argc == 5 && std::string_view(argv[4]) == "--siblings";
  if (argc != 4 && !know_siblings) {
    std::fprintf(stderr, "usage: filter_tree DIRECTORY PARENTS NODE [--siblings]\n");
    return 2;
  }
  Run(argv[1], argv[2], std::stoi(argv[3]), know_siblings);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "filter_tree: %s\n", error.what());
  return 1;
}
