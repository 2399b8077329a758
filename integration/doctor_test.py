# SPDX-License-Identifier: Apache-2.0
"""Databases that are ill in all the ways that `rocksieve doctor` knows, where it must find what is
wrong and nothing else; healthy ones of many kinds, where it must find nothing; and what it advises,
done word by word."""

import json
import re
import shutil
import sys
import unittest

from environment import (BUILT_IN, COMMAND, PLUGIN, SEED, SMALL, Sandbox, document, load,
                         random_rows, run, run_ok, thorough, traces)
from programs import Database, options_text, table_properties

OURS = "rocksieve.bloom:10"
UNCOMPACTED = SMALL + ";disable_auto_compactions=true"
ONE_FILE = "compression=kNoCompression"


class Examined(Sandbox):
    """Helpers around one database."""

    def setUp(self):
        super().setUp()
        self.database = self.directory / "db"

    def load(self, spec=OURS, *flags, options=SMALL, text=None):
        load(self.database, random_rows(20_000) if text is None else text, *flags,
             *(() if "--add" in flags else [f"--options={options}"]), spec=spec)

    def doctor(self, *flags, is_open=False):
        """The findings, by id; in both forms, and nothing was written. `is_open`: by somebody who
        writes meanwhile, if only what RocksDB logs after some seconds."""
        before = traces(self.database)
        text = run(COMMAND, "doctor", f"--db={self.database}", *flags)
        report = document("doctor", f"--db={self.database}", *flags, code=text.code)
        self.assertEqual(text.code == 0, report["healthy"])
        self.assertEqual(report["healthy"], not report["findings"])
        for finding in report["findings"]:
            self.assertIn(finding["severity"], ("error", "warning"))
            for part in ("title", "evidence", "consequence", "remedy"):
                self.assertTrue(finding[part], finding)
            self.assertIn(finding["id"], text.out)
        if not flags and not is_open:
            self.assertEqual(before, traces(self.database))
        return {finding["id"]: finding for finding in report["findings"]}

    def assert_healthy(self, *flags, **settings):
        self.assertEqual({}, self.doctor(*flags, **settings))

    def assert_found(self, ids, *patterns, flags=()):
        """These, and no others; the first of them with what has to be in its lines."""
        findings = self.doctor(*flags)
        self.assertEqual(sorted(ids.split()), sorted(findings), json.dumps(findings, indent=1))
        found = findings[ids.split()[0]]
        lines = [*found["evidence"], found["remedy"], found["severity"], found["column_family"] or ""]
        for pattern in patterns:
            self.assertTrue(any(re.search(pattern, line) for line in lines), f"{pattern}: {lines}")
        return found

    def edit_options(self, pattern, replacement):
        *others, file = sorted(self.database.glob("OPTIONS-*"), key=lambda path: int(path.name[8:]))
        text, count = re.subn(pattern, replacement, file.read_text())
        self.assertGreater(count, 0)
        file.write_text(text)
        for other in others:
            other.unlink()

    def tables(self):
        return sorted(self.database.glob("*.sst"))


# Steps that make a database.

def loaded(*arguments, **settings):
    return lambda test: test.load(*arguments, **settings)


def edited(pattern, replacement):
    return lambda test: test.edit_options(pattern, replacement)


def ldb(*words, **settings):
    return lambda test: run_ok("ldb", f"--db={test.database}", *words, **settings)


def db_bench(*flags):
    return lambda test: run_ok("db_bench", f"--db={test.database}", *flags)


def table_options(options, *more):
    return ";".join([*more, "block_based_table_factory={" + options + "}"])


def without_options(test):
    for path in test.database.glob("OPTIONS-*"):
        path.unlink()


def flipped(place):
    """A byte of the only table, where the function says."""
    def flip(test):
        [table] = test.tables()
        data = bytearray(table.read_bytes())
        data[place(table, len(data))] ^= 0x55
        table.write_bytes(data)
    return flip


def in_its_filter(table, _):
    return int(table_properties(table, [PLUGIN])["data block size"]) + 1000


