#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve diff`: what it prints, how it ends, and what it says of databases that are not alike.
That it finds every difference and no other is diff_api_test.cc's concern."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest

from diff_support import DiffSandbox, ldb
from environment import run, run_ok
from join_support import ROCKSIEVE, load, write_lines


class Comparing(DiffSandbox):
    def test_equal(self):
        finished = self.diff()
        self.assertEqual((0, ""), (finished.code, finished.out), finished)
        self.assertIn("MATCH", finished.err)
        self.assertEqual("match", self.document(code=0)["verdict"])

    def test_different(self):
        lines = self.plant()
        finished = self.diff()
        self.assertEqual((1, lines), (finished.code, finished.out.splitlines()), finished)
        self.assertIn("DIFFERENT", finished.err)
        self.assertIn("--recheck", finished.err)
        document = self.document()
        [family] = document["column_families"]
        self.assertEqual(("different", "default"), (document["verdict"], family["name"]))
        self.assertEqual([self.KEYS - 1, 1, 1, 1],
                         [family[f"{which}_rows"] for which in (
                             "equal", "local_only", "remote_only", "changed")])
        self.assertEqual("diverged", self.document("--recheck=0.1")["verdict"])

    def test_with_a_server_over_tls(self):
        lines = self.plant()
        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               f"--certs={self.certificates()}"])
        flags = (f"--db={self.here}", f"--remote=localhost:{server.port}",
                 f"--certs={self.certificates()}")
        finished = run(ROCKSIEVE, "diff", *flags)
        self.assertEqual((1, lines), (finished.code, finished.out.splitlines()), finished)
        self.assertRegex(finished.err, r"[\d,]+ bytes on the wire")
        document = json.loads(run(ROCKSIEVE, "diff", *flags, "--recheck=1", "--summary",
                                  "--json").out)
        self.assertEqual("diverged", document["verdict"])
        self.assertEqual(1, document["column_families"][0]["looks"])
        self.assertLess(document["column_families"][0]["wire_received_bytes"], 5000)

    def test_formats(self):
        self.plant()
        ldb(self.here, "put", "--hex", "0xFF00", "0xFE")
        finished = self.diff("--format=tsv")
        self.assertIn("default\tchanged\tdifferent\tk00007\tchanged\tvalue 7\n", finished.out)
        self.assertIn("default\tlocal-only\tdifferent\textra\\\\here\t1\t\n", finished.out)
        output = self.directory / "rows"
        finished = self.diff("--format=jsonl", f"--output={output}", "--recheck=0.1")
        self.assertEqual(1, finished.code)
        self.assertIn("DIVERGED", finished.out)
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        common = {"column_family": "default", "verdict": "diverged"}
        self.assertEqual([
            {**common, "difference": "local-only", "key": "extra\\here", "local_value": "1"},
            {**common, "difference": "changed", "key": "k00007", "local_value": "changed",
             "remote_value": "value 7"},
            {**common, "difference": "remote-only", "key": "z", "remote_value": "2"},
            {**common, "difference": "local-only", "key_base64": "/wA=", "local_value_base64": "/g=="},
        ], rows)


    def test_output_into_a_pipe_and_through_a_link(self):
        lines = self.plant()
        fifo, target, link = (self.directory / name for name in ("fifo", "target", "link"))
        os.mkfifo(fifo)
        with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True) as reader:
            self.assertEqual(1, self.diff(f"--output={fifo}").code)
            self.assertEqual(lines, reader.communicate()[0].splitlines())
        self.assertTrue(fifo.is_fifo())
        target.write_text("")
        link.symlink_to(target)
        self.assertEqual(1, self.diff(f"--output={link}").code)
        self.assertTrue(link.is_symlink())
        self.assertEqual(lines, target.read_text().splitlines())
        self.assertIn("is a directory", self.diff(f"--output={self.directory}").err)

    def test_a_limit_on_what_is_read(self):
        rows = [f"k{i:05}\t{random.Random(i).randbytes(100).hex()}" for i in range(20000)]
        here = load(self.directory / "large here", rows)
        there = load(self.directory / "large there", rows)
        tables = sum(path.stat().st_size for path in here.glob("*.sst"))

        def seconds(*arguments):
            began = time.monotonic()
            self.assertEqual(0, run(ROCKSIEVE, "diff", *arguments, timeout=100).code)
            return time.monotonic() - began

        self.assertLess(seconds(here, there), 0.5 * 2 * tables / 2e6)
        self.assertGreater(seconds(here, there, "--limit=2MB"), 0.9 * 2 * tables / 2e6)
        server = self.started([ROCKSIEVE, "serve", f"--db={there}", "--listen=127.0.0.1:0",
                               "--insecure", "--limit=1MB"])
        self.assertGreater(seconds(here, f"--remote=127.0.0.1:{server.port}", "--insecure"),
                           0.9 * tables / 1e6)


