# SPDX-License-Identifier: Apache-2.0
"""What `rocksieve demo` predicts of its filters comes true, in trees of all sizes."""

import json
import random
import unittest

from environment import COMMAND, SEED, Sandbox, run_ok

SIZES = (300, 600, 1200, 2400, 5000, 9000, 16586, 30000, 60000, 110000, 190000, 300000)
FEW = 4  # false positives more, where hardly one is expected


class Predictions(Sandbox):
    def test_observed_rates_are_within_twice_the_intervals(self):
        chance = random.Random(SEED)
        checked = 0
        for size in SIZES:
            keys = "".join(f"user{chance.randrange(10**12):012}\n" for _ in range(size))
            demo = run_ok(COMMAND, "demo", "--json", "--keys=-", stdin=keys, timeout=200)
            said = json.loads(demo.out)
            for name, row in ((row["name"], row) for row in said["filters"]):
                expected, observed = (row[f"{word}_false_positive_rate"]
                                      for word in ("expected", "observed"))
                if expected is None:  # no filter
                    continue
                with self.subTest(size=size, filter=name):
                    rate, low, high = (expected[part] for part in ("rate", "low_95", "high_95"))
                    few = FEW / row["filter_probes"]
                    self.assertGreaterEqual(observed["rate"], rate - 2 * (rate - low) - few)
                    self.assertLessEqual(observed["rate"], rate + 2 * (high - rate) + few)
                    checked += 1
        self.assertEqual(6 * len(SIZES), checked)


if __name__ == "__main__":
    unittest.main()
