import unittest

import counting_bloom
from bloom import DOUBLE, INDEPENDENT
from envelope import expect_golden, expect_in_page, golden

# key0 .. key39, and key0 19 times more: 4 bits do not hold that.
KEYS = [f"key{i}" for i in range(40)] + ["key0"] * 19


class CountingBloom(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, counting_bloom.encode(["apple", "pear", "apple"], 15, 3,
                                                   INDEPENDENT, 0, 4))

    def test_golden(self):
        for name, m, k, hashing, seed, w in [("counting_bloom_4", 383, 7, INDEPENDENT, 0, 4),
                                             ("counting_bloom_8", 200, 3, DOUBLE, 9, 8)]:
            with self.subTest(name):
                expect_golden(self, name, counting_bloom.encode(KEYS, m, k, hashing, seed, w))
                decoded = counting_bloom.Decoded(golden(name))
                self.assertTrue(all(decoded.count(key) >= 1 for key in KEYS))
                self.assertGreaterEqual(decoded.count("key0"), 15 if w == 4 else 20)


if __name__ == "__main__":
    unittest.main()
