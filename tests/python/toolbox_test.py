# SPDX-License-Identifier: Apache-2.0
"""That goldens, and the examples of docs/formats/toolbox.md, are as the decoders beside this say. With
ROCKSIEVE_WRITE_GOLDEN in the environment the goldens are written instead."""

import os
import unittest

import toolbox_estimators as e
import toolbox_format as f
from golden_files import ROOT, golden_text, read_golden, write_golden

PAGE = (ROOT / "docs/formats/toolbox.md").read_text(encoding="utf-8")


def golden(name):
    return read_golden("toolbox")[name]


def keys(begin, end):
    return [f"key{i}" for i in range(begin, end)]


def with_keys(counter, some):
    for key in some:
        counter.add(key)
    return counter


KEYS, THOUSAND = keys(0, 40), keys(0, 1000)
# key0 .. key39, and key0 19 times more: 4 bits do not hold that.
REPEATED = KEYS + ["key0"] * 19
# Twelve keys, some of them far more often than others.
SQUARES = [f"key{i * i % 64}" for i in range(200)]
BELOW = {n: [f"key{n}"] for n in (300, 7, 6)}
SIBLINGS = {n + 1000: some for n, some in BELOW.items()}


class Toolbox(unittest.TestCase):
    def expect_golden(self, name, data):
        """These bytes are in tests/golden/toolbox.json, with which C++ tests compare as well."""
        if "ROCKSIEVE_WRITE_GOLDEN" in os.environ:
            all_bytes = read_golden("toolbox") | {name: data}
            write_golden("toolbox", golden_text(({"name": each}, all_bytes[each])
                                                for each in sorted(all_bytes)))
        self.assertEqual(golden(name).hex(), data.hex(), name)

    def test_examples_stand_in_the_document(self):
        fruit = ["apple", "pear"]
        for data in (
                f.bloom(fruit, 60, 3, f.INDEPENDENT, 7),
                f.counting_bloom([*fruit, "apple"], 15, 3, f.INDEPENDENT, 0, 4),
                f.cuckoo_table(["plum", "pear", "apple", ""], 7),
                f.filter_tree_node(1, f.HAS_PARENT | f.ALL_UNPUBLISHED, 0, ["apple"], {3: ["plum"]}, {},
                                   [], (24, 2, f.INDEPENDENT, 0)),
                with_keys(e.CountMin(4, 2, 7, 0), [*fruit, "apple"]).encode(),
                with_keys(e.TopK(2, 0), ["apple", "apple", "pear", "plum"]).encode(),
                e.hyper_log_log(fruit, 4, 0), e.kmv(THOUSAND[:9], 4, 0),
                e.min_hash(fruit, 4, e.ONE_PERMUTATION, 0),
                e.lsh_index({5: ["apple"], 300: ["pear"]}, 2, e.ONE_PERMUTATION, 0, 2, 1)):
            self.assertTrue(f"`{data.hex(' ').upper()}`" in PAGE, data.hex(" ").upper())
        values = e.borrowed(e.places(keys(0, 3), 1000, e.ONE_PERMUTATION, 5), 5)
        self.assertTrue(f"{f.key_hash(e.words(values)):016X}" in PAGE, "borrowed values")

    def test_bloom(self):
        for name, m, k, hashing, seed, partitioned in [
                ("bloom_independent", 383, 7, f.INDEPENDENT, 0, False),
                ("bloom_double", 400, 6, f.DOUBLE, 1, False),
                ("bloom_enhanced_double", 50, 7, f.ENHANCED, 2**64 - 1, False),
                ("bloom_partitioned", 385, 7, f.INDEPENDENT, 3, True),
                ("bloom_partitioned_double", 384, 6, f.DOUBLE, 4, True),
                ("bloom_one_bit", 1, 1, f.ENHANCED, 0, False)]:
            self.expect_golden(name, f.bloom(KEYS, m, k, hashing, seed, partitioned))
            decoded = f.Bloom(golden(name))
            self.assertTrue(all(map(decoded.may_contain, KEYS)), name)
        decoded = f.Bloom(golden("bloom_independent"))
        self.assertLess(sum(decoded.may_contain(f"other{i}") for i in range(400)), 20)
        for name, m, k, hashing, seed, w in [("counting_bloom_4", 383, 7, f.INDEPENDENT, 0, 4),
                                             ("counting_bloom_8", 200, 3, f.DOUBLE, 9, 8)]:
            self.expect_golden(name, f.counting_bloom(REPEATED, m, k, hashing, seed, w))
            decoded = f.CountingBloom(golden(name))
            self.assertTrue(all(map(decoded.count, REPEATED)))
            self.assertGreaterEqual(decoded.count("key0"), 15 if w == 4 else 20)
        for name, count, layers in ("scalable_bloom_one_layer", 40, 1), ("scalable_bloom", 300, 3):
            self.expect_golden(name, with_keys(f.ScalableBloom(64, 0.05, 2, 0.8, 5),
                                               keys(0, count)).encode())
            decoded = f.ScalableBloom.decode(golden(name))
            self.assertEqual(len(decoded.layers), layers)
            self.assertTrue(all(map(decoded.may_contain, keys(0, count))))
            self.assertLess(sum(decoded.may_contain(f"other{i}") for i in range(1000)), 50)

    def test_cuckoo(self):
        # Where the writer puts an entry is its own affair, so golden bytes come from the C++ program;
        # but what is in them follows from the keys.
        section = PAGE[PAGE.index("## Cuckoo filter"):]
        example = bytes.fromhex(section.split("all bytes:\n`")[1].split("`")[0])
        for data, some, sizes in (
                (example, ["apple", "pear", "apple", "plum"], (3, 7, 5)),
                # Full but for two slots: most were moved.
                (golden("cuckoo_full_11_bits"), keys(0, 38), (10, 11, 1)),
                (golden("cuckoo_wide"), keys(0, 50), (13, 32, 2))):
            decoded = f.CuckooFilter(data)
            self.assertEqual(decoded.entries(), sorted(map(decoded.entry, some)))
            self.assertEqual((decoded.m, decoded.f, decoded.seed), sizes)
        for decoded.m in range(1, 40):
            for fingerprint in range(1, 20):
                for bucket in range(decoded.m):
                    other = decoded.other_bucket(bucket, fingerprint)
                    self.assertEqual(decoded.other_bucket(other, fingerprint), bucket)
        self.expect_golden("cuckoo_table", f.cuckoo_table(KEYS + ["long" * 50], 2**64 - 1))

    def test_counting(self):
        for name, conservative in ("count_min", 0), ("count_min_conservative", 1):
            sketch = with_keys(e.CountMin(13, 3, 2**64 - 1, conservative), SQUARES)
            sketch.add("many", 1000)
            self.expect_golden(name, sketch.encode())
            decoded = e.CountMin.decode(golden(name))
            self.assertEqual(decoded.total, 1200)
            for key in SQUARES:
                self.assertGreaterEqual(decoded.count(key), SQUARES.count(key))
            self.assertLess(decoded.count("many"), 1100)
        for name, m in ("top_k", 7), ("top_k_of_few_keys", 1000):
            summary = with_keys(e.TopK(m, 5), SQUARES)
            self.expect_golden(name, summary.encode())
            decoded = e.TopK.decode(golden(name))
            self.assertEqual(decoded.items, summary.items)
            for key, (count, error) in decoded.items.items():
                self.assertTrue(count - error <= SQUARES.count(key.decode()) <= count)

    def test_distinct(self):
        self.expect_golden("hyper_log_log", e.hyper_log_log(THOUSAND, 5, 2**64 - 1))
        registers = e.decode_hyper_log_log(golden("hyper_log_log"))
        self.assertTrue(500 < 0.697 * 32**2 / sum(2.0**-x for x in registers) < 1500)
        for name, some, k, shift in [("k_minimum_values", THOUSAND, 50, 0),
                                     ("k_minimum_values_rounded", THOUSAND, 50, 42),
                                     ("k_minimum_values_of_few_keys", THOUSAND[:5], 50, 0),
                                     ("k_minimum_values_of_none", [], 3, 0)]:
            self.expect_golden(name, e.kmv(some, k, 1, shift))
            smallest = sorted(f.key_hash(key, 1) for key in some)[:k]
            self.assertEqual(e.decode_kmv(golden(name)), (k, [h >> shift << shift for h in smallest]))

    def test_similarity(self):
        for name, count, m, method, seed in [
                ("min_hash_one_permutation", 40, 20, e.ONE_PERMUTATION, 0),
                ("min_hash_of_few_keys", 3, 20, e.ONE_PERMUTATION, 2**64 - 1),
                ("min_hash_of_none", 0, 3, e.INDEPENDENT, 0),
                ("min_hash_independent", 40, 9, e.INDEPENDENT, 1)]:
            self.expect_golden(name, e.min_hash(keys(0, count), m, method, seed))
            self.assertEqual(e.decode_min_hash(golden(name)), e.places(keys(0, count), m, method, seed))
        # Three sets of the same few keys but for some, so that most places borrow, and another.
        sets = {7: keys(0, 8), 1000: keys(0, 9), 2**64 - 1: keys(1, 9), 8: keys(100, 108)}
        self.expect_golden("lsh_index", e.lsh_index(sets, 30, e.ONE_PERMUTATION, 4, 10, 3))
        self.assertEqual(e.candidate_pairs(golden("lsh_index")),
                         [(7, 1000), (7, 2**64 - 1), (1000, 2**64 - 1)])

    def test_filter_tree(self):
        flags, options = f.HAS_PARENT | f.KNOWS_SIBLINGS, (400, 4, f.INDEPENDENT, 0)
        self.expect_golden("filter_tree_node", f.filter_tree_node(
            5, flags | f.ALL_UNPUBLISHED, 1, KEYS[:10], BELOW, SIBLINGS, [], options))
        unpublished = [f.key_hash("key8"), f.key_hash("key9")]  # what it has published but two keys
        self.expect_golden("filter_tree_node_two_unpublished", f.filter_tree_node(
            5, flags, 1, KEYS[:10], BELOW, SIBLINGS, unpublished, options))
        decoded = f.FilterTreeNode(golden("filter_tree_node_two_unpublished"))
        self.assertEqual((decoded.number, decoded.parent, decoded.keys, decoded.unpublished),
                         (5, 1, KEYS[:10], unpublished))
        for n in BELOW:
            for filter_ in (decoded.subtree, decoded.children[n], decoded.siblings[n + 1000]):
                self.assertTrue(filter_.may_contain(f"key{n}"))


if __name__ == "__main__":
    unittest.main()