PREFIXES = SMALL + ";prefix_extractor=rocksdb.FixedPrefix.4"
CACHED = "cache_index_and_filter_blocks=true;block_cache="
PLUGGED = {"preload": [PLUGIN]}
# What is found, of what steps, and patterns for what is said of it.
ILL = (
    ("no-policy", [loaded("none")], "^OPTIONS-[0-9]+: filter_policy=nullptr$", "^warning$"),
    ("no-policy", [loaded(), loaded("none", "--add", "--column-family=other")], "^other$"),
    ("policy-lost", [loaded(), ldb("put", "x", "y")], "filter_policy=nullptr",
     r"LOG\.old\.\d+, line \d+.*" + OURS, r"\.sst|OPTIONS", "ldb put"),
    ("policy-lost", [loaded(text=""), ldb("put", "x", "y")], OURS),  # before there were files
    *(("bad-spec", [loaded(), edited("filter_policy=.*", "filter_policy=" + wrong)], wrong, said)
      for wrong, said in (("rocksive.bloom:10", "Did you mean rocksieve"),
                          ("blomfilter:10", "Did you mean bloomfilter"),
                          ("rocksieve.blom:10", '"blom"'), ("rocksieve.bloom:100", '"100"'))),
    ("unknown-policy", [loaded("none"), edited("filter_policy=.*", "filter_policy=acme.Filter:3")],
     "acme.Filter:3"),
    ("no-options-file", [loaded(), without_options]),
    ("no-options-file", [loaded(), edited(r"[^\0]+", "")], "no section .TableOptions"),
    ("policy-lost", [loaded(), edited("filter_policy=.*", "filter_policy=")]),
    ("files-without-filters", [loaded("none", options=UNCOMPACTED), loaded(OURS, "--add", text="x\n")],
     r"\d+ of \d+ files", "built without a policy", OURS),
    *(("unreadable-filters", [loaded(before, options=UNCOMPACTED), loaded(after, "--add", text="x\n")],
       "rocksdb.BuiltinBloomFilter", r"name rocksieve\b")
      for before, after in ((OURS, OURS + ":own-name"), (OURS + ":own-name", OURS),
                            (OURS + ":own-name", BUILT_IN), (BUILT_IN, OURS + ":own-name"))),
    ("unreadable-filters", [loaded("rocksieve.cuckoo:12", options=UNCOMPACTED),
                            loaded("ribbonfilter:10", "--add", text="x\n")],
     "rocksieve.cuckoo", "ribbonfilter"),
    ("prefix-extractor-missing", [loaded(options=table_options("whole_key_filtering=false", SMALL))],
     "whole_key_filtering=false", "prefix_extractor=nullptr"),
    *(("prefix-extractor-changed",
       [loaded(options=table_options(f"whole_key_filtering={whole}", PREFIXES)),
        edited("prefix_extractor=rocksdb.FixedPrefix.4", "prefix_extractor=rocksdb.FixedPrefix.5")],
       f"^{severity}$", "FixedPrefix.4", "FixedPrefix.5", f"whole_key_filtering={whole}")
      for whole, severity in (("false", "error"), ("true", "warning"))),
    ("prefix-extractor-changed",
     [loaded(options=SMALL),
      edited("prefix_extractor=nullptr", "prefix_extractor=rocksdb.FixedPrefix.4")],
     "^warning$", "prefix extractor none", "FixedPrefix.4"),
    ("whole-keys-missing",
     [loaded(options=table_options("whole_key_filtering=false", PREFIXES)),
      edited("whole_key_filtering=false", "whole_key_filtering=true"),
      edited("memtable_whole_key_filtering=true", "memtable_whole_key_filtering=false")]),
    # Ranges that nobody asks for, whose extractor was lost, that nobody answers for; older files.
    ("ranges-unfiltered",
     [loaded(), edited(f"filter_policy={OURS}", "filter_policy=rocksieve.range:12")],
     "prefix_extractor=nullptr", "rocksieve.range:12"),
    ("ranges-unfiltered", [loaded("rocksieve.range:12"),
                           edited("prefix_extractor=rocksieve.range", "prefix_extractor=nullptr")],
     "prefix_extractor=nullptr", "prefix extractor rocksieve.range.file"),
    ("ranges-unfiltered", [loaded(options=SMALL + ";prefix_extractor=rocksieve.range")],
     "prefix_extractor=rocksieve.range"),
    ("ranges-unfiltered", [loaded(options=UNCOMPACTED),
                           edited("prefix_extractor=nullptr", "prefix_extractor=rocksieve.range"),
                           edited(f"filter_policy={OURS}", "filter_policy=rocksieve.range:12")],
     "prefix extractor none"),
    ("prefix-extractor-shared",
     [loaded("rocksieve.range:12", options=table_options(
         "index_type=kHashSearch", SMALL + ";memtable_prefix_bloom_size_ratio=0.1"))],
     "index_type=kHashSearch"),
    ("partitions-without-index", [loaded(), edited("partition_filters=false", "partition_filters=true")],
     "^error$", "partition_filters=true", "index_type=kBinarySearch"),
    # RocksDB has taken partition_filters back, and the size is left.
    ("partitions-without-index", [loaded(options=table_options(
        "partition_filters=true;metadata_block_size=1024", SMALL))],
     "^warning$", "partition_filters=false", "metadata_block_size=1024", "kTwoLevelIndexSearch"),
    ("last-level-unfiltered",
     [loaded(OURS, "--compact", options=SMALL + ";optimize_filters_for_hits=true")],
     "optimize_filters_for_hits=true", "100 % of all entries"),
    # The log tells, or only the options do.
    *(("auto-without-listener", [loaded("rocksieve.auto:10", text=text), edited("listeners=.*", ""),
                                 ldb("--try_load_options", "put", "x", "y", **PLUGGED)],
       "rocksieve.auto:10", "listeners=") for text in (None, "")),
    *(("damaged-filters", [loaded(spec, "--compact", options=ONE_FILE), flipped(in_its_filter)],
       r"\.sst", "offset") for spec in (OURS, BUILT_IN)),
    ("unreadable-files", [loaded(OURS, "--compact", options=ONE_FILE),
                          flipped(lambda _, size: size - 3)], r"\.sst", "ldb repair on a copy"),
    # Another one in its place.
    ("unreadable-files", [loaded(OURS, options=UNCOMPACTED), loaded(OURS, "--add", text="x\n"),
                          lambda test: shutil.copy(test.tables()[0], test.tables()[-1])],
     r"has \d+ bytes, and the MANIFEST says \d+"),
    # It may be where no OPTIONS file says.
    ("unreadable-files", [loaded(OURS, "--compact", options=ONE_FILE),
                          lambda test: test.tables()[0].unlink()], "db_paths or cf_paths"),
    ("filters-exceed-cache", [loaded(options=table_options(CACHED + "20K", SMALL))],
     r"capacity : 20480", r"filters in it: \d\d,\d\d\d bytes", "cache_index_and_filter_blocks=true",
     r"filter_policy=rocksieve\.auto:1\d(kB|\d00B), with listeners=\{rocksieve\.listener\}"),
    # Partitions are in the cache whatever the option.
    ("filters-exceed-cache", [loaded(OURS, "--partitioned",
                                     options=table_options("block_cache=10K", SMALL))]),
    ("huge-filters", [loaded(OURS, "--compact", text="".join(f"{i}\n" for i in range(500_000)),
                             options=table_options(CACHED + "{capacity=4M;num_shard_bits=3}",
                                                   "target_file_size_base=1000000000"))],
     "in 8 shards of 524,288 bytes"),
    ("table-cache-too-small", [loaded(options=f"{SMALL};max_open_files=20", text=random_rows(100_000))],
     "max_open_files="),
    ("tiny-files", [loaded(text=random_rows(8_000, value_bytes=2500), options=UNCOMPACTED +
                           ";level0_slowdown_writes_trigger=100000;level0_stop_writes_trigger=100000")],
     "bits per key"),
)
UNIVERSAL = "compaction_style=kCompactionStyleUniversal"
TREES = (  # options and flags
    (UNIVERSAL,), ("compaction_style=kCompactionStyleFIFO;max_open_files=-1",), ("", "--compact"),
    ("disable_auto_compactions=true",), ("level_compaction_dynamic_level_bytes=false",),
    ("", "--partitioned"), (UNIVERSAL, "--partitioned", "--compact"),
    ("prefix_extractor=rocksdb.FixedPrefix.4",),
    (table_options("whole_key_filtering=false", "prefix_extractor=rocksdb.CappedPrefix.5"),),
    *((table_options(option),) for option in (
        "cache_index_and_filter_blocks=true", "optimize_filters_for_memory=true", "format_version=3")))
