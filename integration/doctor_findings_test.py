# SPDX-License-Identifier: Apache-2.0
"""Databases that are ill in all the ways that `rocksieve doctor` knows, where it must find what is
wrong and nothing else; and healthy ones of many kinds, where it must find nothing."""

import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import Database, options_text, table_properties
from doctor import BUILT_IN, COMMAND, OURS, SMALL, Examined, lines
from environment import PLUGIN, SEED, THOROUGH, run_ok, thorough


class Policies(Examined):
    def test_none(self):
        self.load("none")
        found = self.assert_found("no-policy")
        self.assert_evidence(found, "^OPTIONS-[0-9]+: filter_policy=nullptr$")
        self.assertEqual("warning", found["severity"])

    def test_none_in_one_of_two_column_families(self):
        self.load()
        self.load("none", "--add", "--column-family=other")
        self.assertEqual("other", self.assert_found("no-policy")["column_family"])

    def test_lost_to_a_program_without_the_plugin(self):
        self.load()
        run_ok("ldb", f"--db={self.database}", "put", "x", "y")
        found = self.assert_found("policy-lost")
        self.assert_evidence(found, "filter_policy=nullptr", r"LOG\.old\.\d+, line \d+.*" + OURS,
                             r"\.sst|OPTIONS")
        self.assertIn("ldb put", found["remedy"])

    def test_lost_before_there_were_files(self):
        self.load(text="")
        run_ok("ldb", f"--db={self.database}", "put", "x", "y")
        self.assert_evidence(self.assert_found("policy-lost"), OURS)

    def test_misspelt_in_the_options(self):
        for wrong, id_and_more in (("rocksive.bloom:10", "Did you mean rocksieve"),
                                   ("blomfilter:10", "Did you mean bloomfilter"),
                                   ("rocksieve.blom:10", '"blom"'),
                                   ("rocksieve.bloom:100", '"100"')):
            with self.subTest(spec=wrong):
                self.database = self.directory / wrong.replace(":", "_")
                self.load()
                self.edit_options("filter_policy=.*", "filter_policy=" + wrong)
                found = self.assert_found("bad-spec")
                self.assert_evidence(found, re.escape(wrong))
                self.assertIn(id_and_more, found["remedy"])

    def test_of_another_program(self):
        self.load("none")
        self.edit_options("filter_policy=.*", "filter_policy=acme.Filter:3")
        self.assert_evidence(self.assert_found("unknown-policy"), "acme.Filter:3")

    def test_no_options_file(self):
        self.load()
        for path in self.database.glob("OPTIONS-*"):
            path.unlink()
        self.assert_found("no-options-file")

    def test_files_from_before_the_policy(self):
        self.load("none", options=SMALL + ";disable_auto_compactions=true")
        self.load(OURS, "--add", text="x\n")
        found = self.assert_found("files-without-filters")
        self.assert_evidence(found, r"\d+ of \d+ files", "built without a policy", OURS)


