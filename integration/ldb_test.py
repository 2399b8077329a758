# SPDX-License-Identifier: Apache-2.0
"""The unmodified ldb and sst_dump on databases with our filters, with the plugin preloaded and
without it, and on a database from before the plugin."""

import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import PARTITIONED, Database, options_text, table_properties
from environment import PLUGIN, SEED, Sandbox, pairs_of_scan, run, run_ok

SPECS = ["rocksieve.bloom:10", "rocksieve.cuckoo:12.5"]
BUILT_IN = "bloomfilter:10:false"
ENTRIES = 3000


class ToolsOnOneDatabase(Sandbox):
    """Helpers around one database in self.directory."""

    def setUp(self):
        super().setUp()
        randomness = random.Random(SEED)
        numbers = randomness.sample(range(10**6), ENTRIES)
        self.entries = {f"key{number:06}": f"value{number}" for number in numbers}
        self.missing = [f"key{number:06}x" for number in numbers[:3]] + ["aaa", "zzz"]

    def create(self, filter_policy, table=None):
        """ldb cannot make a database from an OPTIONS file, so db_bench makes an empty one."""
        self.database = Database(self.directory, keys=1)
        self.stock = not filter_policy.startswith("rocksieve.")
        self.database.bench("fillseq", options_text(filter_policy, table=table), existing=False,
                            stock=self.stock)
        dump = "".join(f"{key} ==> {value}\n" for key, value in self.entries.items())
        self.ldb_ok("load", stdin=dump, stock=self.stock)
        # The key of db_bench.
        self.ldb_ok("delete", "0x" + bytes(8).hex() + "30" * 8, "--hex", stock=self.stock)
        self.ldb_ok("compact", stock=self.stock)
        [self.table] = self.database.tables()

    def ldb(self, *arguments, stock=False, **settings):
        return run("ldb", f"--db={self.database.path}", *arguments,
                   preload=() if stock else [PLUGIN], **settings)

    def ldb_ok(self, *arguments, **settings):
        finished = self.ldb(*arguments, **settings)
        self.assertEqual(0, finished.code, finished)
        self.assertEqual("", finished.err)
        return finished.out

    def sst_dump(self, *arguments, stock):
        finished = run_ok("sst_dump", *arguments, preload=() if stock else [PLUGIN])
        self.assertEqual("", finished.err)
        return finished.out

    def latest_options_file(self):
        return max(self.database.path.glob("OPTIONS-*"))

    def policy_in_options(self):
        return re.search(r"filter_policy=(.*)", self.latest_options_file().read_text())[1]

    def set_policy_in_options(self, filter_policy):
        path = self.latest_options_file()
        path.write_text(re.sub(r"filter_policy=.*", f"filter_policy={filter_policy}",
                               path.read_text()))

    def policies_of_tables(self):
        return {table["filter policy name"] for table in self.database.table_properties()}

    def assert_lines_hold_all_entries(self, text):
        lines = [line for line in text.splitlines() if line]
        expected = [f"{key} ==> {value}" for key, value in sorted(self.entries.items())]
        self.assertEqual(expected, lines)

    def assert_all_entries_are_found(self, *flags, stock):
        # `query` reads commands; each get is a point lookup, through the filter if there is one.
        gets = "".join(f"get {key}\n" for key in sorted(self.entries))
        self.assert_lines_hold_all_entries(self.ldb_ok("query", *flags, stdin=gets, stock=stock))
        key, value = next(iter(self.entries.items()))
        self.assertEqual(f"{value}\n", self.ldb_ok("get", key, *flags, stock=stock))
        self.assertEqual(sorted(self.entries.items()),
                         pairs_of_scan(self.ldb_ok("scan", *flags, stock=stock)))

    def assert_dump_has_all_entries(self, stock):
        dump, summary = self.ldb_ok("dump", stock=stock).split("Keys in range: ")
        self.assert_lines_hold_all_entries(dump)
        self.assertEqual(len(self.entries), int(summary))

    def assert_missing_keys_are_missing(self, *flags, stock):
        for key in self.missing:
            finished = self.ldb("get", key, *flags, stock=stock)
            # RocksDB 9 says it on stdout, and ends with 0.
            self.assertRegex(finished.out + finished.err, "NotFound|Key not found", finished)
            self.assertNotIn(key, finished.out)


