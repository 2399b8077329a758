#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve diff`: what it prints, how it ends, and what it says of databases that are not alike; what
`--apply` and `--undo` write, what they leave alone, and what stops them.

That it finds every difference and no other is diff_api_test.cc's concern."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from environment import PLUGIN, run, run_ok, wait_for
from join_support import ROCKSIEVE, DiffSandbox, damage, ldb, load, write_lines


class Comparing(DiffSandbox):
    def plant(self):
        """A row here only, one there only, and one with two values."""
        ldb(self.here, "put", "k00007", "changed")
        ldb(self.here, "put", "extra\\here", "1")
        ldb(self.there, "put", "z", "2")
        return ["< extra\\\\here", "| k00007", "> z"]

    def test_equal_and_different(self):
        finished = self.diff()
        self.assert_lines(finished, [], code=0)
        self.assertIn("MATCH", finished.err)
        self.assertEqual("match", self.document(code=0)["verdict"])
        lines = self.plant()
        finished = self.diff()
        self.assert_lines(finished, lines)
        self.assertIn("DIFFERENT", finished.err)
        self.assertIn("--recheck", finished.err)
        document = self.document()
        [family] = document["column_families"]
        self.assertEqual(("different", "default"), (document["verdict"], family["name"]))
        self.assertEqual([self.KEYS - 1, 1, 1, 1],
                         [family[f"{which}_rows"] for which in (
                             "equal", "local_only", "remote_only", "changed")])
        self.assertEqual("diverged", self.document("--recheck=0.1")["verdict"])
        with subprocess.Popen([ROCKSIEVE, "diff", self.here, self.there], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            process.stdout.close()  # a reader that has enough
            self.assertNotEqual(0, process.wait(60))

    def test_with_a_server_over_tls(self):
        lines = self.plant()
        server = self.serve(self.there, secure=True)
        flags = (f"--db={self.here}", f"--remote=localhost:{server.port}",
                 f"--certs={self.certificates()}")
        finished = run(ROCKSIEVE, "diff", *flags)
        self.assert_lines(finished, lines)
        self.assertRegex(finished.err, r"[\d,]+ bytes on the wire")
        document = json.loads(run(ROCKSIEVE, "diff", *flags, "--recheck=1", "--summary",
                                  "--json").out)
        [family] = document["column_families"]
        self.assertEqual(("diverged", 1), (document["verdict"], family["looks"]))
        self.assertLess(family["wire_received_bytes"], 5000)

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
        common = {"column_family": "default", "verdict": "diverged"}
        self.assertEqual([
            {**common, "difference": "local-only", "key": "extra\\here", "local_value": "1"},
            {**common, "difference": "changed", "key": "k00007", "local_value": "changed",
             "remote_value": "value 7"},
            {**common, "difference": "remote-only", "key": "z", "remote_value": "2"},
            {**common, "difference": "local-only", "key_base64": "/wA=", "local_value_base64": "/g=="},
        ], [json.loads(line) for line in output.read_text().splitlines()])

    def test_a_limit_on_what_is_read(self):
        rows = [f"k{i:05}\t{random.Random(i).randbytes(100).hex()}" for i in range(20000)]
        here, there = (load(self.directory / f"large {side}", rows) for side in ("here", "there"))
        tables = sum(path.stat().st_size for path in here.glob("*.sst"))

        def seconds(*arguments):
            began = time.monotonic()
            self.assertEqual(0, run(ROCKSIEVE, "diff", *arguments, timeout=100).code)
            return time.monotonic() - began

        self.assertLess(seconds(here, there), 0.5 * 2 * tables / 2e6)
        self.assertGreater(seconds(here, there, "--limit=2MB"), 0.9 * 2 * tables / 2e6)
        port = self.serve(there, "--limit=1MB").port
        self.assertGreater(seconds(here, f"--remote=127.0.0.1:{port}", "--insecure"),
                           0.9 * tables / 1e6)

    def test_only_what_has_changed(self):
        """With --state, the next comparison is of what has changed since."""
        ldb(self.there, "delete", "none")  # which sets a merge operator
        server = self.serve(self.there, f"--states={self.directory / 'there.states'}")

        def compare(code, *flags):
            finished = self.remote_diff(server, f"--state={self.directory / 'here.states'}", *flags)
            self.assertEqual(code, finished.code, finished)
            return finished

        rows = self.plant()
        for says in ("default: all rows, since there is no ",
                     "only rows that changed since the comparison before"):
            finished = compare(1)
            self.assertEqual(rows, finished.out.splitlines())
            self.assertIn(says, finished.err)
        ldb(self.here, "put", "k00007", "value 7")
        ldb(self.there, "delete", "k00100")
        for database in (self.here, self.there):
            ldb(database, "put", "k00200", "the same")
        self.assertEqual(["< extra\\\\here", "< k00100", "> z"], compare(1).out.splitlines())
        [report] = json.loads(compare(1, "--summary", "--json").out)["column_families"]
        self.assertTrue(report["only_changes"])
        self.assertLess(report["equal_rows"], 10)
        self.assertIsNone(report["why_full"])
        self.assertIn("hours ago", compare(1, "--full-every=0").err)
        # What is written here is found the next time, as any other change.
        compare(0, "--apply=here", f"--undo-log={self.directory / 'undo'}")
        self.assertEqual("", compare(0).out)

    def test_refusals(self):
        server = f"--remote=127.0.0.1:{self.serve(self.there).port}"
        state = f"--state={self.directory / 'states'}"
        both = [self.here, self.there]
        for words, arguments in (
                ("two databases are compared", [self.here]),
                ("two databases are compared", [*both, "--remote=a:1"]),
                ("each server has all", [self.here, "--remote=a:1,b:2", "--insecure"]),
                ("--summary, or --output=FILE", [*both, "--json"]),
                ("leave it out, or --summary", [*both, "--summary", "--output=f"]),
                ("is a directory", [*both, f"--output={self.directory}"]),
                ("--undo-log", [*both, "--apply=here", "--summary"]),
                ("one database", [*both, "--undo=x"]),
                ("--apply", [*both, "--dry-run"]),
                ("--format", [*both, "--format=xml"]),
                ("nowhere", [self.here, self.directory / "nowhere"]),
                ("nobody listens", [self.here, "--remote=127.0.0.1:1", "--insecure"]),
                ("nowhere", [*both, "--column-family=nowhere"]),
                ("add --remote", [*both, state]),
                ("start it with --states=DIR", [self.here, server, "--insecure", state])):
            with self.subTest(words):
                finished = run(ROCKSIEVE, "diff", *arguments, timeout=60)
                self.assert_lines(finished, [], code=2)
                self.assertIn(words, finished.err)


class ColumnFamilies(DiffSandbox):
    def add(self, database, family, rows):
        load(database, write_lines(self.directory / "rows", rows), "rocksieve.bloom:10", "--add",
             f"--column-family={family}")

    def verdicts(self, document):
        return {family["name"]: family["verdict"] for family in document["column_families"]}

    def test_each_has_a_verdict(self):
        for database, family, rows in ((self.here, "users", ["u1\ta", "u2\tb"]),
                                       (self.there, "users", ["u1\ta", "u2\tc"]),
                                       (self.here, "mine", ["m"]), (self.there, "theirs", ["t"])):
            self.add(database, family, rows)
        expected = {"default": "match", "users": "different", "mine": "schema", "theirs": "schema"}
        finished = self.diff()
        self.assert_lines(finished, ["# users", "| u2"])
        self.assertIn("mine: it is here only.", finished.err)
        self.assertIn("theirs: it is there only.", finished.err)
        self.assertEqual(expected, self.verdicts(self.document()))
        self.assertEqual({"default": "match"},
                         self.verdicts(self.document("--column-family=default", code=0)))
        for served, lines, says in (
                (["default", "theirs"], [], "users: the server does not serve it: start it with "
                                            "--column-family=users."),
                (["users"], ["# users", "| u2"], "default: the server does not serve it")):
            server = self.serve(self.there, *(f"--column-family={name}" for name in served))
            finished = self.remote_diff(server)
            self.assert_lines(finished, lines)
            self.assertIn(says, finished.err)
        finished = self.remote_diff(self.serve(self.there, "--column-family=*"), "--summary", "--json")
        self.assertEqual(expected, self.verdicts(json.loads(finished.out)))

    def test_other_orders_and_merge_operators(self):
        for options, words in (("comparator=rocksdb.ReverseBytewiseComparator",
                                "ordered by leveldb.BytewiseComparator here, and by "
                                "rocksdb.ReverseBytewiseComparator there"),
                               ("merge_operator=uint64add",
                                "merge operator is none here, and UInt64AddOperator there")):
            other = load(self.directory / options.split("=")[1], self.equal_rows,
                         "rocksieve.bloom:10", f"--options={options}")
            with self.subTest(options):
                [family] = self.document(there=other)["column_families"]
                self.assertEqual(("schema", self.KEYS), (family["verdict"], family["equal_rows"]))
                self.assertIn(words, family["reason"])

    def test_a_damaged_file(self):
        self.add(self.here, "users", ["u1\ta"])
        self.add(self.there, "users", ["u1\ta"])
        table = damage(self.here, 1000, 10)
        self.assertEqual({"default": "unreadable", "users": "match"},
                         self.verdicts(self.document(code=2)))
        self.assertIn(table.name, self.diff("--summary").out)


class Replicas(DiffSandbox):
    def test_three_servers(self):
        """The fourth side is here. Each row has a value for each side, '-' for none."""
        sides = [self.here, *(shutil.copytree(self.there, self.directory / name) for name in "abc")]
        flags = ["--insecure", *(f"--remote=127.0.0.1:{self.serve(side).port}" for side in sides[1:])]

        def diff(*more):
            return run(ROCKSIEVE, "diff", f"--db={self.here}", *flags, *more,
                       variables={"TMPDIR": self.directory})

        os.mkfifo(self.directory / "rocksieve-diff")  # not its file
        finished = diff("--summary")
        self.assertEqual((0, ""), (finished.code, finished.err))
        self.assertIn("0 rows not alike on all sides", finished.out)
        self.assertEqual(2, diff("--apply=here").code)
        for key, versions in (("k00001", "xxyx"), ("k00002", "-xxx"), ("k00003", "xyzx"),
                              ("k00004", "x-y-"), ("k00005", "xxxx"), ("new", "---x")):
            for side, value in zip(sides, versions):
                ldb(side, *(["delete", key] if value == "-" else ["put", key, value]))
        # Of versions that are as frequent, the first one comes first.
        finished = diff()
        self.assert_lines(finished, ["AABA k00001", "-AAA k00002", "ABCA k00003", "A-B- k00004",
                                     "---A new"])
        self.assertIn("5 rows not alike on all sides", finished.err)
        output = self.directory / "rows"
        document = json.loads(diff("--format=jsonl", f"--output={output}", "--json").out)
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual({"column_family": "default", "key": "k00001", "versions": "AABA",
                          "majority": "A", "values": [{"version": "A", "value": "x"},
                                                      {"version": "B", "value": "y"}]}, rows[0])
        self.assertEqual(["A", "A", None, None, "-"], [row["majority"] for row in rows])
        self.assertEqual(3, len(document["remotes"]))
        self.assertEqual([1, 0, 1, 1],
                         [side["rows"] for side in document["versions"]["in_the_minority"]])
        self.assertIn("default\tAABA\tA\tk00001\n", diff("--format=tsv", "--recheck=0.1").out)
        damage(sides[3], 1000, 50)
        for side, code in ((sides[3], 2), (self.with_timestamps(), 1)):  # without a version
            flags[-1] = f"--remote=127.0.0.1:{self.serve(side).port}"
            self.assert_lines(diff(), ["AAB? k00001", "-AA? k00002", "ABC? k00003", "A-B? k00004"], code)


class Applying(DiffSandbox):
    def plant(self):
        """With the filters that the database has; ldb gives both sides its merge operator."""
        for side, *words in ((self.there, "delete", "none"), (self.here, "delete", "k00003"),
                             (self.here, "put", "k00007", "changed"), (self.here, "put", "extra", "1")):
            ldb(side, *words, preload=[PLUGIN])
        return ["< extra", "> k00003", "| k00007"]

    def refused(self, finished, *words):
        self.assert_lines(finished, [], code=2)
        for text in words:
            self.assertIn(text, finished.err)

    def test_this_side_becomes_the_other_one_and_back(self):
        lines = self.plant()
        before = {path: path.stat().st_mtime_ns for path in self.here.iterdir()}
        finished = self.diff("--apply=here", "--dry-run")
        self.assertEqual((1, lines), (finished.code, sorted(finished.out.splitlines())))
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.here.iterdir()})

        shutil.copytree(self.here, self.directory / "before")
        finished = self.diff("--apply=here", "--json")
        self.assertEqual((0, ""), (finished.code, finished.err), finished)
        [log] = self.directory.glob("here.*.jsonl")
        self.assertEqual({"undo_log": str(log), "put_rows": 2, "deleted_rows": 1,
                          "done_before_rows": 0, "left_alone_rows": 0},
                         json.loads(finished.out)["applied"])
        self.assertEqual("match", self.document(code=0)["verdict"])
        self.assertIn("healthy", run_ok(ROCKSIEVE, "doctor", self.here).out)

        ldb(self.here, "put", "k00007", "again", preload=[PLUGIN])
        finished = run(ROCKSIEVE, "diff", self.here, f"--undo={log}")
        self.assertEqual(1, finished.code, finished)
        self.assertIn("1 row put, 1 row deleted", finished.out)
        self.assertIn("1 row left alone", finished.out)
        self.assert_lines(self.diff(there=self.directory / "before"), ["| k00007"])

    def test_nothing_is_written_if_a_file_cannot_be_read(self):
        """What one side has behind the damage of the other one is no difference."""
        whole = load(self.directory / "whole", [f"k{i:06}\tvalue {i}" for i in range(200000)])
        copy = shutil.copytree(whole, self.directory / "copy")
        damage(copy, 0.25, 50)
        for here, there in ((whole, copy), (copy, whole)):
            self.refused(self.diff(here=here, there=there))
            self.refused(self.diff("--apply=here", here=here, there=there), "nothing was written")
            self.assertEqual([], list(self.directory.glob("*.jsonl")))
        self.refused(self.diff("--apply=here", there=self.with_timestamps()), "nothing was written")

    def test_no_log_is_written_over(self):
        self.plant()
        log = self.directory / "log"
        self.assertEqual(0, self.diff("--apply=here", f"--undo-log={log}").code)
        before = log.read_bytes()
        for path, words in ((log, "is there already"), ("-", "name a file"),
                            (self.directory, "is there already")):
            self.refused(self.diff("--apply=here", f"--undo-log={path}"), words)
        self.assertEqual(before, log.read_bytes())

    def test_a_full_disk_and_a_kill(self):
        rows = [f"k{i:06}\tvalue {i}" for i in range(150000)]
        sides = {"here": load(self.directory / "many", rows[::2]),
                 "there": load(self.directory / "more", rows)}
        command = [ROCKSIEVE, "diff", *sides.values(), "--apply=here"]
        log = self.directory / "log"
        finished = run("sh", "-c", 'ulimit -f 100; exec "$@"', "-", *command, f"--undo-log={log}")
        self.refused(finished)
        self.assertNotIn("UNREADABLE", finished.err)  # it is no damage
        self.assertFalse(log.exists())
        for delay in (0.2, 0.4, 0.6):
            with subprocess.Popen([*command, f"--undo-log={self.directory / str(delay)}"]) as process:
                time.sleep(delay)
                process.kill()
        self.assertEqual(0, self.diff("--apply=here", **sides).code)
        self.assertEqual("match", self.document(code=0, **sides)["verdict"])

    def test_rows_with_merges(self):
        for side, value in ((self.here, "a"), (self.there, "b")):
            ldb(side, "put", "merged", value)
            run_ok("db_bench", f"--db={side}", "--use_existing_db=1", "--benchmarks=mergerandom",
                   "--merge_operator=stringappend", "--num=50", "--merge_keys=20", "--threads=1",
                   "--value_size=8")
        self.assertIn(self.diff("--apply=here").code, (0, 1))
        self.assertEqual([], [family for family in json.loads(
            self.diff("--summary", "--json").out)["column_families"] if family["changed_rows"]])

    def test_what_is_not_written(self):
        here = load(self.directory / "with logs", ["k"], "rocksieve.bloom:10",
                    f"--options=wal_dir={self.directory / 'logs'}")
        self.refused(self.diff("--apply=here", here=here), "wal_dir")
        self.plant()
        with subprocess.Popen([ROCKSIEVE, "load", f"--db={self.here}", "--add",
                               "--spec=rocksieve.ribbon:10", "--input=-"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as holder:
            # Not by asking diff: it might be first, and then load could not open the database.
            inode = (self.here / "LOCK").stat().st_ino
            wait_for(lambda: f":{inode} " in Path("/proc/locks").read_text(encoding="ascii"))
            finished = self.diff("--apply=here", f"--undo-log={self.directory / 'log'}")
            self.assert_refused(finished, "Another process has it open", "--undo=")
            holder.stdin.close()

    def test_logs_that_are_none(self):
        log = self.directory / "log"
        for line in ("{}", "x", "[]", '{"column_family":"default","key":"k"}',
                     '{"column_family":"default","key":"k","difference":"changed","local_value":"1"}',
                     '{"column_family":"default","key":"k","difference":1}',
                     '{"column_family":"default","key":"k","local_value":1}',
                     '{"column_family":"default","key_base64":"*","local_value":"1"}',
                     '{"column_family":"default","key":"k","local_columns":[{"name":"n"}]}',
                     '{"column_family":"nowhere","key":"k","difference":"local-only",'
                     '"local_value":"1"}'):
            log.write_text(line + "\n")
            self.assert_refused(run(ROCKSIEVE, "diff", self.here, f"--undo={log}"),
                                "no column family nowhere" if "nowhere" in line
                                else "line 1: is no row")


if __name__ == "__main__":
    unittest.main()