class Reading(Examined):
    def test_filters_under_another_name(self):
        for before, after in ((OURS, OURS + ":own-name"), (OURS + ":own-name", OURS),
                              (OURS + ":own-name", BUILT_IN), (BUILT_IN, OURS + ":own-name")):
            with self.subTest(before=before, after=after):
                shutil.rmtree(self.database, ignore_errors=True)
                self.load(before, options=SMALL + ";disable_auto_compactions=true")
                self.load(after, "--add", text="x\n")
                found = self.assert_found("unreadable-filters")
                self.assert_evidence(found, "rocksdb.BuiltinBloomFilter", r"name rocksieve\b")

    def test_ours_under_a_policy_of_rocksdb(self):
        self.load("rocksieve.cuckoo:12", options=SMALL + ";disable_auto_compactions=true")
        self.load("ribbonfilter:10", "--add", text="x\n")
        self.assert_evidence(self.assert_found("unreadable-filters"), "rocksieve.cuckoo",
                             "ribbonfilter")

    def test_no_prefix_extractor_for_prefixes(self):
        self.load(options=SMALL + ";block_based_table_factory={whole_key_filtering=false}")
        self.assert_evidence(self.assert_found("prefix-extractor-missing"),
                             "whole_key_filtering=false", "prefix_extractor=nullptr")

    def test_another_prefix_extractor(self):
        for whole_keys, severity in (("false", "error"), ("true", "warning")):
            with self.subTest(whole_keys=whole_keys):
                self.database = self.directory / whole_keys
                self.load(options=SMALL + ";prefix_extractor=rocksdb.FixedPrefix.4;"
                          "block_based_table_factory={whole_key_filtering=%s}" % whole_keys)
                self.edit_options("prefix_extractor=rocksdb.FixedPrefix.4",
                                  "prefix_extractor=rocksdb.FixedPrefix.5")
                found = self.assert_found("prefix-extractor-changed")
                self.assertEqual(severity, found["severity"])
                self.assert_evidence(found, "FixedPrefix.4", "FixedPrefix.5",
                                     f"whole_key_filtering={whole_keys}")

    def test_whole_keys_wanted_only_now(self):
        self.load(options=SMALL + ";prefix_extractor=rocksdb.FixedPrefix.4;"
                  "block_based_table_factory={whole_key_filtering=false}")
        self.edit_options("whole_key_filtering=false", "whole_key_filtering=true")
        self.edit_options("memtable_whole_key_filtering=true", "memtable_whole_key_filtering=false")
        self.assert_found("whole-keys-missing")

    def test_ranges_that_nobody_asks_for(self):
        self.load(OURS)
        self.edit_options(f"filter_policy={OURS}", "filter_policy=rocksieve.range:12")
        self.assert_evidence(self.assert_found("ranges-unfiltered"), "prefix_extractor=nullptr",
                             "rocksieve.range:12")

    def test_an_extractor_that_was_lost(self):
        self.load("rocksieve.range:12")
        self.edit_options("prefix_extractor=rocksieve.range", "prefix_extractor=nullptr")
        self.assert_evidence(self.assert_found("ranges-unfiltered"), "prefix_extractor=nullptr",
                             "prefix extractor rocksieve.range.file")

    def test_what_needs_another_extractor(self):
        self.load("rocksieve.range:12", options=SMALL + ";memtable_prefix_bloom_size_ratio=0.1;"
                  "block_based_table_factory={index_type=kHashSearch}")
        self.assert_evidence(self.assert_found("prefix-extractor-shared"), "index_type=kHashSearch")

    def test_ranges_that_nobody_answers_for(self):
        self.load(OURS, options=SMALL + ";prefix_extractor=rocksieve.range")
        self.assert_evidence(self.assert_found("ranges-unfiltered"),
                             "prefix_extractor=rocksieve.range")

    def test_files_from_before_ranges(self):
        self.load(OURS, options=SMALL + ";disable_auto_compactions=true")
        self.edit_options("prefix_extractor=nullptr", "prefix_extractor=rocksieve.range")
        self.edit_options(f"filter_policy={OURS}", "filter_policy=rocksieve.range:12")
        self.assert_evidence(self.assert_found("ranges-unfiltered"), "prefix extractor none")

    def test_ranges_that_are_filtered(self):
        self.load("rocksieve.range:12")
        self.assert_healthy()

    def test_no_filters_in_the_last_level(self):
        self.load(OURS, "--compact", options=SMALL + ";optimize_filters_for_hits=true")
        self.assert_evidence(self.assert_found("last-level-unfiltered"),
                             "optimize_filters_for_hits=true", "100 % of all entries")


    def test_auto_without_its_listener(self):
        for text in (None, ""):  # the log tells, or only the options do
            shutil.rmtree(self.database, ignore_errors=True)
            self.load("rocksieve.auto:10", text=text)
            self.edit_options("listeners=.*", "")
            run_ok("ldb", f"--db={self.database}", "--try_load_options", "put", "x", "y",
                   preload=[PLUGIN])
            self.assert_evidence(self.assert_found("auto-without-listener"), "rocksieve.auto:10",
                                 "listeners=")