class Ldb(ToolsOnOneDatabase):
    def test_preloaded(self):
        for spec in SPECS:
            for layout, table in {"full": None, "partitioned": PARTITIONED}.items():
                with self.subTest(spec=spec, layout=layout):
                    self.create(spec, table)
                    self.assertEqual({spec}, self.policies_of_tables())
                    self.assertEqual(spec, self.policy_in_options())
                    for flags in ([], ["--try_load_options"]):
                        self.assert_all_entries_are_found(*flags, stock=False)
                        self.assert_missing_keys_are_missing(*flags, stock=False)

    def test_preloaded_commands_that_write(self):
        self.create("rocksieve.cuckoo:12.5")
        self.assertEqual("OK\n", self.ldb_ok("checkconsistency", "--try_load_options"))
        self.assertEqual("OK\n", self.ldb_ok("put", "new", "entry", "--try_load_options"))
        self.assertEqual("entry\n", self.ldb_ok("get", "new", "--try_load_options"))
        self.ldb_ok("compact", "--try_load_options")
        self.assertEqual({"rocksieve.cuckoo:12.5"}, self.policies_of_tables())
        self.assertEqual("rocksieve.cuckoo:12.5", self.policy_in_options())
        self.entries["new"] = "entry"
        self.assert_all_entries_are_found(stock=False)
        self.assert_dump_has_all_entries(stock=False)
        self.assertRegex(self.ldb_ok("dump", "--count_only"), rf"Keys in range: {ENTRIES + 1}\b")
        self.assertEqual("OK\n", self.ldb_ok("checkconsistency"))

    def test_stock_finds_every_key(self):
        for spec in SPECS:
            for layout, table in {"full": None, "partitioned": PARTITIONED}.items():
                with self.subTest(spec=spec, layout=layout):
                    self.create(spec, table)
                    # The second makes the built-in reader read our filters.
                    for flags in ([], ["--bloom_bits=10"]):
                        self.assert_all_entries_are_found(*flags, stock=True)
                        self.assert_missing_keys_are_missing(*flags, stock=True)
                    self.assert_dump_has_all_entries(stock=True)
                    self.assertEqual("OK\n", self.ldb_ok("checkconsistency", stock=True))

    def test_stock_forgets_the_policy_when_it_writes(self):
        """RocksDB drops a policy that it does not know without a word, and writes an OPTIONS file
        without it. Whoever then loads the options of the database, with the plugin, builds no
        filters; those that exist are still there."""
        self.create("rocksieve.bloom:10")
        key = next(iter(self.entries))
        for looking in (["get", key], ["scan"], ["dump"], ["checkconsistency"]):
            self.ldb_ok(*looking, stock=True)
            self.assertEqual("rocksieve.bloom:10", self.policy_in_options(), looking)
        for writing, tables in ((["put", "new", "entry"], {"rocksieve.bloom:10"}),
                                (["query"], {"rocksieve.bloom:10", "N/A"}),  # flushes the new entry
                                (["compact"], {"N/A"})):
            with self.subTest(writing=writing):
                self.set_policy_in_options("rocksieve.bloom:10")
                self.ldb_ok(*writing, stock=True)
                self.assertEqual("nullptr", self.policy_in_options())
                self.assertEqual(tables, self.policies_of_tables())

        self.ldb_ok("compact", stock=False)
        self.assertEqual({"N/A"}, self.policies_of_tables())
        self.entries["new"] = "entry"
        self.assert_all_entries_are_found(stock=False)
        self.set_policy_in_options("rocksieve.bloom:10")
        self.ldb_ok("compact", stock=False)
        self.assertEqual({"rocksieve.bloom:10"}, self.policies_of_tables())

    def test_a_spec_that_cannot_be_honoured_is_an_error(self):
        self.create("rocksieve.bloom:10")
        self.set_policy_in_options("rocksieve.blom:10")
        key, value = next(iter(self.entries.items()))
        for command in (["get", key], ["put", "new", "entry"], ["compact"], ["scan"],
                        ["get", key, "--ignore_unknown_options"]):
            with self.subTest(command=command):
                finished = self.ldb(*command)
                self.assertEqual(1, finished.code, finished)
                self.assertRegex(finished.err, 'Invalid argument: .*"blom".*for example rocksieve')
        # The way out, and what RocksDB without the plugin does.
        self.assertEqual(f"{value}\n", self.ldb_ok("get", key, "--try_load_options=false"))
        self.assertEqual(f"{value}\n", self.ldb_ok("get", key, stock=True))


