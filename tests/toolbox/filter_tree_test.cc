// SPDX-License-Identifier: Apache-2.0
// Trees of nodes that find keys by each other's filters: nothing is missed, false forwards are as
// many as expected, updates travel no further than they must. And one node: what it tells, whom it
// asks, whom it refuses; and as bytes.
#include <rocksieve/routing/filter_tree.h>

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/toolbox/envelope.h"
#include "support/text.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

FilterTreeOptions TreeOptions(uint64_t bits, int hashes, bool know_siblings) {
  FilterTreeOptions options;
  options.filter.bits = bits;
  options.filter.hashes = hashes;
  options.filter.hashing = BloomHashing::kIndependent;  // whose rate is the fill's power exactly
  options.know_siblings = know_siblings;
  return options;
}

// `levels` levels of `fanout` children each; keys "NODE/i".
FilterTree RegularTree(const FilterTreeOptions& options, int levels, NodeId fanout,
                       int keys_per_node) {
  FilterTree tree(options);
  NodeId first = 0;
  for (int level = 0; level < levels; level++) {
    const NodeId end = static_cast<NodeId>(tree.size());
    for (; first < end; first++) {
      for (NodeId i = 0; i < fanout; i++) tree.AddNode(first);
    }
  }
  for (NodeId node = 0; node < tree.size(); node++) {
    for (int i = 0; i < keys_per_node; i++) {
      tree.Add(node, std::to_string(node) + "/" + std::to_string(i));
    }
  }
  return tree;
}

TEST(FilterTree, FindsEveryKeyFromEverywhereInAnyTree) {
  for (const bool know_siblings : {false, true}) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " siblings " << know_siblings);
      std::mt19937_64 random(seed);
      // From filters that say yes to everything to such that hardly ever do in vain.
      FilterTree tree(TreeOptions(20 + random() % 3000, 3, know_siblings));
      std::map<std::string, NodeId> holders;
      for (int step = 0; step < 150; step++) {
        if (random() % 5 == 0) tree.AddNode(static_cast<NodeId>(random() % tree.size()));
        const NodeId holder = static_cast<NodeId>(random() % tree.size());
        const std::string key = std::to_string(step);
        tree.Add(holder, key);
        holders[key] = holder;
      }
      for (const auto& [key, holder] : holders) {
        for (NodeId from = 0; from < tree.size(); from++) {
          const RouteAnswer answer = tree.Route(from, key);
          ASSERT_EQ(answer.holder, holder);
          ASSERT_LT(answer.forwards, tree.size()) << "no node is asked twice";
          ASSERT_LE(answer.false_forwards, answer.forwards);
          ASSERT_EQ(answer.forwards == 0, from == holder);
        }
      }
      for (NodeId from = 0; from < tree.size(); from++) {
        ASSERT_FALSE(tree.Route(from, "missing").holder);
      }
    }
  }
}

TEST(FilterTree, InnerNodesHoldTheUnionOfAllBelow) {
  const FilterTree tree = RegularTree(TreeOptions(5000, 4, true), 3, 3, 7);
  for (NodeId id = 0; id < tree.size(); id++) {
    const FilterTreeNode& node = tree.node(id);
    BloomFilter united(node.subtree_filter().options());
    for (int i = 0; i < 7; i++) united.Add(std::to_string(id) + "/" + std::to_string(i));
    for (const auto& [child, filter] : node.children()) {
      EXPECT_EQ(filter, tree.node(child).subtree_filter());
      EXPECT_TRUE(united.Merge(filter));
    }
    for (const auto& [sibling, filter] : node.siblings()) {
      EXPECT_EQ(filter, tree.node(sibling).subtree_filter());
    }
    EXPECT_EQ(node.siblings().size(), id == 0 ? 0u : 2u);
    EXPECT_EQ(united, node.subtree_filter());
  }
}

TEST(FilterTree, FalseForwardsAreAsManyAsExpected) {
  for (const bool know_siblings : {false, true}) {
    const FilterTree tree = RegularTree(TreeOptions(400, 2, know_siblings), 3, 4, 6);
    for (const NodeId from : {NodeId{0}, NodeId{3}, NodeId{84}}) {
      constexpr int kRequests = 20000;
      double sum = 0, squares = 0;
      for (int i = 0; i < kRequests; i++) {
        const RouteAnswer answer = tree.Route(from, "missing" + std::to_string(i));
        ASSERT_FALSE(answer.holder);
        const double count = static_cast<double>(answer.false_forwards);
        sum += count;
        squares += count * count;
      }
      const double mean = sum / kRequests;
      const double error = std::sqrt((squares / kRequests - mean * mean) / kRequests);
      EXPECT_NEAR(mean, tree.ExpectedFalseForwards(from), 5 * error) << "from node " << from;
      EXPECT_GT(mean, 0.5) << "else this says little";
    }
  }
}

