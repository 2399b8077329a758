#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve diff --apply` and `--undo`: what they write, what they leave alone, and what stops them."""

import json
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from diff_support import DiffSandbox, ldb
from environment import PLUGIN, run, run_ok, wait_for
from join_support import ROCKSIEVE, load, write_lines


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
        finished = run("sh", "-c", 'ulimit -f 100; exec "$@"', "-", ROCKSIEVE, "diff", here, there,
                       "--apply=here", f"--undo-log={self.directory / 'log'}")
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
            # Not by asking diff: it might be first, and then load could not open the database.
            inode = (self.here / "LOCK").stat().st_ino
            wait_for(lambda: f":{inode} " in Path("/proc/locks").read_text(encoding="ascii"))
            finished = self.diff("--apply=here", f"--undo-log={self.directory / 'log'}")
            self.assertEqual(2, finished.code, finished)
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


if __name__ == "__main__":
    unittest.main()