class Damage(Examined):
    def flip(self, table, offset):
        with open(table, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x55]))

    def test_a_filter_block(self):
        for spec in (OURS, BUILT_IN):
            with self.subTest(spec=spec):
                shutil.rmtree(self.database, ignore_errors=True)
                self.load(spec, "--compact", options="compression=kNoCompression")
                [table] = self.tables()
                data_bytes = int(table_properties(table, [PLUGIN])["data block size"])
                self.flip(table, data_bytes + 1000)
                self.assert_evidence(self.assert_found("damaged-filters"), re.escape(table.name),
                                     "offset")

    def test_a_table_file(self):
        self.load(OURS, "--compact", options="compression=kNoCompression")
        [table] = self.tables()
        self.flip(table, table.stat().st_size - 3)
        self.assert_evidence(self.assert_found("unreadable-files"), re.escape(table.name))


class Costs(Examined):
    CACHED = (SMALL + ";block_based_table_factory={cache_index_and_filter_blocks=true;"
              "block_cache=%s}")

    def test_a_cache_that_is_too_small(self):
        self.load(options=self.CACHED % "20K")
        found = self.assert_found("filters-exceed-cache")
        self.assert_evidence(found, r"capacity : 20480", r"filters in it: \d\d,\d\d\d bytes",
                             "cache_index_and_filter_blocks=true")
        self.assertRegex(found["remedy"], r"filter_policy=rocksieve\.auto:1\d(kB|\d00B), with "
                                          r"listeners=\{rocksieve\.listener\}")

    def test_partitions_are_in_the_cache_whatever_the_option(self):
        self.load(OURS, "--partitioned", options=SMALL +
                  ";block_based_table_factory={block_cache=10K}")
        self.assert_found("filters-exceed-cache")

    def test_filters_that_fit_no_shard(self):
        text = "".join(f"{i}\n" for i in range(500_000))
        self.load(OURS, "--compact", text=text, options="target_file_size_base=1000000000;"
                  "block_based_table_factory={cache_index_and_filter_blocks=true;"
                  "block_cache={capacity=4M;num_shard_bits=3}}")
        self.assert_evidence(self.assert_found("huge-filters"), "in 8 shards of 524,288 bytes")

    def test_few_open_files(self):
        self.load(options=f"{SMALL};max_open_files=20", text=lines(100_000))
        self.assertGreater(len(self.tables()), 20)
        self.assert_evidence(self.assert_found("table-cache-too-small"), "max_open_files=")

    def test_tiny_files(self):
        self.load(text=lines(8_000, value_bytes=2500), options=SMALL +
                  ";disable_auto_compactions=true;level0_slowdown_writes_trigger=100000;"
                  "level0_stop_writes_trigger=100000")
        self.assertGreater(len(self.tables()), 100)
        self.assert_evidence(self.assert_found("tiny-files"), "bits per key")

    @thorough
    def test_thrashing(self):
        run_ok("db_bench", f"--db={self.database}", "--benchmarks=fillrandom,compact,readmissing",
               "--num=300000", "--bloom_bits=10", "--cache_index_and_filter_blocks=true",
               "--cache_size=100000", "--statistics", "--stats_dump_period_sec=1",
               "--reads=1000000", "--duration=4", f"--seed={SEED}", "--compression_type=none")
        self.assert_evidence(
            self.assert_found("filters-thrash", "filters-exceed-cache", "huge-filters"),
            r"LOG, after line \d+: rocksdb.block.cache.filter.miss COUNT : \d+")