// What siblings' filters are for: the way up and down again, which is saved.
TEST(FilterTree, KnowingSiblingsSavesForwardsAndCostsUpdatesAndMemory) {
  const FilterTree without = RegularTree(TreeOptions(40000, 5, false), 2, 4, 20);
  const FilterTree with = RegularTree(TreeOptions(40000, 5, true), 2, 4, 20);
  // 5 and 6 are children of 1; 9 is one of 2.
  EXPECT_EQ(without.Route(5, "6/0").forwards, 2u);
  EXPECT_EQ(with.Route(5, "6/0").forwards, 1u);
  EXPECT_EQ(without.Route(5, "9/0").forwards, 4u);
  EXPECT_EQ(with.Route(5, "9/0").forwards, 3u);
  EXPECT_GT(with.update_messages(), 3 * without.update_messages());
  EXPECT_GT(with.MemoryBytes(), without.MemoryBytes());
}

TEST(FilterTree, UpdatesTravelAsFarAsTheyChangeSomething) {
  FilterTree tree(TreeOptions(100000, 4, false));
  const NodeId inner = tree.AddNode(0), a = tree.AddNode(inner), b = tree.AddNode(inner);
  tree.Add(0, "root's");
  EXPECT_EQ(tree.update_messages(), 0u);
  tree.Add(a, "apple");
  EXPECT_EQ(tree.update_messages(), 2u);
  EXPECT_EQ(tree.update_bytes(), 16u);
  tree.Add(a, "apple");
  EXPECT_EQ(tree.update_messages(), 2u) << "nothing new";
  tree.Add(b, "apple");
  EXPECT_EQ(tree.update_messages(), 3u) << "the inner node has its bits";
  tree.Add(inner, "apple");
  EXPECT_EQ(tree.update_messages(), 3u);
  EXPECT_EQ(tree.Route(0, "apple").holder, inner) << "the nearest on the way down";
  EXPECT_THROW(tree.AddNode(99), std::out_of_range);
  EXPECT_THROW(tree.Add(99, "key"), std::out_of_range);
  EXPECT_THROW(tree.Route(99, "key"), std::out_of_range);
  EXPECT_THROW(FilterTree(FilterTreeOptions{}), std::invalid_argument);
}

// Many keys in one message, or the whole filter if that is less.
TEST(FilterTreeNode, PublishesInBatches) {
  for (const int keys : {1, 10, 50}) {
    const FilterTreeOptions options = TreeOptions(1280, 3, false);
    FilterTreeNode parent(options, 1, 0), child(options, 2, 1);
    ASSERT_TRUE(parent.AddChild(2, child.subtree_filter()));
    for (int i = 0; i < keys; i++) child.Add(std::to_string(i));
    int told = 0;
    const FilterTreeNode::Tell tell = [&](NodeId to, const FilterUpdate& update) {
      told++;
      EXPECT_EQ(to, 1u);
      EXPECT_EQ(update.filter.has_value(), keys == 50) << "50 keys are 400 bytes, a filter is 160";
      EXPECT_EQ(update.key_hashes.size(), keys == 50 ? 0u : static_cast<size_t>(keys));
      EXPECT_TRUE(parent.Receive(2, update));
    };
    child.Publish(tell);
    child.Publish(tell);
    EXPECT_EQ(told, 1) << "nothing is told twice";
    EXPECT_EQ(parent.children().at(2), child.subtree_filter());
    EXPECT_EQ(parent.subtree_filter(), child.subtree_filter());
    int parent_tells = 0;
    parent.Publish([&](NodeId to, const FilterUpdate&) { parent_tells += to == 0; });
    EXPECT_EQ(parent_tells, 1);
  }
}

