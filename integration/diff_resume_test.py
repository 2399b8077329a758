#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve diff --resume`: killed at any moment and gone on with, it finds what it finds when it is
left alone, each row once."""

import json
import random
import re
import signal
import subprocess
import time
import unittest

from environment import BUILD, SEED, THOROUGH, run
from join_support import ROCKSIEVE, DiffSandbox, load

KILL_AT_CALL = BUILD / "lib" / "libkill_at_call.so"
PARTS = re.compile(r"Compared in (\d+) parts")


class ResumeSandbox(DiffSandbox):
    KEYS = 1  # others are compared here
    ROWS = 50000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = random.Random(SEED)
        cls.large = []
        differs = {cls.random.randrange(cls.ROWS): cls.random.choice("<>|") for _ in range(300)}
        for side, lacks in (("here", ">"), ("there", "<")):
            rows = []
            for i in range(cls.ROWS):
                what = differs.get(i)
                if what != lacks:
                    value = random.Random(i).randbytes(60).hex()
                    rows.append(f"k{i:06}\t{value + side if what == '|' else value}")
            cls.large.append(load(cls.class_directory / f"large {side}", rows))
            load(cls.large[-1], ["a\tsame", f"b\t{side}", f"only {side}\tx"], "rocksieve.bloom:10",
                 "--add", "--column-family=few")

    def setUp(self):
        super().setUp()
        self.state, self.output = self.directory / "state", self.directory / "rows"

    def command(self, sides, *flags):
        return [str(word) for word in
                (ROCKSIEVE, "diff", *sides, f"--resume={self.state}", f"--output={self.output}", *flags)]

    def left_alone(self, sides, *flags):
        """The rows and what is said."""
        output = self.directory / "all rows"
        finished = run(ROCKSIEVE, "diff", *sides, f"--output={output}", *flags, timeout=100)
        self.assertEqual(1, finished.code, finished)
        return output.read_text(), finished.out

    def killed_after(self, command, seconds):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            with self.assertRaises(subprocess.TimeoutExpired):  # too few to come to the end
                process.wait(seconds)
            process.kill()

    def begun(self, command, signal_number=signal.SIGKILL, stdout=subprocess.DEVNULL):
        """Ended once something is proven; what it wrote."""
        with subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL,
                              text=True) as process:
            while b'"next_key":"k' not in (self.state.read_bytes() if self.state.exists() else b""):
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            process.send_signal(signal_number)
            return process.communicate(timeout=20)[0]

    def assert_done(self, finished, alone):
        """And nothing is left."""
        self.assertEqual(1, finished.code, finished)
        self.assertEqual(alone[0], self.output.read_text())
        # Without how it came about.
        tables = [[line for line in out.splitlines()
                   if not re.search(r"parts, which|bytes on the wire", line)]
                  for out in (alone[1], finished.out)]
        self.assertEqual(*tables)
        self.assertEqual([], sorted(path.name for path in self.directory.glob("state*")))
        self.assertFalse(self.output.with_name("rows.unfinished").exists())

    def killed_again_and_again(self, *flags, server=False):
        sides, limit = self.large, "--limit=2MB"
        if server:
            served = self.serve(self.large[1], "--column-family=*", "--memory=16")
            sides, limit = [self.large[0], f"--remote=127.0.0.1:{served.port}", "--insecure"], "--limit=1MB"
        alone = self.left_alone(sides, *flags)
        command = self.command(sides, *flags, limit)
        self.begun(command)
        for _ in range(3):
            self.killed_after(command, self.random.uniform(0.1, 1.2))
        finished = run(*self.command(sides, *flags), timeout=100)
        self.assert_done(finished, alone)
        self.assertIn("going on with", finished.err)
        self.assertGreater(int(PARTS.search(finished.out)[1]), 1, finished)


class Resumable(ResumeSandbox):
    def test_two_directories(self):
        self.killed_again_and_again("--format=jsonl")

    def test_with_a_server(self):
        self.killed_again_and_again("--format=jsonl", server=True)

    def test_rows_that_are_looked_at_again(self):
        self.killed_again_and_again("--format=jsonl", "--recheck=1", server=True)

    def test_rows_that_are_looked_at_again_without_values(self):
        self.killed_again_and_again("--recheck=1")

    def test_to_the_standard_output_nothing_is_lost(self):
        rows = run(ROCKSIEVE, "diff", *self.large).out
        command = [str(word) for word in (ROCKSIEVE, "diff", *self.large, f"--resume={self.state}")]
        given = self.begun([*command, "--limit=2MB"], stdout=subprocess.PIPE).splitlines()
        last = run(*command)
        self.assertIn("going on with", last.err)
        self.assertEqual(set(rows.splitlines()), set(given) | set(last.out.splitlines()))

    def test_a_summary_and_its_parts(self):
        command = [ROCKSIEVE, "diff", *self.large, "--summary", "--json"]
        expected = json.loads(run(*command).out)
        command.append(f"--resume={self.state}")
        self.begun([*command, "--limit=2MB"])
        document = json.loads(run(*command).out)
        parts = document.pop("parts")
        self.assertEqual(["", "default"], [parts[0]["next_key"], parts[0]["column_family"]])
        self.assertEqual(2, len(parts))
        for family in document["column_families"] + expected["column_families"]:
            del family["seconds"]
        self.assertEqual(expected, document)

    def test_an_interrupt(self):
        alone = self.left_alone(self.large)
        self.begun(self.command(self.large, "--limit=2MB"), signal.SIGINT)
        self.assertTrue(self.state.exists())
        self.assert_done(run(*self.command(self.large)), alone)


class EachCall(ResumeSandbox):
    ROWS = 15000  # three comparisons for each call

    def killed_at(self, call, flags, alone):
        """Whether there was such a call; and then, gone on with, it finds what it found alone."""
        self.output.unlink(missing_ok=True)
        command = self.command(self.large, *flags)

        def run_until(number):
            return run(*command, preload=[KILL_AT_CALL], timeout=100,
                       variables={"KILL_AT_CALL": str(number)})

        first = run_until(call)
        if first.code != -signal.SIGKILL:
            self.assertEqual(1, first.code, first)
            return False
        run_until(self.random.randrange(1, 12))  # once more on the way
        self.assert_done(run(*command, timeout=100), alone)
        return True

    def test_killed_at_each_call_that_changes_files(self):
        """At every fifth call, and at all with `./run test --thorough`: at full speed, and where it is
        slower and often saves what it has."""
        for flags in (["--format=tsv"], ["--format=tsv", "--recheck=0.1", "--limit=8MB"]):
            alone = self.left_alone(self.large, *flags)
            for call in range(1, 1000, 1 if THOROUGH else 5):
                with self.subTest(flags=flags, call=call):
                    if not self.killed_at(call, flags, alone):
                        break
            self.assertGreater(call, 10)


class Refusals(ResumeSandbox):
    def setUp(self):
        super().setUp()
        self.go_on = self.command(self.large)

    def refused(self, words, *command):
        before = self.state.read_bytes()
        self.assert_lines(finished := run(*command), [], code=2)
        self.assertIn(words, finished.err)
        self.assertEqual(before, self.state.read_bytes())

    def test_another_comparison(self):
        self.begun([*self.go_on, "--limit=1MB"])
        for other in (self.command(self.large[::-1]), [*self.go_on, "--format=tsv"],
                      [*self.go_on, "--recheck=1"], [*self.go_on, "--column-family=few"],
                      [*self.go_on[:-1], f"--output={self.directory / 'elsewhere'}"],
                      [*self.go_on[:-1], "--summary"]):
            self.refused("is of another comparison", *other)
        with subprocess.Popen([*self.go_on, "--limit=1MB"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as first:
            time.sleep(0.7)
            self.assert_refused(run(*self.go_on), "another process")
            first.kill()
        self.assertEqual(1, run(*self.go_on).code)

    def test_what_is_written_by_somebody_else(self):
        self.begun([*self.go_on, "--limit=1MB"])
        good = self.state.read_bytes()
        head, line = good.decode().split("\n", 1)
        for damaged, says in (*((bytes_of_it, "left as it is") for bytes_of_it in (
                                    good[:-1], good[:100], good[:30],
                                    good.replace(b"default", b"defauld"),
                                    good.replace(b'"equal_rows":', b'"equal_rows":1'))),
                              (good.replace(b"version 1", b"version 2"), "another version"),
                              (b"my diary\n", "not what --resume writes")):
            self.state.write_bytes(damaged)
            self.refused(says, *self.go_on)
        # By somebody who knows the hash.
        for hostile in ("[" * 100000 + "]" * 100000 + "\n", "{}\n", "null\n", "[]\n",
                        line.replace('"done":[]', '"done":[{}]'),
                        line.replace('"done":[]', '"done":[{"name":"x"}]'),
                        line.replace('"family":{', '"family":{"a":' + '{"a":' * 9 + "0" + "}" * 9 + ","),
                        line.replace('"heading":"', '"heading":{},"x":"'),
                        line.replace('"found_bytes":0', '"found_bytes":-1'),
                        line.replace('"began"', '"begin"'),
                        line.replace('"name":"default"', '"name":"\u20ac"')):
            self.assertNotEqual(line, hostile)
            value = 0xcbf29ce484222325
            for byte in hostile.encode():
                value = (value ^ byte) * 0x100000001b3 % (1 << 64)
            self.state.write_text(f"{head.rsplit(', ', 1)[0]}, 0x{value:016x}\n{hostile}")
            self.refused("is damaged", *self.go_on)
        self.state.write_bytes(good)
        unfinished = self.output.with_name("rows.unfinished")
        rows = unfinished.read_bytes()
        unfinished.write_bytes(rows[:10])
        self.refused("does not have", *self.go_on)
        unfinished.write_bytes(rows)
        self.assertEqual(1, run(*self.go_on).code)

    def test_what_does_not_go_together(self):
        self.state.write_text("")
        for arguments in ([*self.large, "--apply=here"],
                          [self.large[0], "--remote=a:1", "--remote=b:1", "--insecure"]):
            self.refused("--resume is for", ROCKSIEVE, "diff", *arguments, f"--resume={self.state}")
        unfinished = self.output.with_name("rows.unfinished")
        unfinished.write_text("mine")
        self.assert_refused(run(*self.go_on), "is there already")
        self.assertEqual("mine", unfinished.read_text())


if __name__ == "__main__":
    unittest.main()
