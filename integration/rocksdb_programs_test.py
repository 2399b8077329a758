# SPDX-License-Identifier: Apache-2.0
"""RocksDB's unmodified db_bench, ldb and sst_dump with the plugin preloaded, and ldb and sst_dump
without it on databases with our filters: answers, false-positive rates, sizes, and specs that cannot
be honoured."""

import math
import random
import re
import unittest

from environment import PLUGIN, SEED, Sandbox, document, pairs_of_scan, run, run_ok
from programs import KEYS, PARTITIONED, READS, Database, options_text, table_properties

# With their bits per key.
FAMILIES = {"rocksieve.bloom:10": 10, "rocksieve.cuckoo:12.5": 12.5}
SPECS = [*FAMILIES, "rocksieve.bloom:1%", "rocksieve.bloom:16:salted", "rocksieve.cuckoo:1%"]
ALL_READS = "readmissing,readrandom,multireadrandom,seekrandom"


class DbBench(Sandbox):
    def filtered(self, options):
        database = Database(self.directory)
        database.create(options)
        return database

    def test_full_filters(self):
        none = options_text("nullptr")
        reference = self.filtered(none).bench(ALL_READS, none)
        self.assertEqual(0, reference.useful + reference.positive)
        self.assertEqual(("readmissing", 0, READS), reference.found[0])
        self.assertEqual(ALL_READS.split(","), [name for name, _, _ in reference.found])
        for name, found, asked in reference.found[1:]:
            # fillrandom writes as many random numbers as there are keys: 1 - 1/e of them exist.
            self.assertAlmostEqual((1 - 1 / math.e) * asked, found, delta=0.02 * asked, msg=name)
        for spec in SPECS:
            with self.subTest(spec=spec):
                database = self.filtered(options_text(spec))
                report = database.bench(ALL_READS, options_text(spec))
                self.assertEqual(reference.found, report.found)
                _, by_get, by_multi_get, _ = [found for _, found, _ in report.found]
                self.assertEqual(by_get + by_multi_get, report.true_positive)
                # Each of three benchmarks asks one filter per key; a key may also fall between two
                # files, where there is none to ask.
                checks = report.useful + report.positive
                self.assertTrue(0.999 * 3 * READS <= checks <= 3 * READS, checks)

                report = database.bench("readmissing", options_text(spec))
                self.assertEqual([("readmissing", 0, READS)], report.found)
                [family] = document("explain", f"--db={database.path}", "--probe-count=1000")[
                    "column_families"]
                rate = family["predicted_false_positive_rate"]
                if "%" in spec:
                    self.assertAlmostEqual(0.01, rate, delta=0.0005)
                # Five standard deviations: db_bench draws with replacement from the keys, and all
                # questions for one key have one answer, which makes the counts spread wider than a
                # binomial; and 3 % for what the model of the rate leaves out.
                asked = report.useful + report.positive
                slack = 5 * math.sqrt(asked * rate * (1 + asked / KEYS)) + 0.03 * asked * rate
                self.assertAlmostEqual(report.positive, asked * rate, delta=slack)

                tables = database.table_properties()
                self.assertGreater(len(tables), 1)
                for table in tables:
                    self.assertEqual(spec, table["filter policy name"])
                    self.assertEqual(table["entries"], table["entries for filter"])
                    used = 8 * int(table["filter block size"]) / int(table["entries for filter"])
                    # A Bloom filter is a whole number of lines; that of a cuckoo table is random.
                    self.assertAlmostEqual(FAMILIES.get(spec, used), used, delta=0.01 * used)


ENTRIES = 3000


