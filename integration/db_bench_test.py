# SPDX-License-Identifier: Apache-2.0
"""The unmodified db_bench with the plugin preloaded: answers, false-positive rates, sizes, and
specs that cannot be honoured."""

import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import (CUTS_TWICE, DECOUPLED, KEYS, PARTITIONED, READS, Database,
                      options_text)
from environment import CORE, Sandbox, compile_program, run_ok, thorough

SPECS = ["rocksieve.bloom:10", "rocksieve.bloom:1%", "rocksieve.bloom:16:salted",
         "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:1%"]
NO_FILTER = "nullptr"
ALL_READS = "readmissing,readrandom,multireadrandom,seekrandom"


def spread_of_false_positives(asked, rate, keys=KEYS):
    """Five standard deviations. db_bench draws from `keys` possible keys with replacement, and all
    questions for one key have one answer, which makes the counts spread wider than a binomial."""
    return 5 * math.sqrt(asked * rate * (1 + asked / keys))


def entries_per_file(database):
    entries = [int(table["entries for filter"]) for table in database.table_properties()]
    return sum(entries) // len(entries)


# Prints the false-positive rate that the library promises: expected_rate SPEC KEYS
EXPECTED_RATE = r"""
#include <cstdio>
#include <cstdlib>
#include <string>

#include <rocksieve/filter.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rocksieve::FilterSpec spec;
  const std::string error = rocksieve::FilterSpec::Parse(argv[1], &spec);
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  std::printf("%.9f\n",
              rocksieve::ExpectedFalsePositiveRate(spec, std::strtoull(argv[2], nullptr, 10)));
}
"""


