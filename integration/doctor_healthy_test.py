"""Healthy databases of many kinds, in which `rocksieve doctor` must find nothing."""

import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import Database, options_text
from doctor import BUILT_IN, OURS, SMALL, Examined
from environment import PLUGIN, run_ok


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

    def test_every_kind_of_tree(self):
        universal = "compaction_style=kCompactionStyleUniversal"
        table = "block_based_table_factory={%s}"
        for name, options, flags in (
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
                ("old format", table % "format_version=3", ())):
            with self.subTest(tree=name):
                self.database = self.directory / name.replace(" ", "_")
                for spec in (OURS, BUILT_IN):
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