class SstDump(ToolsOnOneDatabase):
    def test_with_and_without_the_plugin(self):
        for spec in SPECS:
            for stock in (False, True):
                with self.subTest(spec=spec, stock=stock):
                    self.create(spec)
                    self.check_all_commands(spec, stock)

    def check_all_commands(self, spec, stock):
        file = f"--file={self.table}"
        self.sst_dump(file, "--command=check", "--verify_checksum", stock=stock)
        self.assertIn("The file is ok", self.sst_dump(file, "--command=verify", stock=stock))
        self.assertIn("is a valid SST file", self.sst_dump(file, "--command=identify", stock=stock))

        scan = self.sst_dump(file, "--command=scan", stock=stock)
        self.assertEqual(sorted(self.entries.items()),
                         re.findall(r"^'(\w+)' seq:0, type:1 => (\w+)$", scan, re.MULTILINE))

        self.sst_dump(file, "--command=raw", stock=stock)
        raw = self.table.with_name(self.table.stem + "_dump.txt").read_text(errors="replace")
        self.assertRegex(raw, r"Filter block handle: \w+")
        raw_entries = re.findall("^  ASCII  k e y .* : v a l u e ", raw, re.MULTILINE)
        self.assertEqual(ENTRIES, len(raw_entries))

        properties = table_properties(self.table, preload=() if stock else [PLUGIN])
        self.assertEqual(spec, properties["filter policy name"])
        self.assertEqual(str(ENTRIES), properties["entries for filter"])
        bits_per_key = 8 * int(properties["filter block size"]) / ENTRIES
        self.assertAlmostEqual(float(spec.split(":")[1]), bits_per_key, delta=0.2)

        recompressed = self.sst_dump(file, "--command=recompress",
                                     "--compression_types=kNoCompression", stock=stock)
        self.assertIn("Compression: kNoCompression", recompressed)


class OldDatabase(ToolsOnOneDatabase):
    """Made before the plugin was there, with RocksDB's own filters."""

    def test_preloaded_tools_serve_it(self):
        self.create(BUILT_IN)
        self.assert_all_entries_are_found(stock=False)
        self.assert_missing_keys_are_missing(stock=False)
        self.assertEqual("OK\n", self.ldb_ok("checkconsistency"))
        self.assertIn("The file is ok",
                      self.sst_dump(f"--file={self.table}", "--command=verify", stock=False))
        self.ldb_ok("compact")
        self.assertEqual({"bloomfilter"}, self.policies_of_tables())
        self.assertEqual(BUILT_IN, self.policy_in_options())

    def test_it_moves_to_our_filters(self):
        for spec in SPECS:
            with self.subTest(spec=spec):
                self.create(BUILT_IN)
                self.set_policy_in_options(spec)
                self.assert_all_entries_are_found(stock=False)  # through the built-in filter
                self.assert_missing_keys_are_missing(stock=False)
                self.assertEqual({"bloomfilter"}, self.policies_of_tables())
                self.ldb_ok("compact")
                self.assertEqual({spec}, self.policies_of_tables())
                self.assert_all_entries_are_found(stock=False)
                self.assert_missing_keys_are_missing(stock=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