class WithExpectedRates(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._program = compile_program(EXPECTED_RATE, cls.class_directory / "expected_rate",
                                       CORE)

    def expected_rate(self, spec, entries):
        return float(run_ok(self._program, spec, entries).out)

    def assert_false_positives(self, positives, asked, rate):
        # 3 % for what the model of the rate leaves out.
        slack = spread_of_false_positives(asked, rate) + 0.03 * asked * rate
        self.assertAlmostEqual(
            positives, asked * rate, delta=slack,
            msg=f"{positives} false positives of {asked}, {asked * rate:.0f} were promised")


class FullFilters(WithExpectedRates):
    """One filter per file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.unfiltered = Database(cls.class_directory)
        cls.unfiltered.create(options_text(NO_FILTER))
        cls.reference = cls.unfiltered.bench(ALL_READS, options_text(NO_FILTER))
        cls.databases = {}
        for number, spec in enumerate(SPECS):
            directory = cls.class_directory / str(number)
            directory.mkdir()
            cls.databases[spec] = Database(directory)
            cls.databases[spec].create(options_text(spec))

    def test_the_reference_is_a_database_without_filters(self):
        self.assertEqual(0, self.reference.useful + self.reference.positive)
        self.assertEqual(["readmissing", "readrandom", "multireadrandom", "seekrandom"],
                         [name for name, _, _ in self.reference.found])
        self.assertEqual(("readmissing", 0, READS), self.reference.found[0])
        for name, found, asked in self.reference.found[1:]:
            # fillrandom writes as many random numbers as there are keys: 1 - 1/e of them exist.
            self.assertAlmostEqual((1 - 1 / math.e) * asked, found, delta=0.02 * asked, msg=name)

    def test_reads_find_what_they_find_without_filters(self):
        for spec, database in self.databases.items():
            with self.subTest(spec=spec):
                report = database.bench(ALL_READS, options_text(spec))
                self.assertEqual(self.reference.found, report.found)

                _, by_get, by_multi_get, _ = [found for _, found, _ in report.found]
                self.assertEqual(by_get + by_multi_get, report.true_positive)
                # Each of three benchmarks asks one filter per key; a key may also fall between two
                # files, where there is none to ask.
                checks = report.useful + report.positive
                self.assertLessEqual(checks, 3 * READS)
                self.assertGreaterEqual(checks, 0.999 * 3 * READS)

    def test_two_threads_find_what_they_find_without_filters(self):
        def read(database, spec):
            return database.bench("readrandom,multireadrandom", options_text(spec), "--threads=2")

        reference = read(self.unfiltered, NO_FILTER)
        for spec, database in self.databases.items():
            with self.subTest(spec=spec):
                self.assertEqual(reference.found, read(database, spec).found)

    def test_missing_keys_pass_at_the_promised_rate(self):
        for spec, database in self.databases.items():
            with self.subTest(spec=spec):
                report = database.bench("readmissing", options_text(spec))
                self.assertEqual([("readmissing", 0, READS)], report.found)
                rate = self.expected_rate(spec, entries_per_file(database))
                if "%" in spec:
                    self.assertAlmostEqual(0.01, rate, delta=0.0005)
                self.assert_false_positives(report.positive, report.useful + report.positive, rate)

    def test_filters_stay_within_their_bits_per_key(self):
        for spec, bits in (("rocksieve.bloom:10", 10), ("rocksieve.cuckoo:12.5", 12.5)):
            with self.subTest(spec=spec):
                properties = self.databases[spec].table_properties()
                self.assertGreater(len(properties), 1)
                for table in properties:
                    self.assertEqual(spec, table["filter policy name"])
                    self.assertEqual(table["entries"], table["entries for filter"])
                    used = 8 * int(table["filter block size"]) / int(table["entries for filter"])
                    # A Bloom filter is a whole number of lines; that of a cuckoo table is random.
                    self.assertAlmostEqual(bits, used, delta=0.01 * bits)

    @thorough
    def test_rocksdb_verifies_filters_while_it_builds_them(self):
        for spec in SPECS:
            with self.subTest(spec=spec):
                options = options_text(spec, table={"detect_filter_construct_corruption": "true",
                                                    "optimize_filters_for_memory": "true"})
                database = Database(self.directory)
                database.create(options)
                report = database.bench(ALL_READS, options)
                self.assertEqual(self.reference.found, report.found)
                self.assertGreater(report.useful, READS)


class PartitionedFilters(WithExpectedRates):
    """Many small filters per file, all from one builder."""

    def test_partitions(self):
        unfiltered = Database(self.directory)
        unfiltered.create(options_text(NO_FILTER))
        reference = unfiltered.bench(ALL_READS, options_text(NO_FILTER))
        cases = [(spec, bits, table) for spec, bits in
                 (("rocksieve.bloom:10", 10), ("rocksieve.cuckoo:12.5", 12.5))
                 for table in ((PARTITIONED, DECOUPLED) if CUTS_TWICE else (PARTITIONED,))]
        for spec, bits, table in cases:
            # Half of the partitions are of one data block, of less than a twentieth of the keys.
            twice = CUTS_TWICE and table == PARTITIONED
            with self.subTest(spec=spec, twice=twice):
                options = options_text(spec, table=table)
                database = Database(self.directory)
                database.create(options)
                self.assertEqual(reference.found, database.bench(ALL_READS, options).found)

                tables = database.table_properties()
                entries = sum(int(table["entries for filter"]) for table in tables)
                # A builder that keeps the keys of earlier partitions would take many times as much.
                # Each partition has a frame, and each file an index of its partitions.
                used = 8 * sum(int(table["filter block size"]) for table in tables) / entries
                self.assertAlmostEqual(bits, used, delta=(0.2 if twice else 0.1) * bits)

                report = database.bench("readmissing", options)
                blocks = report.ticker("block.cache.filter.add") - len(tables)
                if twice:
                    blocks /= 2
                bytes_per_block = entries * bits / 8 / blocks
                self.assertLess(bytes_per_block, 1.2 * 1024)
                self.assertGreater(bytes_per_block, 0.6 * 1024)

                # Small filters of different sizes: the rate of the average one is near enough.
                asked = report.useful + report.positive
                rate = self.expected_rate(spec, round(entries / blocks))
                slack = spread_of_false_positives(asked, rate) + 0.3 * asked * rate
                self.assertAlmostEqual(asked * rate, report.positive, delta=slack)


class PrefixFilters(WithExpectedRates):
    """Seeks for a prefix that does not exist."""

    FAMILIES = ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5")

    def test_prefixes_instead_of_keys(self):
        # Each key is the only one with its first eight bytes.
        column_family = {"prefix_extractor": "rocksdb.FixedPrefix.8"}
        unfiltered = Database(self.directory)
        unfiltered.create(options_text(NO_FILTER))
        reference = unfiltered.bench("seekrandom", options_text(NO_FILTER))
        for spec in self.FAMILIES:
            with self.subTest(spec=spec):
                options = options_text(spec, column_family, {"whole_key_filtering": "false"})
                database = Database(self.directory)
                database.create(options)
                report = database.bench("seekrandom", options)
                self.assertEqual(reference.found, report.found)
                [(_, found, _)] = report.found
                missing = report.prefix_useful + report.prefix_passed - found
                self.assertGreater(missing, 0.3 * READS)
                self.assert_false_positives(report.prefix_passed - found, missing,
                                            self.expected_rate(spec, entries_per_file(database)))

    def test_prefixes_beside_keys(self):
        # Ten keys to a prefix, so that the builder is given equal prefixes again and again.
        column_family = {"prefix_extractor": "rocksdb.FixedPrefix.9"}
        keys = ("--prefix_size=9", "--keys_per_prefix=10")
        unfiltered = Database(self.directory, *keys)
        unfiltered.create(options_text(NO_FILTER))
        reference = unfiltered.bench(ALL_READS, options_text(NO_FILTER))
        for spec in self.FAMILIES:
            with self.subTest(spec=spec):
                options = options_text(spec, column_family, {"whole_key_filtering": "true"})
                database = Database(self.directory, *keys)
                database.create(options)
                report = database.bench(ALL_READS, options)
                self.assertEqual(reference.found, report.found)
                self.assertGreater(report.useful, 1.5 * READS)

                report = database.bench("seekrandom", options, "--seek_missing_prefix")
                self.assertEqual([("seekrandom", 0, READS)], report.found)
                checked = report.prefix_useful + report.prefix_passed
                self.assertGreater(checked, 0.99 * READS)
                rate = self.expected_rate(spec, entries_per_file(database))
                # A tenth as many prefixes as keys to draw from.
                slack = spread_of_false_positives(checked, rate, KEYS / 10) + 0.03 * checked * rate
                self.assertAlmostEqual(checked * rate, report.prefix_passed, delta=slack)


class SpecsThatCannotBeHonoured(Sandbox):
    """db_bench must stop with an error, and not run without filters."""

    SPECS = {  # spec in the file: (offending text, example)
        "rocksieve.blom:10": ('"blom"', "rocksieve.bloom:10"),
        "rocksieve.Bloom:10": ('"Bloom"', "rocksieve.bloom:10"),
        "rocksive.bloom:10": ('"rocksive.bloom:10"', "rocksieve.bloom:10"),
        "rocksieve": ('"rocksieve"', "rocksieve.bloom:10"),
        "rocksieve.bloom": ('""', "rocksieve.bloom:10"),
        "rocksieve.bloom:1000": ('"1000"', "rocksieve.bloom:10"),
        "rocksieve.bloom:-3": ('"-3"', "rocksieve.bloom:10"),
        "rocksieve.cuckoo:0.1x%": ('"0.1x%"', "rocksieve.cuckoo:1%"),
        "rocksieve.cuckoo:10:salt": ('"salt"', "rocksieve.cuckoo:10:salted"),
        "rocksieve.bloom:10;size=3": ('"10;size=3"', "rocksieve.bloom:10"),
        "{id=rocksieve.bloom:10;size=3}": ('"size=3"', "rocksieve.bloom:10"),
    }

    def test_db_bench_stops(self):
        for spec, (offending, example) in self.SPECS.items():
            with self.subTest(spec=spec):
                database = Database(self.directory)
                finished = database.try_bench("fillrandom", options_text(spec), existing=False)
                self.assertEqual(1, finished.code, finished)
                self.assertIn("Invalid argument", finished.err)
                self.assertIn(offending, finished.err)
                self.assertRegex(finished.err, f"for example .*{example}")
                self.assertFalse(database.path.exists(), "a database was made all the same")

    def test_another_first_word_is_beyond_the_plugin(self):
        """RocksDB ignores a policy whose name nobody claims; documentation says so."""
        database = Database(self.directory)
        database.create(options_text("rocksift.bloom:10"))
        report = database.bench("readmissing", options_text("rocksift.bloom:10"))
        self.assertEqual(0, report.useful + report.positive)
        self.assertEqual({"0"}, {table["filter block size"]
                                 for table in database.table_properties()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
