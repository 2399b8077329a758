import unittest

import bloom
from envelope import expect_golden, expect_in_page, golden

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


if __name__ == "__main__":
    unittest.main()
