import unittest

import distinct
from envelope import expect_golden, expect_in_page, golden, key_hash

KEYS = [f"key{i}" for i in range(1000)]


class Distinct(unittest.TestCase):
    def test_document(self):
        fruit = ["apple", "pear"]
        expect_in_page(self, distinct.flajolet_martin(fruit, 4, 0))
        expect_in_page(self, distinct.hyper_log_log(fruit, 4, 0))
        expect_in_page(self, distinct.kmv(KEYS[:9], 4, 0))

    def test_flajolet_martin(self):
        expect_golden(self, "flajolet_martin", distinct.flajolet_martin(KEYS, 5, 3))
        bitmaps = distinct.decode_flajolet_martin(golden("flajolet_martin"))
        ones = sum((~x & x + 1).bit_length() - 1 for x in bitmaps)
        self.assertTrue(500 < 32 / 0.77351 * 2**(ones / 32) < 1500)

    def test_hyper_log_log(self):
        expect_golden(self, "hyper_log_log", distinct.hyper_log_log(KEYS, 5, 2**64 - 1))
        registers = distinct.decode_hyper_log_log(golden("hyper_log_log"))
        self.assertTrue(500 < 0.697 * 32**2 / sum(2.0**-x for x in registers) < 1500)

    def test_k_minimum_values(self):
        for name, keys, k, shift in [("k_minimum_values", KEYS, 50, 0),
                                     ("k_minimum_values_rounded", KEYS, 50, 42),
                                     ("k_minimum_values_of_few_keys", KEYS[:5], 50, 0),
                                     ("k_minimum_values_of_none", [], 3, 0)]:
            with self.subTest(name):
                expect_golden(self, name, distinct.kmv(keys, k, 1, shift))
                smallest = sorted(key_hash(key, 1) for key in keys)[:k]
                self.assertEqual(distinct.decode_kmv(golden(name)),
                                 (k, [h >> shift << shift for h in smallest]))


if __name__ == "__main__":
    unittest.main()