HEALTHY = (
    *([loaded(spec)] for spec in (
        OURS, "rocksieve.auto:10", "rocksieve.auto:3", "rocksieve.cuckoo:1%", "rocksieve.ribbon:7.5",
        "rocksieve.range:12", "rocksieve.bloom:10:salted", "rocksieve.bloom:12:own-name", BUILT_IN,
        "ribbonfilter:10", "ribbonfilter:12:-1")),
    [loaded(text="")], [loaded(text="a\n")],
    [loaded(), loaded("rocksieve.ribbon:10", "--add", "--column-family=other: [one]"),
     loaded(BUILT_IN, "--add", "--column-family=third")],
    [loaded(BUILT_IN), loaded(OURS, "--add")],  # RocksDB's filters can be read under ours
    [loaded(text="a\nb\n"), ldb("deleterange", "a", "z", **PLUGGED), ldb("compact", **PLUGGED)],
    [loaded(), ldb("put", "x", "y", **PLUGGED)],
    # Formats of tables without filters.
    *([db_bench("--benchmarks=fillrandom,flush", "--num=1000", "--mmap_read", *flags)] for flags in (
        ["--use_plain_table", "--prefix_size=8"], ["--use_cuckoo_table"])),
)


class Databases(Examined):
    def make(self, steps):
        shutil.rmtree(self.database, ignore_errors=True)
        for step in steps:
            step(self)

    def test_ill(self):
        for row, (found, steps, *patterns) in enumerate(ILL):
            with self.subTest(row=row, found=found):
                self.make(steps)
                self.assert_found(found, *patterns)

    def test_healthy(self):
        for row, steps in enumerate(HEALTHY):
            with self.subTest(row=row):
                self.make(steps)
                self.assert_healthy()

    @thorough
    def test_every_kind_of_tree(self):
        for options, *flags in TREES:
            for spec in (OURS, BUILT_IN):
                with self.subTest(options=options, flags=flags, spec=spec):
                    self.make([loaded(spec, *flags, options=f"{SMALL};{options}")])
                    self.assert_healthy()

    @thorough
    def test_thrashing(self):
        db_bench("--benchmarks=fillrandom,compact,readmissing", "--num=300000", "--bloom_bits=10",
                 "--cache_index_and_filter_blocks=true", "--cache_size=100000", "--statistics",
                 "--stats_dump_period_sec=1", "--reads=1000000", "--duration=4", f"--seed={SEED}",
                 "--compression_type=none")(self)
        self.assert_found("filters-thrash filters-exceed-cache huge-filters",
                          r"LOG, after line \d+: rocksdb.block.cache.filter.miss COUNT : \d+")

    def test_names_do_nothing_to_a_terminal(self):
        self.load("rocksieve.ribbon:10", "--column-family=a\x1b[31m\u009b1m\x07b")
        for command in ("doctor", "explain"):
            text = run_ok(COMMAND, command, f"--db={self.database}").out
            self.assertIn("a [31m 1m b", text)
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")

    def test_what_cannot_be_looked_at(self):
        def assert_cannot(says, *flags, database=self.database):
            self.assert_refused(says, "doctor", f"--db={database}", *flags)

        assert_cannot("there is no directory")
        assert_cannot("there is no RocksDB database", database=self.directory)
        self.load(text="a\n")
        assert_cannot("there is no process 999999999", "--pid=999999999")
        assert_cannot("is not the number of a process", "--pid=x")
        assert_cannot("no file of", f"--pid={self.spawn('sleep', '60').pid}")
        [manifest] = self.database.glob("MANIFEST-*")
        manifest.write_bytes(b"x" * 1000)
        assert_cannot("MANIFEST")


