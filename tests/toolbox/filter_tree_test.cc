// Trees of nodes that find keys by each other's filters: nothing is missed, false forwards are as
// many as expected, updates travel no further than they must.
#include <rocksieve/routing/filter_tree.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

FilterTreeOptions Options(uint64_t bits, int hashes, bool know_siblings) {
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
      FilterTree tree(Options(20 + random() % 3000, 3, know_siblings));
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
  const FilterTree tree = RegularTree(Options(5000, 4, true), 3, 3, 7);
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
    const FilterTree tree = RegularTree(Options(400, 2, know_siblings), 3, 4, 6);
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
  const FilterTree without = RegularTree(Options(40000, 5, false), 2, 4, 20);
  const FilterTree with = RegularTree(Options(40000, 5, true), 2, 4, 20);
  // 5 and 6 are children of 1; 9 is one of 2.
  EXPECT_EQ(without.Route(5, "6/0").forwards, 2u);
  EXPECT_EQ(with.Route(5, "6/0").forwards, 1u);
  EXPECT_EQ(without.Route(5, "9/0").forwards, 4u);
  EXPECT_EQ(with.Route(5, "9/0").forwards, 3u);
  uint64_t forwards_without = 0, forwards_with = 0;
  for (NodeId from = 0; from < with.size(); from++) {
    for (NodeId holder = 0; holder < with.size(); holder++) {
      const std::string key = std::to_string(holder) + "/3";
      forwards_without += without.Route(from, key).forwards;
      forwards_with += with.Route(from, key).forwards;
    }
  }
  std::printf(
      "21 nodes: forwards %.3f, updates %.3f of those without siblings' filters\n",
      static_cast<double>(forwards_with) / static_cast<double>(forwards_without),
      static_cast<double>(with.update_messages()) / static_cast<double>(without.update_messages()));
  EXPECT_LT(static_cast<double>(forwards_with), 0.85 * static_cast<double>(forwards_without));
  EXPECT_GT(with.update_messages(), 3 * without.update_messages());
  EXPECT_GT(with.MemoryBytes(), without.MemoryBytes());
}

TEST(FilterTree, UpdatesTravelAsFarAsTheyChangeSomething) {
  FilterTree tree(Options(100000, 4, false));
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

}  // namespace
}  // namespace rocksieve
