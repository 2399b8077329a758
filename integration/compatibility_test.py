"""Installing the plugin on an existing database, and removing it: at no time is a key lost, and
filters that are already there keep working."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import PARTITIONED, READS, Database, options_text
from environment import SEED, Sandbox

BUILT_IN = "bloomfilter:10:false"
LAYOUTS = {"full": None, "partitioned": PARTITIONED}
READING = "readmissing,readrandom,multireadrandom"


class Transitions(Sandbox):
    def setUp(self):
        super().setUp()
        self.database = Database(self.directory)

    def policies_of_tables(self):
        return {table["filter policy name"] for table in self.database.table_properties()}

    def test_filters_of_an_old_database_work_as_before(self):
        for layout, table in LAYOUTS.items():
            for built_in in (BUILT_IN, "ribbonfilter:10:-1"):
                with self.subTest(layout=layout, built_in=built_in):
                    before = options_text(built_in, table=table)
                    self.database.create(before, stock=True)
                    stock = self.database.bench(READING, before, stock=True)
                    # The names of the built-in policies, as properties have them.
                    names = {"bloomfilter", "ribbonfilter"}
                    self.assertLessEqual(self.policies_of_tables(), names)
                    for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5"):
                        after = options_text(spec, table=table)
                        preloaded = self.database.bench(READING, after)
                        # The same blocks, the same keys: the same answers, false ones included.
                        self.assertEqual(stock.found, preloaded.found)
                        self.assertEqual(stock.useful, preloaded.useful)
                        self.assertEqual(stock.positive, preloaded.positive)
                        self.assertGreater(preloaded.useful, READS)
                    self.assertLessEqual(self.policies_of_tables(), names)

    def test_compaction_replaces_old_filters(self):
        self.database.create(options_text(BUILT_IN), stock=True)
        old = self.database.bench(READING, options_text(BUILT_IN), stock=True)
        for spec in ("rocksieve.cuckoo:12.5", "rocksieve.bloom:16"):
            with self.subTest(spec=spec):
                self.database.bench("compact", options_text(spec))
                self.assertEqual({spec}, self.policies_of_tables())
                new = self.database.bench(READING, options_text(spec))
                self.assertEqual(old.found, new.found)
                false_positives = [report.positive - report.true_positive for report in (old, new)]
                self.assertLess(false_positives[1], false_positives[0] / 2)

    def test_a_database_with_filters_of_all_kinds(self):
        """Files of the old and the new policies beside each other, and keys in several of them."""
        no_compaction = {"disable_auto_compactions": "true",
                         "level0_slowdown_writes_trigger": "1000",
                         "level0_stop_writes_trigger": "1000"}
        policies = [(BUILT_IN, True), ("rocksieve.bloom:10", False), ("ribbonfilter:10:-1", True),
                    ("rocksieve.cuckoo:12.5", False)]

        def fill(policy_of):
            for step, (policy, stock) in enumerate(policies):
                self.database.bench("overwrite,flush" if step > 0 else "fillrandom,flush",
                                    options_text(policy_of(policy), no_compaction),
                                    "--writes=20000", f"--seed={SEED + step}", stock=stock,
                                    existing=step > 0)

        def read(policy):
            return self.database.bench(READING, options_text(policy, no_compaction))

        fill(lambda policy: "nullptr")
        unfiltered = read("nullptr")
        self.assertEqual({"N/A"}, self.policies_of_tables())
        fill(lambda policy: policy)
        mixed = read("rocksieve.bloom:10")
        self.assertEqual({"bloomfilter", "ribbonfilter", "rocksieve.bloom:10",
                          "rocksieve.cuckoo:12.5"}, self.policies_of_tables())
        self.assertEqual(unfiltered.found, mixed.found)
        # Every filter works: of all checks of keys that a file does not have, about 1 % pass.
        false_positives = mixed.positive - mixed.true_positive
        self.assertLess(false_positives, 0.015 * mixed.useful)

    def test_without_the_plugin_no_key_is_lost(self):
        for layout, table in LAYOUTS.items():
            for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5"):
                with self.subTest(layout=layout, spec=spec):
                    self.database.create(options_text(spec, table=table))
                    self.assertEqual({spec}, self.policies_of_tables())
                    preloaded = self.database.bench(READING, options_text(spec, table=table))

                    # RocksDB's own reader is given our blocks, and answers "may match" to all.
                    removed = self.database.bench(READING, options_text(BUILT_IN, table=table),
                                                  stock=True)
                    self.assertEqual(preloaded.found, removed.found)
                    self.assertEqual(0, removed.useful)
                    self.assertGreater(removed.positive, 0.999 * 3 * READS)

                    # The old spec, which nobody knows any more: no filters at all.
                    unknown = self.database.bench(READING, options_text(spec, table=table),
                                                  stock=True)
                    self.assertEqual(preloaded.found, unknown.found)
                    self.assertEqual(0, unknown.useful + unknown.positive)

    def test_without_the_plugin_compaction_brings_back_built_in_filters(self):
        self.database.create(options_text("rocksieve.cuckoo:12.5"))
        preloaded = self.database.bench(READING, options_text("rocksieve.cuckoo:12.5"))
        self.database.bench("compact", options_text(BUILT_IN), stock=True)
        self.assertEqual({"bloomfilter"}, self.policies_of_tables())
        removed = self.database.bench(READING, options_text(BUILT_IN), stock=True)
        self.assertEqual(preloaded.found, removed.found)
        self.assertGreater(removed.useful, READS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