TEST(FilterTreeNode, TellsAgainWhatCouldNotBeTold) {
  const FilterTreeOptions options = TreeOptions(1280, 3, false);
  FilterTreeNode parent(options, 1, 0), child(options, 2, 1);
  ASSERT_TRUE(parent.AddChild(2, child.subtree_filter()));
  child.Add("apple");
  const auto fail = [&](NodeId, const FilterUpdate&) {
    child.Add("pear");  // meanwhile
    throw std::runtime_error("the parent is down");
  };
  EXPECT_THROW(child.Publish(fail), std::runtime_error);
  child.Publish([&](NodeId, const FilterUpdate& update) { parent.Receive(2, update); });
  EXPECT_EQ(parent.subtree_filter(), child.subtree_filter());
  EXPECT_TRUE(FilterTreeNode::Deserialize(child.Serialize(), nullptr));
}

TEST(FilterTreeNode, GoesOnWhereANodeDoesNotAnswer) {
  const FilterTreeOptions options = TreeOptions(1280, 3, false);
  FilterTreeNode node(options, 1, 0);
  BloomFilter has_apple(options.filter);
  has_apple.Add("apple");
  ASSERT_TRUE(node.AddChild(2, has_apple));
  ASSERT_TRUE(node.AddChild(3, has_apple));
  std::vector<NodeId> asked;
  const RouteAnswer answer =
      node.Route("apple", 1, RouteScope::kEverywhere,
                 [&](NodeId to, NodeId asker, std::string_view, RouteScope scope) {
                   EXPECT_EQ(asker, 1u);
                   EXPECT_EQ(scope, to == 0 ? RouteScope::kNotBelowAsker : RouteScope::kSubtree);
                   asked.push_back(to);
                   RouteAnswer theirs;
                   if (to == 0) theirs = {NodeId{77}, 5, 2};
                   return theirs;  // 2 and 3 are down
                 });
  EXPECT_THAT(asked, testing::ElementsAre(2, 3, 0));
  EXPECT_EQ(answer.holder, NodeId{77});
  EXPECT_EQ(answer.forwards, 3u + 5u);
  EXPECT_EQ(answer.false_forwards, 2u + 2u);
}

TEST(FilterTreeNode, RefusesNeighboursThatCannotBe) {
  const FilterTreeOptions options = TreeOptions(1280, 3, true);
  FilterTreeNode node(options, 1, 0), root(options, 0, std::nullopt);
  const BloomFilter filter(options.filter), other(TreeOptions(1281, 3, true).filter);
  ASSERT_TRUE(node.AddChild(2, filter));
  ASSERT_TRUE(node.AddSibling(3, filter));
  for (const NodeId known : {0, 1, 2, 3}) {
    EXPECT_FALSE(node.AddChild(known, filter)) << known;
    EXPECT_FALSE(node.AddSibling(known, filter)) << known;
  }
  EXPECT_FALSE(node.AddChild(4, other));
  EXPECT_FALSE(node.AddSibling(4, other));
  EXPECT_FALSE(root.AddSibling(4, filter)) << "a root has none";
  EXPECT_FALSE(FilterTreeNode(TreeOptions(1280, 3, false), 1, 0).AddSibling(4, filter));
  EXPECT_FALSE(node.Receive(4, FilterUpdate{{1}, std::nullopt}));
  EXPECT_FALSE(node.Receive(0, FilterUpdate{{1}, std::nullopt})) << "nothing comes from above";
  EXPECT_FALSE(node.Receive(2, FilterUpdate{{}, other}));
  EXPECT_EQ(node.subtree_filter(), filter);
}

// The example of docs/formats/toolbox.md, and a node with all that one can have.
FilterTreeNode SmallNode() {
  FilterTreeNode node(TreeOptions(24, 2, false), 1, 0);
  BloomFilter child(node.subtree_filter().options());
  child.Add("plum");
  EXPECT_TRUE(node.AddChild(3, child));
  node.Publish([](NodeId, const FilterUpdate&) {});
  node.Add("apple");
  return node;
}

FilterTreeNode LargeNode(int published_keys) {
  FilterTreeNode node(TreeOptions(400, 4, true), 5, 1);
  for (NodeId id : {300, 7, 6}) {
    BloomFilter filter(node.subtree_filter().options());
    filter.Add("key" + std::to_string(id));
    EXPECT_TRUE(node.AddChild(id, filter));
    EXPECT_TRUE(node.AddSibling(id + 1000, filter));
  }
  for (int i = 0; i < 10; i++) {
    if (i > 0 && i == published_keys) node.Publish([](NodeId, const FilterUpdate&) {});
    node.Add("key" + std::to_string(i));
  }
  return node;
}