class Tools(Sandbox):
    """ldb and sst_dump on one database, in self.directory. `stock`: without the plugin."""

    def setUp(self):
        super().setUp()
        numbers = random.Random(SEED).sample(range(10**6), ENTRIES)
        self.entries = {f"key{number:06}": f"value{number}" for number in numbers}
        self.missing = [f"key{number:06}x" for number in numbers[:3]] + ["aaa", "zzz"]
        self.key, self.value = next(iter(self.entries.items()))

    def create(self, filter_policy, table=None):
        """ldb cannot make a database from an OPTIONS file, so db_bench makes an empty one."""
        self.database = Database(self.directory, keys=1)
        self.database.bench("fillseq", options_text(filter_policy, table=table), existing=False)
        self.ldb_ok("load", stdin="".join(f"{key} ==> {value}\n" for key, value in self.entries.items()))
        # The key of db_bench.
        self.ldb_ok("delete", "0x" + bytes(8).hex() + "30" * 8, "--hex")
        self.ldb_ok("compact")
        [self.table] = self.database.tables()

    def ldb(self, *arguments, stock=False, **settings):
        return run("ldb", f"--db={self.database.path}", *arguments,
                   preload=() if stock else [PLUGIN], **settings)

    def ldb_ok(self, *arguments, **settings):
        finished = self.ldb(*arguments, **settings)
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        return finished.out

    def policy_in_options(self, new=None):
        path = max(self.database.path.glob("OPTIONS-*"))
        if new:
            path.write_text(re.sub(r"filter_policy=.*", f"filter_policy={new}", path.read_text()))
        return re.search(r"filter_policy=(.*)", path.read_text())[1]

    def policies_of_tables(self):
        return {table["filter policy name"] for table in self.database.table_properties()}

    def assert_lines_hold_all_entries(self, text):
        self.assertEqual([f"{key} ==> {value}" for key, value in sorted(self.entries.items())],
                         [line for line in text.splitlines() if line])

    def assert_answers_are_right(self, *flags, stock):
        # `query` reads commands; each get is a point lookup, through the filter if there is one.
        gets = "".join(f"get {key}\n" for key in sorted(self.entries))
        self.assert_lines_hold_all_entries(self.ldb_ok("query", *flags, stdin=gets, stock=stock))
        self.assertEqual(f"{self.value}\n", self.ldb_ok("get", self.key, *flags, stock=stock))
        self.assertEqual(sorted(self.entries.items()),
                         pairs_of_scan(self.ldb_ok("scan", *flags, stock=stock)))
        for key in self.missing:
            finished = self.ldb("get", key, *flags, stock=stock)
            # RocksDB 9 says it on stdout, and ends with 0.
            self.assertRegex(finished.out + finished.err, "NotFound|Key not found", finished)
            self.assertNotIn(key, finished.out)

    def assert_whole(self, stock):
        dump, summary = self.ldb_ok("dump", stock=stock).split("Keys in range: ")
        self.assert_lines_hold_all_entries(dump)
        self.assertEqual(len(self.entries), int(summary))
        self.assertEqual("OK\n", self.ldb_ok("checkconsistency", stock=stock))

    def test_every_key_is_found(self):
        for spec in FAMILIES:
            for table in (None, PARTITIONED):
                # The last makes the built-in reader read our filters.
                for stock, flags in ((False, ([], ["--try_load_options"])),
                                     (True, ([], ["--bloom_bits=10"]))):
                    with self.subTest(spec=spec, table=table, stock=stock):
                        self.create(spec, table)
                        self.assertEqual({spec}, self.policies_of_tables())
                        self.assertEqual(spec, self.policy_in_options())
                        for some in flags:
                            self.assert_answers_are_right(*some, stock=stock)
                        self.assert_whole(stock)
                        if table is None:
                            self.check_sst_dump(spec, stock)

    def check_sst_dump(self, spec, stock):
        def said(*arguments):
            finished = run_ok("sst_dump", f"--file={self.table}", *arguments,
                              preload=() if stock else [PLUGIN])
            self.assertEqual("", finished.err)
            return finished.out

        said("--command=check", "--verify_checksum")
        self.assertIn("The file is ok", said("--command=verify"))
        self.assertIn("is a valid SST file", said("--command=identify"))
        self.assertEqual(sorted(self.entries.items()), re.findall(
            r"^'(\w+)' seq:0, type:1 => (\w+)$", said("--command=scan"), re.MULTILINE))
        said("--command=raw")
        raw = self.table.with_name(self.table.stem + "_dump.txt").read_text(errors="replace")
        self.assertRegex(raw, r"Filter block handle: \w+")
        self.assertEqual(ENTRIES, len(re.findall("(?m)^  ASCII  k e y .* : v a l u e ", raw)))
        properties = table_properties(self.table, preload=() if stock else [PLUGIN])
        self.assertEqual((spec, str(ENTRIES)),
                         (properties["filter policy name"], properties["entries for filter"]))
        self.assertIn("Compression: kNoCompression",
                      said("--command=recompress", "--compression_types=kNoCompression"))

    def test_preloaded_commands_that_write(self):
        self.create("rocksieve.cuckoo:12.5")
        self.assertEqual("OK\n", self.ldb_ok("put", "new", "entry", "--try_load_options"))
        self.assertEqual("entry\n", self.ldb_ok("get", "new", "--try_load_options"))
        self.ldb_ok("compact", "--try_load_options")
        self.assertEqual({"rocksieve.cuckoo:12.5"}, self.policies_of_tables())
        self.assertEqual("rocksieve.cuckoo:12.5", self.policy_in_options())
        self.entries["new"] = "entry"
        self.assert_answers_are_right(stock=False)
        self.assert_whole(stock=False)

    def test_stock_forgets_the_policy_when_it_writes(self):
        """RocksDB drops a policy that it does not know without a word, and writes an OPTIONS file
        without it. Whoever then loads the options of the database, with the plugin, builds no
        filters; those that exist are still there."""
        spec = "rocksieve.bloom:10"
        self.create(spec)
        for looking in (["get", self.key], ["scan"], ["dump"], ["checkconsistency"]):
            self.ldb_ok(*looking, stock=True)
            self.assertEqual(spec, self.policy_in_options(), looking)
        for writing, tables in ((["put", "new", "entry"], {spec}),
                                (["query"], {spec, "N/A"}),  # flushes the new entry
                                (["compact"], {"N/A"})):
            with self.subTest(writing=writing):
                self.policy_in_options(new=spec)
                self.ldb_ok(*writing, stock=True)
                self.assertEqual("nullptr", self.policy_in_options())
                self.assertEqual(tables, self.policies_of_tables())
        self.ldb_ok("compact")
        self.assertEqual({"N/A"}, self.policies_of_tables())
        self.entries["new"] = "entry"
        self.assert_answers_are_right(stock=False)
        self.policy_in_options(new=spec)
        self.ldb_ok("compact")
        self.assertEqual({spec}, self.policies_of_tables())

    def test_a_spec_that_cannot_be_honoured_is_an_error(self):
        self.create("rocksieve.bloom:10")
        self.policy_in_options(new="rocksieve.blom:10")
        for command in (["get", self.key], ["put", "new", "entry"], ["compact"], ["scan"],
                        ["get", self.key, "--ignore_unknown_options"]):
            with self.subTest(command=command):
                finished = self.ldb(*command)
                self.assertEqual(1, finished.code, finished)
                self.assertRegex(finished.err, 'Invalid argument: .*"blom".*for example rocksieve')
        # The way out, and what RocksDB without the plugin does.
        for words, stock in ((["--try_load_options=false"], False), ([], True)):
            self.assertEqual(f"{self.value}\n", self.ldb_ok("get", self.key, *words, stock=stock))


if __name__ == "__main__":
    unittest.main(verbosity=2)
