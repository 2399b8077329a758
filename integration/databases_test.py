# SPDX-License-Identifier: Apache-2.0
"""`rocksieve load`: lines into a database that the stock tools read back. And the commands that look
at databases on those that others wrote: other releases of RocksDB (tests/databases), whatever release
the command was built with, and one with a family that exists only in tests/toy_family."""

import random
import shutil
import signal
import subprocess
import sys
import tarfile
import unittest

from environment import (BUILD, COMMAND, HAS_JOIN, PLUGIN, ROOT, SEED, Sandbox, document,
                         pairs_of_scan, run, run_ok, thorough)
from programs import table_properties

sys.path.insert(0, str(ROOT / "tests" / "python"))
from table_format import read_table

MANY = 200_000


class Loading(Sandbox):
    def setUp(self):
        super().setUp()
        self.database = self.directory / "db"

    def words(self, *flags, spec="rocksieve.bloom:10", source="-"):
        return ("load", f"--db={self.database}", f"--spec={spec}", f"--input={source}", *flags)

    def load(self, *flags, stdin="", **words):
        return document(*self.words(*flags, **words), stdin=stdin)

    def refused(self, message, *flags, stdin="", **words):
        return self.assert_refused(message, *self.words(*flags, **words), stdin=stdin)

    def tables(self):
        return sorted(self.database.glob("*.sst"))

    def stored(self, *flags):
        """What the stock ldb finds."""
        out = run_ok("ldb", f"--db={self.database}", "scan", *flags, preload=[PLUGIN]).out
        return dict(pairs_of_scan(out))


class Contents(Loading):
    def test_any_order_and_the_last_of_equal_keys_wins(self):
        chance = random.Random(SEED)
        rows = [(f"k{chance.randrange(2000)}", f"v{chance.randrange(10**6)}") for _ in range(5000)]
        text = "".join(f"{key}\t{value}\n" for key, value in rows)
        report = self.load(stdin=text)
        self.assertEqual((5000, len(text)), (report["lines"], report["input_bytes"]))
        self.assertEqual(dict(rows), self.stored())

    def test_a_line_is_all_bytes_up_to_the_first_tab_but_for_escapes(self):
        report = self.load()
        self.assertEqual((0, 0, 0), (report["lines"], report["entries"], report["files"]))
        self.assertEqual({}, self.stored())
        self.load("--add", stdin="a b\tc\td\ne\nf\t\ng\r")
        expected = {"a b": "c\td", "e": "", "f": "", "g\r": ""}
        self.assertEqual(expected, self.stored())
        self.load("--escaped", "--add", stdin="a\\\\b\tc\\td\nx\n")
        self.assertEqual({**expected, "a\\b": "c\td", "x": ""}, self.stored())
        for wrong in ("a\\x", "a\\", "a\tb\\q"):
            self.refused("line 2: with --escaped, after a backslash stands one of", "--escaped", "--add",
                         stdin=f"b\n{wrong}\n")

    def test_one_is_no_plural(self):
        said = run_ok(COMMAND, *self.words(), stdin="a\n").out
        self.assertRegex(said, r"^1 line in [0-9.]+ s\. .* has 1 file with 1 entry and")
        for command in (("explain", f"--db={self.database}"), ("inspect", self.tables()[0]),
                        ("whatif", f"--db={self.database}")):
            self.assertNotRegex(run_ok(COMMAND, *command).out, r"\b1 (entrie|key|line|file)s\b")

    def test_adding_to_a_database_and_to_a_column_family(self):
        source = self.directory / "lines"
        source.write_text("a\t1\nb\t1\n")
        self.load(source=source)
        self.load("--add", stdin="b\t2\nc\t2\n", spec="rocksieve.cuckoo:12")
        self.assertEqual(2, len(self.tables()))
        for row in ("b\t2\n", "c\t3\n"):
            self.load("--add", "--column-family=other", stdin=row)
        self.assertEqual({"a": "1", "b": "2", "c": "2"}, self.stored())
        self.assertEqual({"b": "2", "c": "3"}, self.stored("--column_family=other"))

    def test_partitions_compaction_and_options(self):
        report = self.load("--partitioned", "--compact", "--options=write_buffer_size=65536",
                           stdin="".join(f"{i}\n" for i in range(MANY)))
        self.assertEqual((MANY, MANY), (report["lines"], report["entries"]))
        self.assertAlmostEqual(10, 8 * report["filter_bytes"] / MANY, delta=0.5)
        # kTwoLevelIndexSearch, as 32 little-endian bits.
        self.assertEqual("0x02000000", table_properties(self.tables()[0])[
            "rocksdb.block.based.table.index.type"])