BYTES_READ = "bytes_read_through_cache_per_missing_lookup"


class FiltersThatExceedTheCache(Examined):
    """What doctor advises is done, and helps; `whatif --cache` says the same beforehand."""

    def setUp(self):
        super().setUp()
        self.bench = Database(self.directory, "--value_size=20", "--cache_size=0", keys=200_000)
        # No log is left, so that a compaction is the first job when it is opened again.
        self.bench.bench("fillrandom,flush,waitforcompaction",
                         self.options(8 << 20, {}, disable_auto_compactions="false"), existing=False)
        self.cache_bytes = self.document("doctor")["filter_bytes"] * 2 // 3

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

    def document(self, command, *flags):
        return document(command, f"--db={self.bench.path}", *flags)

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
        # What whatif says of the same tree; blocks per search are a sample.
        [family] = self.document("whatif", f"--cache={self.cache_bytes}")["column_families"]
        self.assertAlmostEqual(now, family["now"][BYTES_READ], delta=0.01 * now)
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
        [family] = self.document("explain")["column_families"]
        self.assertEqual(advised["filter_policy"], family["filter_policy"])
        self.assertTrue(0.85 < family["filter_bytes"] / family["filter_budget_bytes"] < 1.07, family)
        self.assertLess(after, before / 8)
        self.assertLess(after, 2 * then)
        print(f"bytes per lookup: {before:.0f} before, {after:.0f} after; reckoned: {now}, {then}",
              file=sys.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
