# SPDX-License-Identifier: Apache-2.0
"""`rocksieve whatif`: its report, its JSON document, its picture, and what it refuses.
Whether its predictions come true is whatif_test.cc's concern."""

import json
import os
import pathlib
import random
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, Sandbox, run, run_ok

COMMAND = BUILD / "bin" / "rocksieve"
SVG = "{http://www.w3.org/2000/svg}"
READS = "expected_useless_reads_per_missing_lookup"


def load(database, lines, *flags, spec="bloomfilter:10:false"):
    run_ok(COMMAND, "load", f"--db={database}", f"--spec={spec}", "--input=-", *flags,
           stdin="".join(lines))


class WhatIf(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        randomness = random.Random(1)
        cls.database = cls.class_directory / "db"
        cls.keys = [f"{randomness.randrange(10**9):09}" for _ in range(20000)]
        load(cls.database, [f"{key}\tvalue {key}\n" for key in cls.keys], "--compact")
        load(cls.database, [f"{key}\tanother\n" for key in cls.keys[::7]], "--add")

    def whatif(self, *flags, database=None):
        return run(COMMAND, "whatif", f"--db={database or self.database}", *flags)

    def whatif_json(self, *flags, **settings):
        finished = self.whatif("--json", *flags, **settings)
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        return json.loads(finished.out)

    def refusal(self, *flags, **settings):
        finished = self.whatif(*flags, **settings)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        return finished.err


class BudgetsOfBytes(WhatIf):
    def test_are_predicted_as_so_many_bits(self):
        [family] = self.whatif_json("--spec=rocksieve.auto:12kB", "--spec=rocksieve.auto:1GB")[
            "column_families"]
        small, large = family["policies"]
        self.assertEqual("rocksieve.auto:12kB", small["spec"])
        self.assertAlmostEqual(12000, small["filter_bytes"], delta=400)
        self.assertAlmostEqual(16, large["filter_bits_per_entry"], delta=0.5)
        self.assertLess(large[READS], small[READS])

    def test_what_load_builds_keeps_to_them_and_explain_says_so(self):
        database = self.directory / "bytes"
        load(database, [f"{key}\n" for key in self.keys], "--compact",
             spec="rocksieve.auto:0.012MB")
        [family] = json.loads(run_ok(COMMAND, "explain", f"--db={database}", "--json").out)[
            "column_families"]
        self.assertEqual("rocksieve.auto:12kB", family["filter_policy"])
        self.assertEqual(12000, family["filter_budget_bytes"])
        self.assertLess(10000, family["filter_bytes"])
        self.assertGreater(12600, family["filter_bytes"])
        self.assertIn(", of 12,000 that rocksieve.auto:12kB may take",
                      run_ok(COMMAND, "explain", f"--db={database}").out)
        self.assertEqual([], family["notes"])

    def test_explain_says_where_filters_and_budget_differ(self):
        for name, first, budget, note in (
                ("before", "bloomfilter:16:false", "2kB", "% more than rocksieve.auto:2kB may"),
                ("large", "rocksieve.auto:1GB", "1GB", "of it they get")):
            with self.subTest(name):
                database = self.directory / name
                load(database, [f"{key}\n" for key in self.keys], "--compact", spec=first)
                load(database, ["x\n"], "--add", spec=f"rocksieve.auto:{budget}")
                [family] = json.loads(run_ok(COMMAND, "explain", f"--db={database}", "--json").out)[
                    "column_families"]
                [said] = family["notes"]
                self.assertIn(note, said)

    def test_explain_says_what_reads_it_does_not_know(self):
        database = self.directory / "cached"
        load(database, [f"{key}\n" for key in self.keys],
             "--options=block_based_table_factory={cache_index_and_filter_blocks=true}")
        [family] = json.loads(run_ok(COMMAND, "explain", f"--db={database}", "--json").out)[
            "column_families"]
        self.assertIn("whatif --cache=SIZE", family["notes"][0])


class BlockCaches(WhatIf):
    BYTES = "bytes_read_through_cache_per_missing_lookup"

    def test_without_one_nothing_is_said(self):
        report = self.whatif_json("--spec=none")
        [family] = report["column_families"]
        self.assertEqual([None] * 4, [report["block_cache"], family["cache_advice"],
                                      family["now"][self.BYTES], family["policies"][0][self.BYTES]])
        self.assertNotIn("cache", self.whatif("--spec=none").out)

    def test_what_does_not_fit_is_read(self):
        specs = ["none", "rocksieve.ribbon:10", "rocksieve.auto:10kB"]
        flags = [f"--spec={spec}" for spec in specs]
        report = self.whatif_json("--cache=20kB", *flags)
        self.assertEqual({"bytes": 20000, "high_pri_pool_ratio": 0.5, "num_shard_bits": 0},
                         report["block_cache"])
        [family] = report["column_families"]
        self.assertFalse(family["filters_are_cached"])
        none, ribbon, auto = [policy[self.BYTES] for policy in family["policies"]]
        # A data block, and an index, in each of two files.
        self.assertGreater(none, 3000)  # on disk they are compressed
        # One filter of two hardly ever stays: a data block comes in for each of the others'.
        self.assertGreater(ribbon, 1000)
        self.assertLess(auto, 0.5 * ribbon)
        advice = family["cache_advice"]
        self.assertRegex(advice["spec"], r"^rocksieve\.auto:1\d+k?B$")
        self.assertLess(advice[self.BYTES], auto)
        for part in (advice["spec"], "listeners={rocksieve.listener}", "high_pri_pool_ratio=1"):
            self.assertIn(part, advice["reason"])
        # In one of 100 MB all stay, and only false positives are read.
        [family] = self.whatif_json("--cache=100MB", *flags)["column_families"]
        none = family["policies"][0]
        for policy in family["policies"][1:]:
            self.assertAlmostEqual(1, policy[self.BYTES] / none[self.BYTES]
                                   / (policy[READS] / none[READS]), delta=0.1)

    def test_the_text(self):
        finished = self.whatif("--spec=rocksieve.ribbon:10", "--cache=20kB",
                               "--high-pri-pool-ratio=1")
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        words = " ".join(finished.out.split())
        self.assertIn("through a block cache of 20,000 bytes with high_pri_pool_ratio=1", words)
        self.assertIn("cache_index_and_filter_blocks=true (now it is false)", words)
        self.assertIn("no lookups of present keys", words)
        self.assertRegex(words, r"For such a block cache: rocksieve.auto:1\d+k?B, with listeners")
        self.assertNotIn("a block cache with high_pri_pool_ratio=1", words)  # as it is already
        self.assertLessEqual(max(map(len, finished.out.splitlines())), 115)

    def test_no_budget_of_bytes_is_advised_where_none_helps(self):
        database = self.directory / "fits"
        load(database, [f"{key}\n" for key in self.keys], "--compact", spec="rocksieve.auto:16")
        [family] = self.whatif_json("--cache=1GB", database=database)["column_families"]
        self.assertIsNone(family["cache_advice"]["spec"])
        self.assertIn("what is there", family["cache_advice"]["reason"])
        [family] = self.whatif_json("--cache=800")["column_families"]
        self.assertIn("as small as this block cache", family["cache_advice"]["reason"])


class Reports(WhatIf):
    def test_the_document(self):
        specs = ["rocksieve.auto:10", "ribbonfilter:10", "none"]
        report = self.whatif_json("--bits=8..12", *[f"--spec={spec}" for spec in specs])
        self.assertEqual(str(self.database), report["database"])
        [family] = report["column_families"]
        self.assertEqual("default", family["name"])
        self.assertEqual(2, family["files"])
        self.assertEqual(specs, [policy["spec"] for policy in family["policies"]])
        for filters in [family["now"], *family["policies"]]:
            levels = filters["levels"]
            self.assertEqual(family["entries"], sum(level["entries"] for level in levels))
            self.assertEqual(2, sum(level["files"] for level in levels))
            self.assertAlmostEqual(filters["filter_bytes"],
                                   sum(level["filter_bytes"] for level in levels), delta=2)
            self.assertAlmostEqual(filters[READS], sum(level[READS] for level in levels))
            for level in levels:
                self.assertTrue(0 < level["false_positive_rate"] <= 1)
        auto, ribbon, none = family["policies"]
        self.assertEqual(0, none["filter_bytes"])
        self.assertAlmostEqual(2, none[READS], delta=0.05)
        self.assertLess(auto[READS], ribbon[READS])
        self.assertLess(ribbon["filter_bytes"], auto["filter_bytes"])
        for policy in (auto, ribbon):
            self.assertGreater(policy["build_seconds"], 0)
            self.assertTrue(1 < policy["probe_nanoseconds_per_missing_lookup"] < 100000)

    def test_budgets_fall(self):
        [family] = self.whatif_json("--bits=8..12")["column_families"]
        budgets = family["budgets"]
        self.assertEqual([8, 9, 10, 11, 12], [row["filter_bits_per_entry"] for row in budgets])
        for name in ("RocksDB Bloom", "RocksDB Ribbon", "rocksieve.bloom", "rocksieve.ribbon",
                     "rocksieve.auto"):
            reads = [row[READS][name] for row in budgets]
            self.assertEqual(sorted(reads, reverse=True), reads, name)
            self.assertTrue(all(0 < value < 1 for value in reads), name)

    def test_a_recommendation_in_the_memory_of_today(self):
        [family] = self.whatif_json()["column_families"]
        advice = family["recommendation"]
        self.assertTrue(advice["spec"].startswith("rocksieve."), advice)
        self.assertLess(advice["filter_bytes"], 1.03 * family["now"]["filter_bytes"])
        self.assertLess(advice[READS], 0.5 * family["now"][READS])
        self.assertIn(advice["spec"], advice["reason"])
        self.assertIn("us per read", advice["reason"])
        # A cheaper read makes the CPU count, in the modelled time at least.
        [cheap] = self.whatif_json("--read-us=0.1")["column_families"]
        self.assertLess(cheap["recommendation"]["microseconds_per_missing_lookup"],
                        advice["microseconds_per_missing_lookup"] + 0.1)

    def test_keeps_what_is_best_already(self):
        database = self.directory / "best"
        load(database, [f"{key}\n" for key in self.keys], "--compact", spec="rocksieve.ribbon:10")
        [family] = self.whatif_json(database=database)["column_families"]
        self.assertIsNone(family["recommendation"]["spec"], family["recommendation"])
        self.assertIn("Keep", family["recommendation"]["reason"])

    def test_hardly_any_filters_are_no_measure(self):
        database = self.directory / "few"
        load(database, [f"{key}\n" for key in self.keys], "--compact", spec="none")
        load(database, [f"{key}\n" for key in self.keys[:50]], "--add", spec="rocksieve.bloom:10")
        [family] = self.whatif_json(database=database)["column_families"]
        self.assertIsNotNone(family["recommendation"]["spec"], family["recommendation"])
        self.assertAlmostEqual(1, family["recommendation"]["filter_bytes"] * 8 / 10
                               / family["entries"], delta=0.05)

    def test_missing_keys_of_the_user(self):
        probes = self.directory / "probes"
        # Beyond all keys: no file is met.
        probes.write_text("".join(f"x{i}\n" for i in range(100)))
        [family] = self.whatif_json("--spec=none", f"--probes={probes}")["column_families"]
        self.assertEqual(0, family["policies"][0][READS])
        # All over: two blocks are read where a key lies between the last key of one and the key of
        # the index that ends it, a gap in a hundred.
        probes.write_text("".join(f"{key}x".encode().hex() + "\n" for key in self.keys[::10]))
        [family] = self.whatif_json("--spec=none", f"--probes={probes}", "--hex")["column_families"]
        self.assertAlmostEqual(2, family["policies"][0][READS], delta=0.05)

    def test_the_text(self):
        finished = self.whatif("--spec=rocksieve.auto:10", "--bits=6..9")
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        self.assertIn("rocksieve.auto:10", finished.out)
        self.assertIn("Recommended: rocksieve.", finished.out)
        self.assertIn("measured in this process", finished.out)
        self.assertRegex(finished.out, r"(?m)^9 +[\d,]+ +[\d.]+ +[\d.]+")  # the last budget
        self.assertRegex(finished.out, r"(?m)^ +10 \|")  # the drawing
        self.assertLessEqual(max(map(len, finished.out.splitlines())), 100)

    def test_damaged_files_are_left_out(self):
        database = self.directory / "damaged"
        load(database, [f"a{key}\n" for key in self.keys[:2000]])
        load(database, [f"b{key}\n" for key in self.keys[:1000]], "--add")
        first, second = sorted(database.glob("*.sst"))
        first.write_bytes(b"x" * first.stat().st_size)
        [family] = self.whatif_json("--spec=rocksieve.ribbon:10", database=database)[
            "column_families"]
        self.assertEqual(1000, family["entries"])
        self.assertLess(family["policies"][0][READS], 0.01)
        self.assertIn(first.name, family["warnings"][0])
        self.assertIn(f"Warning: {first.name}", self.whatif(database=database).out)
        second.write_bytes(b"x" * second.stat().st_size)
        self.assertIn("can be read", self.refusal(database=database))

    def test_nothing_is_written(self):
        def state():
            return {path: (path.stat().st_mtime_ns, path.stat().st_size)
                    for path in [self.database, *self.database.rglob("*")]}
        before = state()
        self.whatif_json("--spec=rocksieve.auto:10")
        self.assertEqual(before, state())

    def test_several_column_families(self):
        database = self.directory / "families"
        load(database, [f"{key}\n" for key in self.keys[:2000]])
        load(database, [f"{key}\n" for key in self.keys[:1000]], "--add", "--column-family=other")
        names = lambda *flags: [family["name"] for family in self.whatif_json(
            *flags, database=database)["column_families"]]
        self.assertEqual(["default", "other"], names())
        self.assertEqual(["other"], names("--column-family=other"))
        self.assertIn("--column-family", self.refusal("--plot=x.svg", database=database))
        self.assertFalse(os.path.exists("x.svg"))

    def test_an_empty_database(self):
        database = self.directory / "empty"
        load(database, [])
        self.assertEqual([], self.whatif_json(database=database)["column_families"])
        self.assertIn("nothing to filter", self.whatif(database=database).out)


class Picture(WhatIf):
    def test_it_is_svg_with_axes_and_a_legend(self):
        path = self.directory / "reads & memory.svg"
        self.whatif_json("--spec=rocksieve.auto:10", f"--plot={path}")
        root = ElementTree.parse(path).getroot()
        self.assertEqual(SVG + "svg", root.tag)
        texts = [text.text for text in root.iter(SVG + "text")]
        for expected in ("RocksDB Bloom", "RocksDB Ribbon", "rocksieve.auto", "now", "10",
                         "filter memory: bits per entry, and in all",
                         "useless data-block reads per 1,000 lookups of missing keys"):
            self.assertIn(expected, texts)
        lines = [line for line in root.iter(SVG + "polyline")]
        self.assertEqual(10, len(lines))  # five families, each once more in the legend
        width, height = float(root.get("width")), float(root.get("height"))
        for line in lines:
            for x, y in re.findall(r"([\d.]+),([\d.]+)", line.get("points")):
                self.assertTrue(0 <= float(x) <= width and 0 <= float(y) <= height)

    def test_it_cannot_be_written(self):
        error = self.refusal(f"--plot={self.directory}/none/picture.svg")
        self.assertIn("cannot write", error)
        self.assertIn("picture.svg", error)


class Refusals(WhatIf):
    def test_each_says_what_is_wrong(self):
        for words, flags in {
            "no filter policy \"typo:10\"": ["--spec=typo:10"],
            "not one of the families": ["--spec=rocksieve.blom:10"],
            "rocksieve.auto spec": ["--spec=rocksieve.auto:0"],
            "knows no model": ["--spec=rocksdb.internal.LegacyBloomFilter:10"],
            "two whole numbers": ["--bits=20..6"],
            "1 to 32": ["--bits=6..99"],
            "as in --bits=6..20": ["--bits=6-20"],
            "--plot: draws SVG": [f"--plot={self.directory}/picture.png"],
            "--read-us": ["--read-us=0"],
            "no column family": ["--column-family=nowhere"],
            "nowhere.txt": ["--probes=nowhere.txt"],
            "--probes": ["--hex"],
            "--cache": ["--cache=much"],
            "--high-pri-pool-ratio": ["--cache=1MB", "--high-pri-pool-ratio=2"],
            "requires --cache": ["--high-pri-pool-ratio=1"],
        }.items():
            with self.subTest(flags):
                self.assertIn(words.lower(), self.refusal(*flags).lower())
        self.assertIn("nowhere", self.refusal(database=self.directory / "nowhere"))


if __name__ == "__main__":
    unittest.main()
