# SPDX-License-Identifier: Apache-2.0
"""`rocksieve whatif`: its report, its JSON document, its picture, and what it refuses; and what
`explain` says of budgets. Whether predictions come true is whatif_test.cc's concern."""

import random
import unittest
import xml.etree.ElementTree as ElementTree

from environment import BUILT_IN, COMMAND, Sandbox, document, load, run_ok, traces

SVG = "{http://www.w3.org/2000/svg}"
READS = "expected_useless_reads_per_missing_lookup"
BYTES = "bytes_read_through_cache_per_missing_lookup"
FAMILIES = ("RocksDB Bloom", "RocksDB Ribbon", "rocksieve.bloom", "rocksieve.ribbon", "rocksieve.auto")


class WhatIf(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(1)
        cls.database = cls.class_directory / "db"
        cls.keys = [f"{chance.randrange(10**9):09}" for _ in range(20000)]
        load(cls.database, [f"{key}\tvalue {key}" for key in cls.keys], "--compact", spec=BUILT_IN)
        load(cls.database, [f"{key}\tanother" for key in cls.keys[::7]], "--add", spec=BUILT_IN)

    def load(self, name, keys, *flags, spec=BUILT_IN):
        load(self.directory / name, keys, *flags, spec=spec)
        return self.directory / name

    def document(self, *flags, database=None):
        before = traces(database or self.database)
        report = document("whatif", f"--db={database or self.database}", *flags)
        self.assertEqual(before, traces(database or self.database))
        return report

    def family(self, *flags, **settings):
        [family] = self.document(*flags, **settings)["column_families"]
        return family

    def text(self, *flags, database=None):
        return run_ok(COMMAND, "whatif", f"--db={database or self.database}", *flags).out

    def refusal(self, says, *flags, database=None):
        self.assert_refused(says, "whatif", f"--db={database or self.database}", *flags)


class BudgetsOfBytes(WhatIf):
    def explained(self, database):
        [family] = document("explain", f"--db={database}")["column_families"]
        return family

    def test_explain_says_whether_filters_keep_to_them(self):
        database = self.load("bytes", self.keys, "--compact", spec="rocksieve.auto:0.012MB")
        family = self.explained(database)
        self.assertEqual(("rocksieve.auto:12kB", 12000, []),
                         (family["filter_policy"], family["filter_budget_bytes"], family["notes"]))
        self.assertTrue(10000 < family["filter_bytes"] < 12600, family)
        self.assertIn(", of 12,000 that rocksieve.auto:12kB may take",
                      run_ok(COMMAND, "explain", f"--db={database}").out)
        for name, first, budget, note in (
                ("before", "bloomfilter:16:false", "2kB", "% more than rocksieve.auto:2kB may"),
                ("large", "rocksieve.auto:1GB", "1GB", "of it they get")):
            with self.subTest(name):
                database = self.load(name, self.keys, "--compact", spec=first)
                load(database, ["x"], "--add", spec=f"rocksieve.auto:{budget}")
                [said] = self.explained(database)["notes"]
                self.assertIn(note, said)
        database = self.load("cached", self.keys,
                             "--options=block_based_table_factory={cache_index_and_filter_blocks=true}")
        self.assertIn("whatif --cache=SIZE", self.explained(database)["notes"][0])


class BlockCaches(WhatIf):
    def test_what_does_not_fit_is_read(self):
        specs = ["none", "rocksieve.ribbon:10", "rocksieve.auto:10kB"]
        flags = [f"--spec={spec}" for spec in specs]
        report = self.document(*flags)
        [family] = report["column_families"]
        self.assertEqual([None] * 4, [report["block_cache"], family["cache_advice"],
                                      family["now"][BYTES], family["policies"][0][BYTES]])
        report = self.document("--cache=20kB", *flags)
        self.assertEqual({"bytes": 20000, "high_pri_pool_ratio": 0.5, "num_shard_bits": 0},
                         report["block_cache"])
        [family] = report["column_families"]
        self.assertFalse(family["filters_are_cached"])
        none, ribbon, auto = [policy[BYTES] for policy in family["policies"]]
        # A data block, and an index, in each of two files.
        self.assertGreater(none, 3000)  # on disk they are compressed
        # One filter of two hardly ever stays: a data block comes in for each of the others'.
        self.assertGreater(ribbon, 1000)
        self.assertLess(auto, 0.5 * ribbon)
        advice = family["cache_advice"]
        self.assertRegex(advice["spec"], r"^rocksieve\.auto:1\d+k?B$")
        self.assertLess(advice[BYTES], auto)
        for part in (advice["spec"], "listeners={rocksieve.listener}", "high_pri_pool_ratio=1"):
            self.assertIn(part, advice["reason"])
        # In one of 100 MB all stay, and only false positives are read.
        none, *others = self.family("--cache=100MB", *flags)["policies"]
        for policy in others:
            self.assertAlmostEqual(1, policy[BYTES] / none[BYTES] / (policy[READS] / none[READS]),
                                   delta=0.1)

    def test_the_text(self):
        self.assertNotIn("cache", self.text("--spec=none"))
        text = self.text("--spec=rocksieve.ribbon:10", "--cache=20kB", "--high-pri-pool-ratio=1")
        words = " ".join(text.split())
        for said in ("through a block cache of 20,000 bytes with high_pri_pool_ratio=1",
                     "cache_index_and_filter_blocks=true (now it is false)",
                     "no lookups of present keys"):
            self.assertIn(said, words)
        self.assertRegex(words, r"For such a block cache: rocksieve.auto:1\d+k?B, with listeners")
        self.assertNotIn("a block cache with high_pri_pool_ratio=1", words)  # as it is already
        self.assertLessEqual(max(map(len, text.splitlines())), 115)


class Reports(WhatIf):
    def test_the_document(self):
        specs = ["rocksieve.auto:10", "ribbonfilter:10", "none"]
        report = self.document("--bits=8..12", *[f"--spec={spec}" for spec in specs])
        self.assertEqual(str(self.database), report["database"])
        [family] = report["column_families"]
        self.assertEqual(("default", 2), (family["name"], family["files"]))
        self.assertEqual(specs, [policy["spec"] for policy in family["policies"]])
        for filters in [family["now"], *family["policies"]]:
            levels = filters["levels"]
            self.assertEqual((family["entries"], 2), tuple(
                sum(level[key] for level in levels) for key in ("entries", "files")))
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
        budgets = family["budgets"]
        self.assertEqual([8, 9, 10, 11, 12], [row["filter_bits_per_entry"] for row in budgets])
        for name in FAMILIES:
            reads = [row[READS][name] for row in budgets]
            self.assertEqual(sorted(reads, reverse=True), reads, name)
            self.assertTrue(all(0 < value < 1 for value in reads), name)

    def test_a_recommendation_in_the_memory_of_today(self):
        family = self.family()
        advice = family["recommendation"]
        self.assertTrue(advice["spec"].startswith("rocksieve."), advice)
        self.assertLess(advice["filter_bytes"], 1.03 * family["now"]["filter_bytes"])
        self.assertLess(advice[READS], 0.5 * family["now"][READS])
        self.assertIn(advice["spec"], advice["reason"])
        self.assertIn("us per read", advice["reason"])
        # A cheaper read makes the CPU count, in the modelled time at least.
        self.assertLess(
            self.family("--read-us=0.1")["recommendation"]["microseconds_per_missing_lookup"],
            advice["microseconds_per_missing_lookup"] + 0.1)
        # What is best already is kept.
        database = self.load("best", self.keys, "--compact", spec="rocksieve.ribbon:10")
        advice = self.family(database=database)["recommendation"]
        self.assertIsNone(advice["spec"], advice)
        self.assertIn("Keep", advice["reason"])
        # Hardly any filters are no measure.
        database = self.load("few", self.keys, "--compact", spec="none")
        load(database, self.keys[:50], "--add")
        family = self.family(database=database)
        self.assertIsNotNone(family["recommendation"]["spec"], family)
        self.assertAlmostEqual(1, family["recommendation"]["filter_bytes"] * 8 / 10
                               / family["entries"], delta=0.05)

    def test_missing_keys_of_the_user(self):
        probes = self.directory / "probes"
        # Beyond all keys: no file is met.
        probes.write_text("".join(f"x{i}\n" for i in range(100)))
        family = self.family("--spec=none", f"--probes={probes}")
        self.assertEqual(0, family["policies"][0][READS])
        # All over: two blocks are read where a key lies between the last key of one and the key of
        # the index that ends it, a gap in a hundred.
        probes.write_text("".join(f"{key}x".encode().hex() + "\n" for key in self.keys[::10]))
        family = self.family("--spec=none", f"--probes={probes}", "--hex")
        self.assertAlmostEqual(2, family["policies"][0][READS], delta=0.05)

    def test_the_text(self):
        text = self.text("--spec=rocksieve.auto:10", "--bits=6..9")
        for words in ("rocksieve.auto:10", "Recommended: rocksieve.", "measured in this process"):
            self.assertIn(words, text)
        self.assertRegex(text, r"(?m)^9 +[\d,]+ +[\d.]+ +[\d.]+")  # the last budget
        self.assertRegex(text, r"(?m)^ +10 \|")  # the drawing
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_damaged_files_are_left_out(self):
        database = self.load("damaged", [f"a{key}" for key in self.keys[:2000]])
        load(database, [f"b{key}" for key in self.keys[:1000]], "--add")
        first, second = sorted(database.glob("*.sst"))
        first.write_bytes(b"x" * first.stat().st_size)
        family = self.family("--spec=rocksieve.ribbon:10", database=database)
        self.assertEqual(1000, family["entries"])
        self.assertLess(family["policies"][0][READS], 0.01)
        self.assertIn(first.name, family["warnings"][0])
        self.assertIn(f"Warning: {first.name}", self.text(database=database))
        second.write_bytes(b"x" * second.stat().st_size)
        self.refusal("can be read", database=database)

    def test_column_families(self):
        database = self.load("families", [])
        self.assertEqual([], self.document(database=database)["column_families"])
        self.assertIn("nothing to filter", self.text(database=database))
        load(database, self.keys[:2000], "--add")
        load(database, self.keys[:1000], "--add", "--column-family=other")
        for flags, names in (((), ["default", "other"]), (("--column-family=other",), ["other"])):
            self.assertEqual(names, [family["name"] for family in self.document(
                *flags, database=database)["column_families"]])
        self.refusal("--column-family", f"--plot={self.directory}/x.svg", database=database)

    def test_the_picture(self):
        path = self.directory / "reads & memory.svg"
        self.document("--spec=rocksieve.auto:10", f"--plot={path}")
        root = ElementTree.parse(path).getroot()
        texts = [text.text for text in root.iter(SVG + "text")]
        for expected in (*FAMILIES, "now", "filter memory: bits per entry, and in all",
                         "useless data-block reads per 1,000 lookups of missing keys"):
            self.assertIn(expected, texts)
        # Each once more in the legend.
        self.assertEqual(2 * len(FAMILIES), len(list(root.iter(SVG + "polyline"))))

    def test_each_refusal_says_what_is_wrong(self):
        for words, flags in {
            "no filter policy \"typo:10\"": ["--spec=typo:10"],
            "not one of the families": ["--spec=rocksieve.blom:10"],
            "rocksieve.auto spec": ["--spec=rocksieve.auto:0"],
            "knows no model": ["--spec=rocksdb.internal.LegacyBloomFilter:10"],
            "two whole numbers": ["--bits=20..6"],
            "1 to 32": ["--bits=6..99"],
            "as in --bits=6..20": ["--bits=6-20"],
            "--plot: draws SVG": [f"--plot={self.directory}/picture.png"],
            f"cannot write the picture to {self.directory}/none/picture.svg": [
                f"--plot={self.directory}/none/picture.svg"],
            "allowed are two": ["--bits=4294967302..20"],
            "/dev/full: No space left": ["--plot=/dev/full"],
            "--read-us": ["--read-us=0"],
            "--read-us: nan is not a number": ["--read-us=nan"],
            "o column family": ["--column-family=nowhere"],
            "nowhere.txt": ["--probes=nowhere.txt"],
            "--probes": ["--hex"],
            "--cache": ["--cache=much"],
            "--high-pri-pool-ratio": ["--cache=1MB", "--high-pri-pool-ratio=2"],
            "requires --cache": ["--high-pri-pool-ratio=1"],
        }.items():
            with self.subTest(flags):
                self.refusal(words, *flags)
        self.refusal("nowhere", database=self.directory / "nowhere")


if __name__ == "__main__":
    unittest.main()
