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

from environment import PLUGIN, run, run_ok, wait_for
from join_support import ROCKSIEVE, JoinSandbox, load, write_lines


def ldb(database, *words, **process):
    return run_ok("ldb", f"--db={database}", "--try_load_options", *words, **process)


class DiffSandbox(JoinSandbox):
    KEYS = 2000

    def setUp(self):
        super().setUp()
        rows = [f"k{i:05}\tvalue {i}" for i in range(self.KEYS)]
        self.here = load(self.directory / "here", rows)
        self.there = load(self.directory / "there", rows)

    def diff(self, *flags, here=None, there=None):
        return run(ROCKSIEVE, "diff", here or self.here, there or self.there, *flags, timeout=100)

    def document(self, *flags, code=1, **sides):
        finished = self.diff("--summary", "--json", *flags, **sides)
        self.assertEqual((code, ""), (finished.code, finished.err), finished)
        return json.loads(finished.out)

    def plant(self):
        """A row here only, one there only, and one with two values."""
        ldb(self.here, "put", "k00007", "changed")
        ldb(self.here, "put", "extra\\here", "1")
        ldb(self.there, "put", "z", "2")
        return ["< extra\\\\here", "| k00007", "> z"]


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

    def test_alike(self):
        self.serve()
        finished = run(ROCKSIEVE, "diff", *self.flags, "--summary")
        self.assertEqual((0, ""), (finished.code, finished.err))
        self.assertIn("0 rows not alike on all sides", finished.out)
        self.assertEqual(2, run(ROCKSIEVE, "diff", *self.flags, "--apply=here").code)