class Refusing(Loading):
    def test_without_a_trace(self):
        for message, flags, words in (
                ("there is no database", ["--add"], {}),
                *((spec, [], {"spec": spec}) for spec in (
                    # RocksDB would take them for none.
                    "rocksive.bloom:10", "bloom:10", "bloomfilter:x", "nullptr", "rocksieve.blom:1")),
                ("No such file", [], {"source": self.directory / "lines"}),
                ("Is a directory", [], {"source": self.directory}),
                ("--options", ["--options=write_bufer_size=1"], {})):
            with self.subTest(message=message):
                self.refused(message, *flags, stdin="a\n", **words)
                self.assertFalse(self.database.exists())

    def test_what_is_there_already(self):
        self.database.mkdir()
        letter = self.database / "letter"
        letter.write_text("dear")
        self.refused("name another one", stdin="a\n")
        self.assertEqual([letter], list(self.database.iterdir()))
        letter.unlink()
        self.load(stdin="a\n")
        before = sorted(self.database.iterdir())
        self.refused("--add", stdin="b\n")
        self.assertEqual(before, sorted(self.database.iterdir()))
        self.refused("--options", "--add", "--options=write_buffer_size=65536")
        with self.interrupted("--add", text="b\n" * 100_000):
            self.refused("Another process has it open", "--add", stdin="c\n")
        # Options of which it does not know all.
        file = max(self.database.glob("OPTIONS-*"), key=lambda path: int(path.name[8:]))
        file.write_text(file.read_text().replace("merge_operator=nullptr",
                                                 "merge_operator=acme.Append"))
        self.assertIn("acme.Append", self.refused("with its options", "--add", stdin="b\n"))
        self.assertIn("acme.Append", file.read_text())

    def test_a_copy_whose_options_name_the_logs_of_the_original(self):
        original, copy, moved = (self.directory / name for name in ("db", "copy", "moved"))
        self.load(f"--options=wal_dir={self.directory / 'logs'}", stdin="a\n")
        run_ok("ldb", f"--db={original}", "--try_load_options", "put", "in the log", "", preload=[PLUGIN])
        shutil.copytree(original, copy)
        for name in ("LOG", "LOG of a checkpoint"):
            (copy / "LOG").rename(copy / name)
            self.database = copy
            self.refused("wal_dir", "--add", stdin="b\n")
        logs, kept = self.directory / "logs", self.directory / "kept"
        shutil.copytree(logs, kept)
        for log in logs.iterdir():
            log.write_bytes(b"")
        self.refused("wal_dir", "--add", stdin="b\n")
        shutil.rmtree(logs)
        self.database = original
        self.refused("there are none", "--add", stdin="b\n")
        kept.rename(logs)
        original.rename(moved)
        self.database = moved
        for key in "bc":
            self.load("--add", stdin=key + "\n")
        self.assertEqual(["a", "b", "c", "in the log"], sorted(self.stored()))

    def test_lines_that_hold_no_key(self):
        for bad, says in (("", "it is empty"), ("\tvalue", "begins with a TAB"),
                          ("x" * (9 << 20), "longer than 8,388,608 bytes")):
            with self.subTest(says=says):
                self.database = self.directory / says.replace(" ", "_")
                said = self.refused("line 3: ", stdin=f"a\nb\n{bad}\nc\n")
                self.assertIn(says, said)
                self.assertIn("2 lines before", said)
                self.assertEqual({"a": "", "b": ""}, self.stored())

    def interrupted(self, *flags, text):
        """A load that has taken at least all of the text but what the pipe holds."""
        process = self.spawn(COMMAND, *self.words(*flags), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(text.encode())
        process.stdin.flush()
        return process  # whose context ends with its end

    def test_an_interruption_leaves_the_first_lines(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.database = self.directory / number.name
                with self.interrupted(text="".join(f"{i:06}\n" for i in range(MANY))) as process:
                    process.send_signal(number)
                    self.assertEqual(-number, process.wait(timeout=30))
                    said = process.stderr.read().decode()
                stored = sorted(self.stored())
                for words in ("interrupted", "--add", f"{len(stored):,} lines before"):
                    self.assertIn(words, said)
                self.assertGreater(len(stored), 100_000)
                self.assertEqual([f"{i:06}" for i in range(len(stored))], stored)


FAMILIES = {"7.8.3": 18, "9.10.0": 21, "11.8.1": 23}  # of column families


def latest_format(release):
    """The latest format_version that it reads."""
    release = tuple(map(int, release.split(".")))
    return 7 if release >= (10, 4) else 6 if release >= (8, 6) else 5


class Releases(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.databases = {}
        for archive in sorted((ROOT / "tests" / "databases").glob("rocksdb-*.tar.gz")):
            release = archive.name.removeprefix("rocksdb-").removesuffix(".tar.gz")
            cls.databases[release] = cls.class_directory / release
            with tarfile.open(archive) as files:
                files.extractall(cls.databases[release])
        assert FAMILIES.keys() == cls.databases.keys()

    def test_inspect_says_what_an_independent_decoder_finds(self):
        for release, database in self.databases.items():
            for path in sorted(database.glob("*.sst")):
                table = read_table(path.read_bytes())
                said = document("inspect", path)
                with self.subTest(release=release, family=said["column_family"]):
                    compressed = table.properties["rocksdb.compression"]
                    self.assertEqual(
                        (True, [], table.format_version, table.checksum,
                         "ZSTD" if compressed in (b"ZSTD", b"BuiltinV2;07;") else "NoCompression",
                         table.number("rocksdb.num.entries"), table.filter_name.partition(".")[2]),
                        (said["ok"], said["problems"], said["format_version"], said["checksum"],
                         said["compression"], said["keys"], said["stored_as"] or ""))
                    self.assertEqual(
                        table.filters, [(bytes.fromhex(block["last_key_hex"] or ""),
                                         block["offset"], block["bytes"])
                                        for block in said["blocks"]])

    def test_others_look_at_all_of_it(self):
        for release, database in self.databases.items():
            with self.subTest(release):
                said = document("explain", f"--db={database}", "--probe-count=2000")
                families = said["column_families"]
                self.assertEqual((FAMILIES[release], True), (len(families), said["ok"]))
                for family in families:
                    self.assertEqual((1, []), (family["files"], family["problems"]))
                    if family["name"] not in ("without-filter", "prefixes"):
                        self.assertLess(family["measured_false_positive_rate"], 0.1, family["name"])
                self.assertEqual("default", families[0]["name"])
                too_new = latest_format(said["rocksdb_version"]) < latest_format(release)
                self.assertEqual(too_new, "too old to read it" in "".join(families[0]["notes"]))
                found = document("doctor", f"--db={database}", code=1)["findings"]
                self.assertEqual([("no-policy", "without-filter")],
                                 [(one["id"], one["column_family"]) for one in found])
                [family] = document("whatif", f"--db={database}", "--column-family=partitioned")[
                    "column_families"]
                self.assertEqual((1, 150), (family["files"], family["entries"]))
                self.assertGreater(family["now"]["filter_bytes"], 150)
                if HAS_JOIN and too_new:  # what only RocksDB can read is refused by name
                    refused = self.assert_refused(
                        "cannot read the rows of the database in", "serve", f"--db={database}",
                        "--insecure", "--listen=127.0.0.1:0")
                    for words in ("A later RocksDB wrote", "use the rocksieve that was built with that"):
                        self.assertIn(words, refused)


@thorough
class ToyFamily(Sandbox):
    """The program is the command, linked with that one file more."""

    def test_it_is_known_to_all_commands(self):
        program, database = BUILD / "bin" / "rocksieve_with_toy_family", self.directory / "db"
        keys = random.Random(SEED).sample(range(10**9), 20000)
        run_ok(program, "load", f"--db={database}", "--spec=rocksieve.toy:10", "--input=-", "--compact",
               stdin="".join(f"{key:09}\tvalue {key}\n" for key in keys))
        [file] = database.glob("*.sst")
        report = run_ok(program, "inspect", file).out
        for words in ("rocksieve.toy", "bits, one of each key", "keys per bit", "bits set"):
            self.assertIn(words, report)
        [family] = document("explain", f"--db={database}", program=program)["column_families"]
        self.assertEqual("rocksieve.toy:10", family["filter_policy"])
        self.assertAlmostEqual(0.0952, family["predicted_false_positive_rate"], delta=0.003)
        self.assertAlmostEqual(family["predicted_false_positive_rate"],
                               family["measured_false_positive_rate"], delta=0.006)
        [family] = document("whatif", f"--db={database}", "--spec=rocksieve.toy:20",
                            "--spec=rocksieve.toy:5", program=program)["column_families"]
        reads = [filters["expected_useless_reads_per_missing_lookup"]
                 for filters in (*family["policies"], family["now"])]
        for expected, found in zip((0.0488, 0.181, 0.0952), reads):  # 1 - e^(-1/20)
            self.assertAlmostEqual(expected, found, delta=0.006)
        # The command without it takes its filters for later ones.
        self.assertIn("rocksieve, later version", run(COMMAND, "inspect", file).out)
        self.assert_refused("\"toy\" is not one of the families bloom, cuckoo, ribbon", "whatif",
                            f"--db={database}", "--spec=rocksieve.toy:10")


if __name__ == "__main__":
    unittest.main(verbosity=2)
