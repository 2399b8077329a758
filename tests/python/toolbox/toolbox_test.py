# SPDX-License-Identifier: Apache-2.0
"""That goldens, and the examples of docs/formats/toolbox.md, are as the decoders beside this say."""

import unittest

import bloom
import counting
import distinct
import filter_tree
import similarity
import tables
from envelope import PAGE, expect_golden, expect_in_page, golden, key_hash
from similarity import INDEPENDENT, ONE_PERMUTATION

KEYS = [f"key{i}" for i in range(40)]


class Bloom(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, bloom.encode(["apple", "pear"], 60, 3, bloom.INDEPENDENT, 7))

    def test_golden(self):
        for name, m, k, hashing, seed, partitioned in [
                ("bloom_independent", 383, 7, bloom.INDEPENDENT, 0, False),
                ("bloom_double", 400, 6, bloom.DOUBLE, 1, False),
                ("bloom_enhanced_double", 50, 7, bloom.ENHANCED, 2**64 - 1, False),
                ("bloom_partitioned", 385, 7, bloom.INDEPENDENT, 3, True),
                ("bloom_partitioned_double", 384, 6, bloom.DOUBLE, 4, True),
                ("bloom_one_bit", 1, 1, bloom.ENHANCED, 0, False)]:
            with self.subTest(name):
                expect_golden(self, name, bloom.encode(KEYS, m, k, hashing, seed, partitioned))
                decoded = bloom.Decoded(golden(name))
                self.assertTrue(all(decoded.may_contain(key) for key in KEYS))
        decoded = bloom.Decoded(golden("bloom_independent"))
        self.assertLess(sum(decoded.may_contain(f"other{i}") for i in range(400)), 20)


# key0 .. key39, and key0 19 times more: 4 bits do not hold that.
REPEATED = KEYS + ["key0"] * 19


class CountingBloom(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, bloom.encode_counting(["apple", "pear", "apple"], 15, 3,
                                                   bloom.INDEPENDENT, 0, 4))

    def test_golden(self):
        for name, m, k, hashing, seed, w in [("counting_bloom_4", 383, 7, bloom.INDEPENDENT, 0, 4),
                                             ("counting_bloom_8", 200, 3, bloom.DOUBLE, 9, 8)]:
            with self.subTest(name):
                made = bloom.encode_counting(REPEATED, m, k, hashing, seed, w)
                expect_golden(self, name, made)
                decoded = bloom.DecodedCounting(golden(name))
                self.assertTrue(all(decoded.count(key) >= 1 for key in REPEATED))
                self.assertGreaterEqual(decoded.count("key0"), 15 if w == 4 else 20)


class ScalableBloom(unittest.TestCase):
    def test_golden(self):
        for name, count, layers in [("scalable_bloom_one_layer", 40, 1),
                                    ("scalable_bloom", 300, 3)]:
            with self.subTest(name):
                made = bloom.Scalable(64, 0.05, 2, 0.8, 5)
                for i in range(count):
                    made.add(f"key{i}")
                expect_golden(self, name, made.encode())
                decoded = bloom.decode_scalable(golden(name))
                self.assertEqual(len(decoded.layers), layers)
                self.assertTrue(all(decoded.may_contain(f"key{i}") for i in range(count)))
                others = sum(decoded.may_contain(f"other{i}") for i in range(1000))
                self.assertLess(others, 50)


