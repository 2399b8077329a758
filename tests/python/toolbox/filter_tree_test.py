import unittest

import filter_tree
from bloom import INDEPENDENT
from envelope import expect_golden, expect_in_page, golden, key_hash

KEYS = [f"key{i}" for i in range(10)]
BELOW = {n: [f"key{n}"] for n in (300, 7, 6)}


class FilterTreeNode(unittest.TestCase):
    def test_document(self):
        flags = filter_tree.HAS_PARENT | filter_tree.ALL_UNPUBLISHED
        expect_in_page(self, filter_tree.encode(1, flags, 0, ["apple"], {3: ["plum"]}, {}, [],
                                                (24, 2, INDEPENDENT, 0)))

    def test_golden(self):
        options = (400, 4, INDEPENDENT, 0)
        all_flags = (filter_tree.HAS_PARENT | filter_tree.KNOWS_SIBLINGS |
                     filter_tree.ALL_UNPUBLISHED)
        siblings = {n + 1000: keys for n, keys in BELOW.items()}
        expect_golden(self, "filter_tree_node", filter_tree.encode(
            5, all_flags, 1, KEYS, BELOW, siblings, [], options))
        # What it has published but two keys.
        expect_golden(self, "filter_tree_node_two_unpublished", filter_tree.encode(
            5, all_flags - filter_tree.ALL_UNPUBLISHED, 1, KEYS, BELOW, siblings,
            [key_hash("key8"), key_hash("key9")], options))
        decoded = filter_tree.Decoded(golden("filter_tree_node_two_unpublished"))
        self.assertEqual((decoded.number, decoded.parent, decoded.keys), (5, 1, KEYS))
        self.assertEqual(decoded.unpublished, [key_hash("key8"), key_hash("key9")])
        for n in BELOW:
            for filter in (decoded.subtree, decoded.children[n], decoded.siblings[n + 1000]):
                self.assertTrue(filter.may_contain(f"key{n}"))


if __name__ == "__main__":
    unittest.main()