class Applying(DiffSandbox):
    def plant(self):
        """With the filters that the database has; ldb gives both sides its merge operator."""
        ldb(self.there, "delete", "none", preload=[PLUGIN])
        ldb(self.here, "delete", "k00003", preload=[PLUGIN])
        ldb(self.here, "put", "k00007", "changed", preload=[PLUGIN])
        ldb(self.here, "put", "extra", "1", preload=[PLUGIN])
        return ["> k00003", "| k00007", "< extra"]

    def log(self):
        [log] = self.directory.glob("here.*.jsonl")
        return log

    def test_this_side_becomes_the_other_one_and_back(self):
        lines = self.plant()
        before = {path: path.stat().st_mtime_ns for path in self.here.iterdir()}
        finished = self.diff("--apply=here", "--dry-run")
        self.assertEqual((1, sorted(lines)), (finished.code, sorted(finished.out.splitlines())))
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.here.iterdir()})

        shutil.copytree(self.here, self.directory / "before")
        finished = self.diff("--apply=here", "--json")
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        applied = json.loads(finished.out)["applied"]
        self.assertEqual({"undo_log": str(self.log()), "put_rows": 2, "deleted_rows": 1,
                          "done_before_rows": 0, "left_alone_rows": 0}, applied)
        self.assertEqual("match", self.document(code=0)["verdict"])
        doctor = run(ROCKSIEVE, "doctor", self.here)
        self.assertEqual(0, doctor.code, doctor)
        self.assertIn("healthy", doctor.out)

        ldb(self.here, "put", "k00007", "again", preload=[PLUGIN])
        finished = run(ROCKSIEVE, "diff", self.here, f"--undo={self.log()}")
        self.assertEqual(1, finished.code, finished)
        self.assertIn("1 row put, 1 row deleted", finished.out)
        self.assertIn("1 row left alone", finished.out)
        finished = self.diff(there=self.directory / "before")
        self.assertEqual(["| k00007"], finished.out.splitlines())

    def test_nothing_is_written_if_a_file_cannot_be_read(self):
        """What one side has behind the damage of the other one is no difference."""
        rows = [f"k{i:06}\tvalue {i}" for i in range(200000)]
        whole = load(self.directory / "whole", rows)
        for here, there, damaged in (("whole", "copy", "copy"), ("copy", "whole", "copy")):
            shutil.rmtree(self.directory / "copy", ignore_errors=True)
            copy = shutil.copytree(whole, self.directory / "copy")
            table = max(copy.glob("*.sst"), key=lambda path: path.stat().st_size)
            bytes_of_table = bytearray(table.read_bytes())
            middle = len(bytes_of_table) // 4
            bytes_of_table[middle:middle + 50] = bytes(50)
            table.write_bytes(bytes_of_table)
            sides = {"here": self.directory / here, "there": self.directory / there}
            with self.subTest(damaged=damaged, here=here):
                finished = self.diff(**sides)
                self.assertEqual((2, ""), (finished.code, finished.out), finished)
                finished = self.diff("--apply=here", **sides)
                self.assertEqual((2, ""), (finished.code, finished.out), finished)
                self.assertIn("nothing was written", finished.err)
                self.assertEqual([], list(self.directory.glob("*.jsonl")))
        self.assertEqual(0, self.diff(here=whole, there=whole).code)

    def test_no_log_is_written_over(self):
        self.plant()
        log = self.directory / "log"
        self.assertEqual(0, self.diff("--apply=here", f"--undo-log={log}").code)
        before = log.read_bytes()
        for path, words in ((log, "is there already"), ("-", "name a file"),
                            (self.directory, "is there already")):
            finished = self.diff("--apply=here", f"--undo-log={path}")
            self.assertEqual(2, finished.code, finished)
            self.assertIn(words, finished.err)
        self.assertEqual(before, log.read_bytes())

    def test_a_full_disk_is_no_damage(self):
        rows = [f"k{i:06}\tvalue {i}" for i in range(20000)]
        here = load(self.directory / "many", rows[::2])
        there = load(self.directory / "more", rows)
        finished = run("sh", "-c", f"ulimit -f 100; exec {ROCKSIEVE} diff {here} {there} "
                       f"--apply=here --undo-log={self.directory / 'log'}")
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        self.assertNotIn("UNREADABLE", finished.err)
        self.assertFalse((self.directory / "log").exists())
        self.assertEqual(1, self.diff("--summary", here=here, there=there).code)

    def test_rows_with_merges(self):
        for side, value in ((self.here, "a"), (self.there, "b")):
            ldb(side, "put", "merged", value)
            run_ok("db_bench", f"--db={side}", "--use_existing_db=1", "--benchmarks=mergerandom",
                   "--merge_operator=stringappend", "--num=50", "--merge_keys=20", "--threads=1",
                   "--value_size=8")
        finished = self.diff("--apply=here")
        self.assertIn(finished.code, (0, 1), finished)
        self.assertEqual([], [family for family in json.loads(
            self.diff("--summary", "--json").out)["column_families"] if family["changed_rows"]])

    def test_write_ahead_logs_elsewhere(self):
        here = self.directory / "with logs"
        run_ok(ROCKSIEVE, "load", f"--db={here}", "--spec=rocksieve.bloom:10",
               f"--options=wal_dir={self.directory / 'logs'}",
               f"--input={write_lines(self.directory / 'rows', ['k'])}")
        finished = self.diff("--apply=here", here=here)
        self.assertEqual(2, finished.code, finished)
        self.assertIn("wal_dir", finished.err)

    def test_goes_on_after_a_kill(self):
        rows = [f"k{i:06}\tvalue {i}" for i in range(150000)]
        here = load(self.directory / "many", rows[::2])
        there = load(self.directory / "more", rows)
        for delay in (0.2, 0.4, 0.6):
            with subprocess.Popen([ROCKSIEVE, "diff", here, there, "--apply=here",
                                   f"--undo-log={self.directory / str(delay)}"]) as process:
                time.sleep(delay)
                process.kill()
        finished = self.diff("--apply=here", here=here, there=there)
        self.assertEqual(0, finished.code, finished)
        self.assertEqual("match", self.document(code=0, here=here, there=there)["verdict"])

    def test_what_is_open_elsewhere_is_not_written(self):
        self.plant()
        with subprocess.Popen([ROCKSIEVE, "load", f"--db={self.here}", "--add",
                               "--spec=rocksieve.ribbon:10", "--input=-"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as holder:
            wait_for(lambda: self.diff("--apply=here").code == 2)
            finished = self.diff("--apply=here", f"--undo-log={self.directory / 'log'}")
            self.assertIn("Another process has it open", finished.err)
            self.assertIn("--undo=", finished.err)
            holder.stdin.close()

    def test_logs_that_are_none(self):
        log = self.directory / "log"
        for line in ("{}", "x", "[]", '{"column_family":"default","key":"k"}',
                     '{"column_family":"default","key":"k","difference":"changed","local_value":"1"}',
                     '{"column_family":"default","key":"k","local_value":1}',
                     '{"column_family":"default","key_base64":"*","local_value":"1"}',
                     '{"column_family":"default","key":"k","local_columns":[{"name":"n"}]}'):
            log.write_text(line + "\n")
            finished = run(ROCKSIEVE, "diff", self.here, f"--undo={log}")
            self.assertEqual(2, finished.code, line)
            self.assertIn("line 1: is no row", finished.err, line)
        log.write_text('{"column_family":"nowhere","key":"k","difference":"local-only",'
                       '"local_value":"1"}\n')
        self.assertIn("no column family nowhere",
                      run(ROCKSIEVE, "diff", self.here, f"--undo={log}").err)


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
