import unittest

from counting import CountMin, TopK
from envelope import expect_golden, expect_in_page, golden


def with_keys(counter, keys):
    for key in keys:
        counter.add(key)
    return counter


# Twelve keys, some of them far more often than others.
SQUARES = [f"key{i * i % 64}" for i in range(200)]


class Counting(unittest.TestCase):
    def test_document(self):
        expect_in_page(self, with_keys(CountMin(4, 2, 7, 0), ["apple", "pear", "apple"]).encode())
        expect_in_page(self,
                       with_keys(TopK(2, 0), ["apple", "apple", "pear", "plum"]).encode())

    def test_golden_count_min(self):
        for name, conservative in ("count_min", 0), ("count_min_conservative", 1):
            with self.subTest(name):
                sketch = with_keys(CountMin(13, 3, 2**64 - 1, conservative), SQUARES)
                sketch.add("many", 1000)
                expect_golden(self, name, sketch.encode())
                decoded = CountMin.decode(golden(name))
                self.assertEqual(decoded.total, 1200)
                for key in SQUARES:
                    self.assertGreaterEqual(decoded.count(key), SQUARES.count(key))
                self.assertLess(decoded.count("many"), 1100)

    def test_golden_top_k(self):
        for name, m in ("top_k", 7), ("top_k_of_few_keys", 1000):
            with self.subTest(name):
                summary = with_keys(TopK(m, 5), SQUARES)
                expect_golden(self, name, summary.encode())
                decoded = TopK.decode(golden(name))
                self.assertEqual(decoded.items, summary.items)
                for key, (count, error) in decoded.items.items():
                    truth = SQUARES.count(key.decode())
                    self.assertTrue(count - error <= truth <= count)


if __name__ == "__main__":
    unittest.main()