class ColumnFamilies(DiffSandbox):
    def add(self, database, family, rows):
        run_ok(ROCKSIEVE, "load", f"--db={database}", "--add", f"--column-family={family}",
               "--spec=rocksieve.bloom:10",
               f"--input={write_lines(self.directory / 'rows', rows)}")

    def verdicts(self, *flags, **more):
        return {family["name"]: family["verdict"]
                for family in self.document(*flags, **more)["column_families"]}

    def test_each_has_a_verdict(self):
        self.add(self.here, "users", ["u1\ta", "u2\tb"])
        self.add(self.there, "users", ["u1\ta", "u2\tc"])
        self.add(self.here, "mine", ["m"])
        self.add(self.there, "theirs", ["t"])
        expected = {"default": "match", "users": "different", "mine": "schema", "theirs": "schema"}
        self.assertEqual(expected, self.verdicts())
        finished = self.diff()
        self.assertEqual(["# users", "| u2"], finished.out.splitlines())
        self.assertIn("mine: it is here only.", finished.err)
        self.assertIn("theirs: it is there only.", finished.err)
        self.assertEqual({"default": "match"}, self.verdicts("--column-family=default", code=0))
        self.assertEqual(2, self.diff("--column-family=nowhere").code)

        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               "--insecure", "--column-family=default", "--column-family=theirs"])
        finished = run(ROCKSIEVE, "diff", self.here, f"--remote=localhost:{server.port}",
                       "--insecure")
        self.assertEqual(1, finished.code)
        self.assertIn("users: the server does not serve it: start it with --column-family=users.",
                      finished.err)
        self.assertIn("theirs: it is there only.", finished.err)
        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               "--insecure", "--column-family=users"])
        finished = run(ROCKSIEVE, "diff", self.here, f"--remote=localhost:{server.port}",
                       "--insecure")
        self.assertEqual((1, ["# users", "| u2"]), (finished.code, finished.out.splitlines()))
        self.assertIn("default: the server does not serve it", finished.err)
        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               "--insecure", "--column-family=*"])
        finished = run(ROCKSIEVE, "diff", self.here, f"--remote=localhost:{server.port}",
                       "--insecure", "--summary", "--json")
        self.assertEqual(expected, {family["name"]: family["verdict"] for family in
                                    json.loads(finished.out)["column_families"]})

    def test_other_orders_and_merge_operators(self):
        for options, words in (("comparator=rocksdb.ReverseBytewiseComparator",
                                "ordered by leveldb.BytewiseComparator here, and by "
                                "rocksdb.ReverseBytewiseComparator there"),
                               ("merge_operator=uint64add",
                                "merge operator is none here, and UInt64AddOperator there")):
            other = self.directory / options.split("=")[1]
            rows = [f"k{i:05}\tvalue {i}" for i in range(self.KEYS)]
            run_ok(ROCKSIEVE, "load", f"--db={other}", "--spec=rocksieve.bloom:10",
                   f"--options={options}", f"--input={write_lines(self.directory / 'rows', rows)}")
            with self.subTest(options):
                [family] = self.document(there=other)["column_families"]
                self.assertEqual(("schema", self.KEYS), (family["verdict"], family["equal_rows"]))
                self.assertIn(words, family["reason"])

    def test_a_damaged_file(self):
        self.add(self.here, "users", ["u1\ta"])
        self.add(self.there, "users", ["u1\ta"])
        table = max(self.here.glob("*.sst"), key=lambda path: path.stat().st_size)
        bytes_of_table = bytearray(table.read_bytes())
        bytes_of_table[1000:1010] = b"\0" * 10
        table.write_bytes(bytes_of_table)
        self.assertEqual({"default": "unreadable", "users": "match"}, self.verdicts(code=2))
        self.assertIn(table.name, self.diff("--summary").out)


