import unittest

import similarity
from envelope import PAGE, expect_golden, expect_in_page, golden, key_hash
from similarity import INDEPENDENT, ONE_PERMUTATION


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


if __name__ == "__main__":
    unittest.main()