class CuckooFilter(unittest.TestCase):
    # Where the writer puts an entry is its own affair, so golden bytes come from the C++ program;
    # but what is in them follows from the keys.
    def expect_entries(self, data, keys):
        decoded = tables.CuckooFilter(data)
        self.assertEqual(decoded.entries(), sorted(decoded.entry(key) for key in keys))
        return decoded

    def test_document(self):
        section = PAGE[PAGE.index("## Cuckoo filter"):]
        data = bytes.fromhex(section.split("all bytes:\n`")[1].split("`")[0])
        decoded = self.expect_entries(data, ["apple", "pear", "apple", "plum"])
        self.assertEqual((decoded.m, decoded.f, decoded.seed), (3, 7, 5))

    def test_golden(self):
        # Full but for two slots: most were moved.
        for name, m, f, seed in [("cuckoo_full_11_bits", 10, 11, 1), ("cuckoo_wide", 13, 32, 2)]:
            with self.subTest(name):
                keys = [f"key{i}" for i in range(4 * m - 2)]
                decoded = self.expect_entries(golden(name), keys)
                self.assertEqual((decoded.m, decoded.f, decoded.seed), (m, f, seed))

    def test_other_bucket_is_an_involution(self):
        filter = tables.CuckooFilter(golden("cuckoo_full_11_bits"))
        for filter.m in range(1, 40):
            for fingerprint in range(1, 20):
                for bucket in range(filter.m):
                    other = filter.other_bucket(bucket, fingerprint)
                    self.assertEqual(filter.other_bucket(other, fingerprint), bucket)


class CuckooTable(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, tables.cuckoo_table(["plum", "pear", "apple", ""], 7))

    def test_golden(self):
        expect_golden(self, "cuckoo_table", tables.cuckoo_table(KEYS + ["long" * 50], 2**64 - 1))


def with_keys(counter, keys):
    for key in keys:
        counter.add(key)
    return counter


# Twelve keys, some of them far more often than others.
SQUARES = [f"key{i * i % 64}" for i in range(200)]


class Counting(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, with_keys(counting.CountMin(4, 2, 7, 0),
                                       ["apple", "pear", "apple"]).encode())
        expect_in_page(self,
                       with_keys(counting.TopK(2, 0), ["apple", "apple", "pear", "plum"]).encode())

    def test_golden_count_min(self):
        for name, conservative in ("count_min", 0), ("count_min_conservative", 1):
            with self.subTest(name):
                sketch = with_keys(counting.CountMin(13, 3, 2**64 - 1, conservative), SQUARES)
                sketch.add("many", 1000)
                expect_golden(self, name, sketch.encode())
                decoded = counting.CountMin.decode(golden(name))
                self.assertEqual(decoded.total, 1200)
                for key in SQUARES:
                    self.assertGreaterEqual(decoded.count(key), SQUARES.count(key))
                self.assertLess(decoded.count("many"), 1100)

    def test_golden_top_k(self):
        for name, m in ("top_k", 7), ("top_k_of_few_keys", 1000):
            with self.subTest(name):
                summary = with_keys(counting.TopK(m, 5), SQUARES)
                expect_golden(self, name, summary.encode())
                decoded = counting.TopK.decode(golden(name))
                self.assertEqual(decoded.items, summary.items)
                for key, (count, error) in decoded.items.items():
                    truth = SQUARES.count(key.decode())
                    self.assertTrue(count - error <= truth <= count)


THOUSAND = [f"key{i}" for i in range(1000)]


class Distinct(unittest.TestCase):
    def test_document(self):
        fruit = ["apple", "pear"]
        expect_in_page(self, distinct.hyper_log_log(fruit, 4, 0))
        expect_in_page(self, distinct.kmv(THOUSAND[:9], 4, 0))

    def test_hyper_log_log(self):
        expect_golden(self, "hyper_log_log", distinct.hyper_log_log(THOUSAND, 5, 2**64 - 1))
        registers = distinct.decode_hyper_log_log(golden("hyper_log_log"))
        self.assertTrue(500 < 0.697 * 32**2 / sum(2.0**-x for x in registers) < 1500)

    def test_k_minimum_values(self):
        for name, keys, k, shift in [("k_minimum_values", THOUSAND, 50, 0),
                                     ("k_minimum_values_rounded", THOUSAND, 50, 42),
                                     ("k_minimum_values_of_few_keys", THOUSAND[:5], 50, 0),
                                     ("k_minimum_values_of_none", [], 3, 0)]:
            with self.subTest(name):
                expect_golden(self, name, distinct.kmv(keys, k, 1, shift))
                smallest = sorted(key_hash(key, 1) for key in keys)[:k]
                self.assertEqual(distinct.decode_kmv(golden(name)),
                                 (k, [h >> shift << shift for h in smallest]))


