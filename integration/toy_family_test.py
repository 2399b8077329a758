# SPDX-License-Identifier: Apache-2.0
"""A family of filters that exists only in tests/toy_family, in RocksDB and in the command: the
program is the command, linked with that one file more."""

import json
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, SEED, Sandbox, run, run_ok

COMMAND = BUILD / "bin" / "rocksieve_with_toy_family"
KEYS = 20000


class ToyFamily(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = cls.class_directory / "db"
        cls.keys = random.Random(SEED).sample(range(10**9), KEYS)
        lines = "".join(f"{key:09}\tvalue {key}\n" for key in cls.keys)
        run_ok(COMMAND, "load", f"--db={cls.database}", "--spec=rocksieve.toy:10", "--input=-",
               "--compact", stdin=lines)
        [cls.file] = cls.database.glob("*.sst")

    def json(self, *arguments):
        return json.loads(run_ok(COMMAND, *arguments, "--json").out)

    def test_inspect_describes_its_filters(self):
        report = run_ok(COMMAND, "inspect", self.file).out
        for words in ["rocksieve.toy", "bits, one of each key", "keys per bit", "bits set"]:
            self.assertIn(words, report)

    def test_rocksdb_asks_its_filters(self):
        [family] = self.json("explain", f"--db={self.database}")["column_families"]
        self.assertEqual("rocksieve.toy:10", family["filter_policy"])
        self.assertAlmostEqual(0.0952, family["predicted_false_positive_rate"], delta=0.003)
        self.assertAlmostEqual(family["predicted_false_positive_rate"],
                               family["measured_false_positive_rate"], delta=0.006)

    def test_whatif_predicts_them(self):
        [family] = self.json("whatif", f"--db={self.database}", "--spec=rocksieve.toy:20",
                             "--spec=rocksieve.toy:5")["column_families"]
        wide, narrow = [policy["expected_useless_reads_per_missing_lookup"]
                        for policy in family["policies"]]
        self.assertAlmostEqual(0.0488, wide, delta=0.002)  # 1 - e^(-1/20)
        self.assertAlmostEqual(0.181, narrow, delta=0.005)
        self.assertAlmostEqual(
            0.0952, family["now"]["expected_useless_reads_per_missing_lookup"], delta=0.006)

    def test_the_command_without_it_takes_its_filters_for_later_ones(self):
        report = run(BUILD / "bin" / "rocksieve", "inspect", self.file).out
        self.assertIn("rocksieve, later version", report)
        refused = run(BUILD / "bin" / "rocksieve", "whatif", f"--db={self.database}",
                      "--spec=rocksieve.toy:10")
        self.assertEqual(2, refused.code, refused)
        self.assertIn("\"toy\" is not one of the families bloom, cuckoo, ribbon", refused.err)


if __name__ == "__main__":
    unittest.main()
