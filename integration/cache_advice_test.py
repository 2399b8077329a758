# SPDX-License-Identifier: Apache-2.0
"""A database whose filters exceed its block cache: what `rocksieve doctor` advises is done, word by
word, and helps; `rocksieve whatif --cache` says the same beforehand."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import Database, options_text
from doctor import BUILT_IN, COMMAND, Examined
from environment import run_ok

BYTES_READ = "bytes_read_through_cache_per_missing_lookup"


class FiltersThatExceedTheCache(Examined):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bench = Database(cls.class_directory, "--value_size=20", "--cache_size=0", keys=200_000)
        # No log is left, so that a compaction is the first job when it is opened again.
        cls.bench.bench("fillrandom,flush,waitforcompaction",
                        cls.options(8 << 20, {}, disable_auto_compactions="false"), existing=False)
        cls.cache_bytes = cls.command_json("doctor")["filter_bytes"] * 2 // 3

    @staticmethod
    def options(cache_bytes, advised, disable_auto_compactions="true"):
        """With what is `advised`; nothing is rewritten but by advice, and (almost) all in one job:
        what is rewritten while old filters stay gets less than its share of the budget."""
        pool_ratio = advised.get("high_pri_pool_ratio", 0.5)
        return options_text(
            advised.get("filter_policy", BUILT_IN),
            {"write_buffer_size": 1 << 17, "target_file_size_base": 1 << 17,
             "max_bytes_for_level_base": 1 << 21, "max_compaction_bytes": 1 << 30,
             "disable_auto_compactions": disable_auto_compactions},
            {"cache_index_and_filter_blocks": "true",
             "block_cache": f"{{capacity={cache_bytes};num_shard_bits=0;"
                            f"high_pri_pool_ratio={pool_ratio}}}"},
            {"listeners": advised["listeners"]} if advised else None)

    def setUp(self):
        super().setUp()
        self.database = self.bench.path

    @classmethod
    def command_json(cls, command, *flags):
        return json.loads(run_ok(COMMAND, command, f"--db={cls.bench.path}", "--json", *flags).out)

    def bytes_per_lookup(self, advised):
        """Bytes that come into the cache for each; a block has some 140 on top there."""
        report = self.bench.bench("readmissing", self.options(self.cache_bytes, advised),
                                  "--reads=100000")
        return report.ticker("block.cache.bytes.write") / 100_000

    def test_the_advice(self):
        before = self.bytes_per_lookup({})
        remedy = self.assert_found("filters-exceed-cache")["remedy"]
        then, now = map(int, re.search(r"reads ([\d,]+) bytes then instead of ([\d,]+)", remedy)
                        .expand(r"\1 \2").replace(",", "").split())

        # What whatif says of the same tree; its lookups are a sample.
        [family] = self.command_json("whatif", f"--cache={self.cache_bytes}")["column_families"]
        self.assertAlmostEqual(now, family["now"][BYTES_READ], delta=0.05 * now)
        advice = family["cache_advice"]
        self.assertAlmostEqual(then, advice[BYTES_READ], delta=0.05 * then)
        budgets = [float(number) * {"k": 1e3, "": 1}[unit] for number, unit in
                   (re.search(r"rocksieve\.auto:([\d.]+)(k?)B", text).groups()
                    for text in (remedy, advice["spec"]))]
        self.assertAlmostEqual(budgets[0], budgets[1], delta=0.05 * budgets[0])

        # All that has a value is to be set.
        sentence = re.search(r"filter_policy=.*?; then compact", remedy).group()
        advised = dict(re.findall(r"(\w+)=(\{.*?\}|[^ ,;]+)", sentence))
        self.assertEqual({"filter_policy", "listeners", "high_pri_pool_ratio"}, set(advised))
        self.bench.bench("compact", self.options(self.cache_bytes, advised))
        after = self.bytes_per_lookup(advised)
        self.assert_healthy()
        [family] = self.command_json("explain")["column_families"]
        self.assertEqual(advised["filter_policy"], family["filter_policy"])
        self.assertLess(family["filter_bytes"], 1.07 * family["filter_budget_bytes"])
        self.assertGreater(family["filter_bytes"], 0.85 * family["filter_budget_bytes"])
        self.assertLess(after, before / 8)
        self.assertLess(after, 2 * then)
        print(f"bytes per lookup: {before:.0f} before, {after:.0f} after; reckoned: {now}, {then}",
              file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