class Replicas(DiffSandbox):
    """Three servers; the fourth side is here."""

    def setUp(self):
        super().setUp()
        self.sides = {"here": self.here}
        self.flags = [f"--db={self.here}", "--insecure"]
        for name in ("a", "b", "c"):
            self.sides[name] = self.directory / name
            shutil.copytree(self.there, self.sides[name])

    def serve(self):
        for name in ("a", "b", "c"):
            server = self.started([ROCKSIEVE, "serve", f"--db={self.sides[name]}",
                                   "--listen=127.0.0.1:0", "--insecure"])
            self.flags.append(f"--remote=127.0.0.1:{server.port}")

    def put(self, key, versions):
        """A value for each side, '-' for none."""
        for side, value in zip(self.sides.values(), versions):
            if value == "-":
                ldb(side, "delete", key)
            else:
                ldb(side, "put", key, value)

    def test_who_has_which_version(self):
        self.put("k00001", "xxyx")
        self.put("k00002", "-xxx")
        self.put("k00003", "xyzx")
        self.put("k00004", "x-y-")
        self.put("k00005", "xxxx")
        self.put("new", "---x")
        self.serve()
        finished = run(ROCKSIEVE, "diff", *self.flags)
        self.assertEqual(1, finished.code, finished)
        # Of versions that are as frequent, the first one comes first.
        self.assertEqual(["AABA k00001", "-AAA k00002", "ABCA k00003", "A-B- k00004", "---A new"],
                         finished.out.splitlines())
        self.assertIn("5 rows not alike on all sides", finished.err)
        output = self.directory / "rows"
        finished = run(ROCKSIEVE, "diff", *self.flags, "--format=jsonl", f"--output={output}", "--json")
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual({"column_family": "default", "key": "k00001", "versions": "AABA",
                          "majority": "A", "values": [{"version": "A", "value": "x"},
                                                      {"version": "B", "value": "y"}]}, rows[0])
        self.assertEqual(["A", "A", None, None, "-"], [row["majority"] for row in rows])
        document = json.loads(finished.out)
        self.assertEqual(3, len(document["remotes"]))
        self.assertEqual([1, 0, 1, 1], [side["rows"] for side in
                                        document["versions"]["in_the_minority"]])
        finished = run(ROCKSIEVE, "diff", *self.flags, "--format=tsv", "--recheck=0.1")
        self.assertIn("default\tAABA\tA\tk00001\n", finished.out)

    def test_a_side_that_cannot_be_read_has_no_version(self):
        self.put("k00001", "xxyx")
        damaged = self.sides["c"]
        table = max(damaged.glob("*.sst"), key=lambda path: path.stat().st_size)
        bytes_of_table = bytearray(table.read_bytes())
        bytes_of_table[1000:1050] = bytes(50)
        table.write_bytes(bytes_of_table)
        self.serve()
        finished = run(ROCKSIEVE, "diff", *self.flags)
        self.assertEqual((2, ["AAB? k00001"]), (finished.code, finished.out.splitlines()), finished)

    def test_alike(self):
        self.serve()
        finished = run(ROCKSIEVE, "diff", *self.flags, "--summary")
        self.assertEqual((0, ""), (finished.code, finished.err))
        self.assertIn("0 rows not alike on all sides", finished.out)
        self.assertEqual(2, run(ROCKSIEVE, "diff", *self.flags, "--apply=here").code)


