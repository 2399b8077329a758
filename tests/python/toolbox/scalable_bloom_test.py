import unittest

import scalable_bloom
from envelope import expect_golden, golden


class ScalableBloom(unittest.TestCase):
    def test_golden(self):
        for name, count, layers in [("scalable_bloom_one_layer", 40, 1), ("scalable_bloom", 300, 3)]:
            with self.subTest(name):
                made = scalable_bloom.Scalable(64, 0.05, 2, 0.8, 5)
                for i in range(count):
                    made.add(f"key{i}")
                expect_golden(self, name, made.encode())
                decoded = scalable_bloom.decode(golden(name))
                self.assertEqual(len(decoded.layers), layers)
                self.assertTrue(all(decoded.may_contain(f"key{i}") for i in range(count)))
                others = sum(decoded.may_contain(f"other{i}") for i in range(1000))
                self.assertLess(others, 50)


if __name__ == "__main__":
    unittest.main()
