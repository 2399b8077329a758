# SPDX-License-Identifier: Apache-2.0
"""`rocksieve load`: lines into a database that the stock tools read back."""

import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import table_properties
from environment import (BUILD, PLUGIN, SEED, Sandbox, lines_on_terminal, pairs_of_scan, run,
                         run_ok)

COMMAND = BUILD / "bin" / "rocksieve"
MANY = 200_000


class Loading(Sandbox):
    def setUp(self):
        super().setUp()
        self.database = self.directory / "db"

    def load(self, *flags, stdin="", spec="rocksieve.bloom:10", source="-", **settings):
        return run(COMMAND, "load", f"--db={self.database}", f"--spec={spec}", f"--input={source}",
                   *flags, stdin=stdin, **settings)

    def load_ok(self, *flags, **settings):
        finished = self.load(*flags, "--json", **settings)
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        return json.loads(finished.out)

    def assert_refused(self, message, *flags, **settings):
        finished = self.load(*flags, **settings)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        self.assertIn(message, finished.err)
        return finished.err

    def tables(self):
        return sorted(self.database.glob("*.sst"))

    def stored(self, *flags):
        """What the stock ldb finds."""
        out = run_ok("ldb", f"--db={self.database}", "scan", *flags, preload=[PLUGIN]).out
        return dict(pairs_of_scan(out))


class Contents(Loading):
    def test_any_order_and_the_last_of_equal_keys_wins(self):
        randomness = random.Random(SEED)
        expected, lines = {}, []
        for _ in range(5000):
            key = f"k{randomness.randrange(2000)}"
            expected[key] = f"v{randomness.randrange(10**6)}"
            lines.append(f"{key}\t{expected[key]}\n")
        report = self.load_ok(stdin="".join(lines))
        self.assertEqual(5000, report["lines"])
        self.assertEqual(sum(map(len, lines)), report["input_bytes"])
        self.assertEqual(expected, self.stored())

    def test_a_line_is_all_bytes_up_to_the_first_tab(self):
        self.load_ok(stdin="a b\tc\td\ne\nf\t\ng\r")
        self.assertEqual({"a b": "c\td", "e": "", "f": "", "g\r": ""}, self.stored())

    def test_nothing(self):
        report = self.load_ok()
        self.assertEqual((0, 0, 0), (report["lines"], report["entries"], report["files"]))
        self.assertEqual({}, self.stored())

    def test_one_is_no_plural(self):
        said = run_ok(COMMAND, "load", f"--db={self.database}", "--spec=rocksieve.bloom:10",
                      "--input=-", stdin="a\n").out
        self.assertRegex(said, r"^1 line in [0-9.]+ s\. .* has 1 file with 1 entry and")
        for command in (("explain", f"--db={self.database}"), ("inspect", self.tables()[0]),
                        ("whatif", f"--db={self.database}")):
            self.assertNotRegex(run_ok(COMMAND, *command).out, r"\b1 (entrie|key|line|file)s\b")

    def test_a_file_and_adding_to_it(self):
        source = self.directory / "lines"
        source.write_text("a\t1\nb\t1\n")
        self.load_ok(source=source)
        source.write_text("b\t2\nc\t2\n")
        self.load_ok("--add", source=source, spec="rocksieve.cuckoo:12")
        self.assertEqual({"a": "1", "b": "2", "c": "2"}, self.stored())
        self.assertEqual(2, len(self.tables()))

    def test_a_column_family(self):
        self.load_ok(stdin="a\t1\n")
        self.load_ok("--add", "--column-family=other", stdin="b\t2\n")
        self.load_ok("--add", "--column-family=other", stdin="c\t3\n")
        self.assertEqual({"a": "1"}, self.stored())
        self.assertEqual({"b": "2", "c": "3"}, self.stored("--column_family=other"))

    def test_partitions_compaction_and_options(self):
        report = self.load_ok("--partitioned", "--compact", "--options=write_buffer_size=65536",
                              stdin="".join(f"{i}\n" for i in range(MANY)))
        self.assertEqual((MANY, MANY), (report["lines"], report["entries"]))
        self.assertAlmostEqual(10, 8 * report["filter_bytes"] / MANY, delta=0.5)
        # kTwoLevelIndexSearch, as 32 little-endian bits.
        self.assertEqual("0x02000000", table_properties(self.tables()[0])[
            "rocksdb.block.based.table.index.type"])

    def test_every_kind_of_spec(self):
        for spec, has_filter in (("none", False), ("bloomfilter:10:false", True),
                                 ("ribbonfilter:10", True), ("rocksieve.ribbon:10", True),
                                 ("rocksieve.cuckoo:1%", True)):
            with self.subTest(spec=spec):
                self.database = self.directory / spec.replace(":", "_")
                report = self.load_ok(spec=spec, stdin="a\nb\n")
                self.assertEqual(has_filter, report["filter_bytes"] > 0)


    def test_escapes_of_joins(self):
        self.load_ok("--escaped", stdin="a\\\\b\tc\\td\nx\n")
        self.assertEqual({"a\\b": "c\td", "x": ""}, self.stored())
        for wrong in ("a\\x", "a\\", "a\tb\\q"):
            self.assert_refused("line 2: with --escaped, after a backslash stands one of",
                                "--escaped", "--add", stdin=f"b\n{wrong}\n")