class Healthy(Examined):
    def test_every_filter(self):
        for spec in (OURS, "rocksieve.auto:10", "rocksieve.auto:3", "rocksieve.cuckoo:1%",
                     "rocksieve.ribbon:7.5", "rocksieve.bloom:10:salted",
                     "rocksieve.bloom:12:own-name", BUILT_IN, "ribbonfilter:10",
                     "ribbonfilter:12:-1"):
            with self.subTest(spec=spec):
                self.database = self.directory / re.sub(r"\W", "_", spec)
                self.load(spec)
                self.assert_healthy()

    @thorough
    def test_every_kind_of_tree(self):
        """With our filters or with RocksDB's, by turns."""
        universal = "compaction_style=kCompactionStyleUniversal"
        table = "block_based_table_factory={%s}"
        for number, (name, options, flags) in enumerate((
                ("universal", universal, ()),
                ("fifo", "compaction_style=kCompactionStyleFIFO;max_open_files=-1", ()),
                ("one level", "", ("--compact",)),
                ("only level 0", "disable_auto_compactions=true", ()),
                ("old leveling", "level_compaction_dynamic_level_bytes=false", ()),
                ("partitioned", "", ("--partitioned",)),
                ("partitioned and universal", universal, ("--partitioned", "--compact")),
                ("prefixes and whole keys", "prefix_extractor=rocksdb.FixedPrefix.4", ()),
                ("prefixes only", "prefix_extractor=rocksdb.CappedPrefix.5;" +
                 table % "whole_key_filtering=false", ()),
                ("filters in the cache", table % "cache_index_and_filter_blocks=true", ()),
                ("filters that fit the allocator", table % "optimize_filters_for_memory=true", ()),
                ("old format", table % "format_version=3", ()))):
            with self.subTest(tree=name):
                self.database = self.directory / name.replace(" ", "_")
                for spec in (OURS, BUILT_IN) if THOROUGH else (OURS, BUILT_IN)[number % 2:][:1]:
                    shutil.rmtree(self.database, ignore_errors=True)
                    self.load(spec, *flags, options=f"{SMALL};{options}")
                    self.assert_healthy()

    def test_without_keys(self):
        self.load(text="")
        self.assert_healthy()

    def test_one_key(self):
        self.load(text="a\n")
        self.assert_healthy()

    def test_several_column_families(self):
        self.load()
        self.load("rocksieve.ribbon:10", "--add", "--column-family=other: [one]")
        self.load(BUILT_IN, "--add", "--column-family=third")
        self.assert_healthy()

    def test_names_do_nothing_to_a_terminal(self):
        self.load("rocksieve.ribbon:10", "--column-family=a\x1b[31m\u009b1m\x07b")
        for command in ("doctor", "explain"):
            text = run_ok(COMMAND, command, f"--db={self.database}").out
            self.assertIn("a [31m 1m b", text)
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")

    def test_old_filters_of_rocksdb_under_ours(self):
        self.load(BUILT_IN)
        self.load(OURS, "--add")
        self.assert_healthy()

    def test_only_deletions(self):
        self.load(text="a\nb\n")
        run_ok("ldb", f"--db={self.database}", "deleterange", "a", "z", preload=[PLUGIN])
        run_ok("ldb", f"--db={self.database}", "compact", preload=[PLUGIN])
        self.assert_healthy()

    def test_reopened_by_a_program_with_the_plugin(self):
        self.load()
        run_ok("ldb", f"--db={self.database}", "put", "x", "y", preload=[PLUGIN])
        self.assert_healthy()

    def test_tables_without_filters_by_their_format(self):
        for number, flags in enumerate((["--use_plain_table", "--mmap_read", "--prefix_size=8"],
                                        ["--use_cuckoo_table", "--mmap_read"])):
            self.database = self.directory / str(number)
            run_ok("db_bench", f"--db={self.database}", "--benchmarks=fillrandom,flush",
                   "--num=1000", *flags)
            self.assertTrue(self.tables())
            self.assert_healthy()

    def test_db_bench(self):
        for policy in (OURS, BUILT_IN):
            database = Database(self.directory / policy[:4], keys=50_000)
            (self.directory / policy[:4]).mkdir()
            database.create(options_text(policy))
            self.database = database.path
            self.assert_healthy()


if __name__ == "__main__":
    unittest.main(verbosity=2)