class States(DiffSandbox):
    """With --state, the next comparison is of what has changed since."""

    def setUp(self):
        super().setUp()
        ldb(self.there, "delete", "none")  # which sets a merge operator
        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               "--insecure", f"--states={self.directory / 'there.states'}"])
        self.flags = ["--insecure", f"--remote=127.0.0.1:{server.port}",
                      f"--state={self.directory / 'here.states'}"]

    def compare(self, code, *flags):
        finished = run(ROCKSIEVE, "diff", f"--db={self.here}", *self.flags, *flags)
        self.assertEqual(code, finished.code, finished)
        return finished

    def test_only_what_has_changed(self):
        rows = self.plant()
        first = self.compare(1)
        self.assertEqual(rows, first.out.splitlines())
        self.assertIn("default: all rows, since there is no ", first.err)
        second = self.compare(1)
        self.assertEqual(rows, second.out.splitlines())
        self.assertIn("only rows that changed since the comparison before", second.err)
        ldb(self.here, "put", "k00007", "value 7")
        ldb(self.there, "delete", "k00100")
        for database in (self.here, self.there):
            ldb(database, "put", "k00200", "the same")
        self.assertEqual(["< extra\\\\here", "< k00100", "> z"], self.compare(1).out.splitlines())
        report = json.loads(self.compare(1, "--summary", "--json").out)["column_families"][0]
        self.assertTrue(report["only_changes"])
        self.assertLess(report["equal_rows"], 10)
        self.assertIsNone(report["why_full"])
        self.assertIn("hours ago", self.compare(1, "--full-every=0").err)
        # What is written here is found the next time, as any other change.
        self.compare(0, "--apply=here", f"--undo-log={self.directory / 'undo'}")
        self.assertEqual("", self.compare(0).out)

    def test_without_a_server_or_its_states(self):
        finished = self.diff(*self.flags[2:])
        self.assertEqual(2, finished.code)
        self.assertIn("add --remote", finished.err)
        server = self.started([ROCKSIEVE, "serve", f"--db={self.there}", "--listen=127.0.0.1:0",
                               "--insecure"])
        self.flags[1] = f"--remote=127.0.0.1:{server.port}"
        self.assertIn("start it with --states=DIR", self.compare(2).err)


class Refusals(DiffSandbox):
    def test_each_says_what_is_wrong(self):
        for words, arguments in (
                ("two databases are compared", [self.here]),
                ("two databases are compared", [self.here, self.there, "--remote=a:1"]),
                ("each server has all", [self.here, "--remote=a:1,b:2", "--insecure"]),
                ("--summary, or --output=FILE", [self.here, self.there, "--json"]),
                ("leave it out, or --summary",
                 [self.here, self.there, "--summary", "--output=f"]),
                ("--undo-log", [self.here, self.there, "--apply=here", "--summary"]),
                ("one database", [self.here, self.there, "--undo=x"]),
                ("--apply", [self.here, self.there, "--dry-run"]),
                ("--format", [self.here, self.there, "--format=xml"]),
                ("nowhere", [self.here, self.directory / "nowhere"]),
                ("nobody listens", [self.here, "--remote=127.0.0.1:1", "--insecure"])):
            with self.subTest(words):
                finished = run(ROCKSIEVE, "diff", *arguments, timeout=60)
                self.assertEqual((2, ""), (finished.code, finished.out), finished)
                self.assertIn(words, finished.err)

    def test_a_reader_that_has_enough(self):
        self.plant()
        with subprocess.Popen([ROCKSIEVE, "diff", self.here, self.there], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            process.stdout.close()
            self.assertNotEqual(0, process.wait(60))


if __name__ == "__main__":
    unittest.main()