class OnATerminal(Loading):
    def test_lines_fit_and_say_how_far_it_is(self):
        rows = self.directory / "rows"
        rows.write_text("".join(f"key{i:08}\t{'v' * 50}\n" for i in range(400_000)))
        for columns in (40, 80, 200):
            with self.subTest(columns=columns):
                lines = lines_on_terminal(
                    columns, COMMAND, "load", f"--db={self.directory / str(columns)}",
                    "--spec=rocksieve.bloom:10", f"--input={rows}", "--compact")
                self.assertLess(max(map(len, lines)), columns)
                self.assertTrue(any(re.match(r"rocksieve load: loading +\d+ %", line)
                                    for line in lines), lines)
                self.assertEqual("", lines[-1])
                if columns > 40:
                    self.assertTrue(any(re.search(r" % +\d+(\.\d)? MB", line) for line in lines),
                                    lines)


class Refusing(Loading):
    def test_a_database_that_exists(self):
        self.load_ok(stdin="a\n")
        before = sorted(path.name for path in self.database.iterdir())
        self.assert_refused("--add", stdin="b\n")
        self.assertEqual(before, sorted(path.name for path in self.database.iterdir()))

    def test_somebody_elses_directory(self):
        self.database.mkdir()
        (self.database / "letter").write_text("dear")
        self.assert_refused("name another one", stdin="a\n")
        self.assertEqual(["letter"], [path.name for path in self.database.iterdir()])

    def test_to_add_to_nothing(self):
        self.assert_refused("there is no database", "--add", stdin="a\n")
        self.assertFalse(self.database.exists())

    def test_specs_that_rocksdb_would_take_for_none(self):
        for spec in ("rocksive.bloom:10", "bloom:10", "bloomfilter:x", "nullptr",
                     "rocksieve.blom:1"):
            with self.subTest(spec=spec):
                self.assert_refused(spec, spec=spec)
                self.assertFalse(self.database.exists())

    def test_input_that_cannot_be_read(self):
        self.assert_refused("No such file", source=self.directory / "lines")
        self.assert_refused("Is a directory", source=self.directory)
        self.assertFalse(self.database.exists())

    def test_to_change_the_options_of_a_database(self):
        self.load_ok(stdin="a\n")
        self.assert_refused("--options", "--add", "--options=write_buffer_size=65536")

    def test_to_add_to_a_database_of_which_it_does_not_know_all(self):
        self.load_ok(stdin="a\n")
        file = max(self.database.glob("OPTIONS-*"), key=lambda path: int(path.name[8:]))
        file.write_text(file.read_text().replace("merge_operator=nullptr",
                                                 "merge_operator=acme.Append"))
        self.assertIn("acme.Append", self.assert_refused("with its options", "--add", stdin="b\n"))
        self.assertIn("acme.Append", file.read_text())

    def test_unknown_options(self):
        self.assert_refused("--options", "--options=write_bufer_size=1")
        self.assertFalse(self.database.exists())

    def test_lines_that_hold_no_key(self):
        for bad, says in (("", "it is empty"), ("\tvalue", "begins with a TAB"),
                          ("x" * (9 << 20), "longer than 8,388,608 bytes")):
            with self.subTest(says=says):
                self.database = self.directory / says.replace(" ", "_")
                said = self.assert_refused("line 3: ", stdin=f"a\nb\n{bad}\nc\n")
                self.assertIn(says, said)
                self.assertIn("2 lines before", said)
                self.assertEqual({"a": "", "b": ""}, self.stored())

    def test_a_database_that_is_open(self):
        self.load_ok(stdin="a\n")
        with InterruptedLoad(self.database, "--add") as loading:
            loading.feed("b\n" * 100_000)
            self.assert_refused("Another process has it open", "--add", stdin="c\n")

    def test_a_full_disk(self):
        """Stood in for by a limit on the size of files."""
        lines = self.directory / "lines"
        randomness = random.Random(SEED)
        with open(lines, "w", encoding="ascii") as file:
            for i in range(MANY):
                file.write(f"{i}\t{randomness.getrandbits(800):x}\n")
        command = [str(COMMAND), "load", f"--db={self.database}", "--spec=none",
                   f"--input={lines}"]
        finished = run("bash", "-c", "trap '' XFSZ; ulimit -f 10000; exec \"$@\"", "-", *command)
        self.assertEqual(2, finished.code, finished)
        self.assertIn("free some space", finished.err)
        self.load_ok("--add", source=lines)
        self.assertEqual(MANY, len(self.stored()))


class InterruptedLoad:
    """A load that reads from a pipe which stays open."""

    def __init__(self, database, *flags):
        self._process = subprocess.Popen(
            [COMMAND, "load", f"--db={database}", "--spec=rocksieve.bloom:10", "--input=-",
             *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def feed(self, text):
        """Returns when the command has taken at least all but what the pipe holds."""
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def interrupt(self, number):
        self._process.send_signal(number)
        self._process.wait(timeout=30)
        return self._process.returncode, self._process.stderr.read().decode()


class Interrupting(Loading):
    def test_leaves_the_first_lines(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.database = self.directory / number.name
                with InterruptedLoad(self.database) as loading:
                    loading.feed("".join(f"{i:06}\n" for i in range(MANY)))
                    code, said = loading.interrupt(number)
                self.assertEqual(-number, code)
                self.assertIn("interrupted", said)
                self.assertIn("--add", said)
                stored = sorted(self.stored())
                self.assertIn(f"{len(stored):,} lines before", said)
                self.assertGreater(len(stored), 100_000)
                self.assertEqual([f"{i:06}" for i in range(len(stored))], stored)


if __name__ == "__main__":
    unittest.main(verbosity=2)