TEST(FilterTreeNode, HasTheDocumentedBytes) {
  EXPECT_EQ(
      HexBytes(SmallNode().Serialize()),
      "52535442010f85000000000000000105002b5253544201011500000000000000180000000000000002020000"
      "00000000000000804a0c3edc2b2b62d91601032b525354420101150000000000000018000000000000000202"
      "000000000000000000800891c0f9ec1cafdd8e00255253544201060f00000000000000000000000000000001"
      "056170706c65aab6bdd005a8dfe0000223490b23f2ce71");
  EXPECT_EQ(HexBytes(LargeNode(0).Serialize()), HexBytes(GoldenBytes("filter_tree_node")));
  EXPECT_EQ(HexBytes(LargeNode(8).Serialize()),
            HexBytes(GoldenBytes("filter_tree_node_two_unpublished")));
}

TEST(FilterTreeNode, GoesOnFromItsBytes) {
  for (const FilterTreeNode& node : {SmallNode(), LargeNode(0), LargeNode(8)}) {
    std::string error;
    auto read = FilterTreeNode::Deserialize(node.Serialize(), &error);
    ASSERT_TRUE(read) << error;
    EXPECT_EQ(read->Serialize(), node.Serialize());
    EXPECT_EQ(read->id(), node.id());
    EXPECT_EQ(read->parent(), node.parent());
    EXPECT_EQ(read->children(), node.children());
    EXPECT_EQ(read->siblings(), node.siblings());
    EXPECT_EQ(read->subtree_filter(), node.subtree_filter());
    uint64_t told = 0;  // what was not published is not lost
    read->Publish([&](NodeId, const FilterUpdate& update) {
      told += update.key_hashes.size() + update.filter.has_value();
    });
    EXPECT_GT(told, 0u);
  }
}

TEST(FilterTreeNode, DamagedAndHostileBytesAreAnError) {
  ExpectRefusesDamage<FilterTreeNode>(SmallNode().Serialize());
  // Parts that are intact, and do not fit together.
  const auto error_of = [](const std::string& payload) {
    std::string error;
    EXPECT_FALSE(
        FilterTreeNode::Deserialize(WriteEnvelope(EnvelopeType::kFilterTree, payload), &error));
    return error;
  };
  const auto part = [](const std::string& bytes) {
    return static_cast<char>(bytes.size()) + bytes;  // below 128
  };
  const BloomFilter empty(TreeOptions(24, 2, false).filter);
  BloomFilter full = empty;
  for (int i = 0; i < 100; i++) full.Add(std::to_string(i));
  const auto keys_of = [&](const std::string& keys) {  // seed, and what follows it
    return part(WriteEnvelope(EnvelopeType::kCuckooTable, std::string(8, '\0') + keys));
  };
  const std::string none = part(empty.Serialize()), all = part(full.Serialize());
  const std::string zero(1, '\0'), no_keys = keys_of(zero), keys = keys_of("\1\5apple");
  const std::string root = "\5" + zero;  // node 5, no flags
  std::string error;
  ASSERT_TRUE(FilterTreeNode::Deserialize(
      WriteEnvelope(EnvelopeType::kFilterTree, root + all + "\1\7" + none + zero + keys + zero),
      &error))
      << error;
  EXPECT_THAT(error_of(root + none + "\1\7" + all + zero + keys + zero), HasSubstr("child"));
  EXPECT_THAT(error_of(root + none + zero + zero + keys + zero), HasSubstr("lacks a key"));
  EXPECT_THAT(error_of(root + all + "\1\5" + none + zero + keys + zero), HasSubstr("its own"));
  EXPECT_THAT(error_of(root + all + zero + "\1\7" + none + keys + zero), HasSubstr("siblings"));
  EXPECT_THAT(error_of("\5\3\6" + all + "\1\6" + none + zero + keys + zero), HasSubstr("twice"));
  EXPECT_THAT(error_of("\5\3\6" + all + zero + "\1\6" + none + keys + zero), HasSubstr("parent"));
  EXPECT_THAT(error_of("\5\4" + all + zero + zero + keys + zero), HasSubstr("unpublished"));
  EXPECT_THAT(error_of("\5\1\6" + none + zero + zero + no_keys + "\1" + std::string(8, 'x')),
              HasSubstr("lacks an unpublished"));
  EXPECT_THAT(error_of("\5\x8" + all + zero + zero + keys + zero), HasSubstr("cut off"));
  EXPECT_THAT(error_of(root + all + "\2\7" + none + "\6" + none + zero + keys + zero),
              HasSubstr("cut off"));
  EXPECT_THAT(error_of(""), HasSubstr("cut off"));
}

}  // namespace
}  // namespace rocksieve