def keys(begin, end):
    return [f"key{i}" for i in range(begin, end)]


class Similarity(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, similarity.min_hash(["apple", "pear"], 4, ONE_PERMUTATION, 0))
        expect_in_page(self, similarity.lsh_index({5: ["apple"], 300: ["pear"]}, 2,
                                                  ONE_PERMUTATION, 0, 2, 1))

    def test_borrowed_values_of_the_document(self):
        values = similarity.borrowed(similarity.places(keys(0, 3), 1000, ONE_PERMUTATION, 5), 5)
        digest = f"{key_hash(similarity.words(values)):016X}"
        self.assertTrue(digest in PAGE, f"not in docs/formats/toolbox.md: {digest}")

    def test_min_hash(self):
        for name, count, m, method, seed in [
                ("min_hash_one_permutation", 40, 20, ONE_PERMUTATION, 0),
                ("min_hash_of_few_keys", 3, 20, ONE_PERMUTATION, 2**64 - 1),
                ("min_hash_of_none", 0, 3, INDEPENDENT, 0),
                ("min_hash_independent", 40, 9, INDEPENDENT, 1)]:
            with self.subTest(name):
                expect_golden(self, name, similarity.min_hash(keys(0, count), m, method, seed))
                decoded = similarity.MinHash(golden(name))
                self.assertEqual(decoded.places, similarity.places(keys(0, count), m, method, seed))

    def test_lsh_index(self):
        # Three sets of the same few keys but for some, so that most places borrow, and another.
        sets = {7: keys(0, 8), 1000: keys(0, 9), 2**64 - 1: keys(1, 9), 8: keys(100, 108)}
        expect_golden(self, "lsh_index",
                      similarity.lsh_index(sets, 30, ONE_PERMUTATION, 4, 10, 3))
        decoded = similarity.LshIndex(golden("lsh_index"))
        self.assertEqual(decoded.candidate_pairs(), [(7, 1000), (7, 2**64 - 1), (1000, 2**64 - 1)])


BELOW = {n: [f"key{n}"] for n in (300, 7, 6)}


class FilterTreeNode(unittest.TestCase):
    def test_document(self):
        flags = filter_tree.HAS_PARENT | filter_tree.ALL_UNPUBLISHED
        expect_in_page(self, filter_tree.encode(1, flags, 0, ["apple"], {3: ["plum"]}, {}, [],
                                                (24, 2, bloom.INDEPENDENT, 0)))

    def test_golden(self):
        options = (400, 4, bloom.INDEPENDENT, 0)
        all_flags = (filter_tree.HAS_PARENT | filter_tree.KNOWS_SIBLINGS |
                     filter_tree.ALL_UNPUBLISHED)
        siblings = {n + 1000: keys for n, keys in BELOW.items()}
        expect_golden(self, "filter_tree_node", filter_tree.encode(
            5, all_flags, 1, KEYS[:10], BELOW, siblings, [], options))
        # What it has published but two keys.
        expect_golden(self, "filter_tree_node_two_unpublished", filter_tree.encode(
            5, all_flags - filter_tree.ALL_UNPUBLISHED, 1, KEYS[:10], BELOW, siblings,
            [key_hash("key8"), key_hash("key9")], options))
        decoded = filter_tree.Decoded(golden("filter_tree_node_two_unpublished"))
        self.assertEqual((decoded.number, decoded.parent, decoded.keys), (5, 1, KEYS[:10]))
        self.assertEqual(decoded.unpublished, [key_hash("key8"), key_hash("key9")])
        for n in BELOW:
            for filter in (decoded.subtree, decoded.children[n], decoded.siblings[n + 1000]):
                self.assertTrue(filter.may_contain(f"key{n}"))


if __name__ == "__main__":
    unittest.main()
