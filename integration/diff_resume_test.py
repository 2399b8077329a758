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

from diff_support import DiffSandbox
from environment import BUILD, SEED, THOROUGH, run, run_ok
from join_support import ROCKSIEVE, load, write_lines

KILL_AT_CALL = BUILD / "lib" / "libkill_at_call.so"
PARTS = re.compile(r"Compared in (\d+) parts")


class ResumeSandbox(DiffSandbox):
    ROWS = 50000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = random.Random(SEED)
        cls.large = {}
        differs = {cls.random.randrange(cls.ROWS): cls.random.choice("<>|") for _ in range(300)}
        for side, lacks in (("here", ">"), ("there", "<")):
            rows = []
            for i in range(cls.ROWS):
                what = differs.get(i)
                if what == lacks:
                    continue
                value = random.Random(i).randbytes(60).hex()
                rows.append(f"k{i:06}\t{value + side if what == '|' else value}")
            database = cls.large[side] = load(cls.class_directory / f"large {side}", rows)
            few = write_lines(cls.class_directory / f"few {side}",
                              ["a\tsame", f"b\t{side}", f"only {side}\tx"])
            run_ok(ROCKSIEVE, "load", f"--db={database}", "--add", "--column-family=few",
                   "--spec=rocksieve.bloom:10", f"--input={few}")

    def setUp(self):
        super().setUp()
        self.state, self.output = self.directory / "state", self.directory / "rows"

    def sides(self, server):
        if not server:
            return [self.large["here"], self.large["there"]]
        served = self.started([ROCKSIEVE, "serve", f"--db={self.large['there']}",
                               "--listen=127.0.0.1:0", "--insecure", "--column-family=*",
                               "--memory=16"])
        return [self.large["here"], f"--remote=127.0.0.1:{served.port}", "--insecure"]

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
        """Whether it was."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.assertEqual(1, process.wait(seconds))
            return False
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return True

    def wait_until_something_is_proven(self, process):
        while b'"next_key":"k' not in (self.state.read_bytes() if self.state.exists() else b""):
            self.assertIsNone(process.poll())
            time.sleep(0.05)

    def killed_once_something_is_proven(self, command):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            self.wait_until_something_is_proven(process)
            process.kill()

    def table(self, out):
        """Without how it came about."""
        lines = out.splitlines()
        return [line for line in lines if not re.search(r"parts, which|bytes on the wire", line)]

    def assert_nothing_left(self):
        self.assertEqual([], sorted(path.name for path in self.directory.glob("state*")))
        self.assertFalse(self.output.with_name("rows.unfinished").exists())

    def killed_again_and_again(self, server, *flags, limit):
        sides = self.sides(server)
        rows, said = self.left_alone(sides, *flags)
        command = self.command(sides, *flags, f"--limit={limit}")
        self.killed_once_something_is_proven(command)
        for _ in range(3):  # too few to come to the end
            self.assertTrue(self.killed_after(command, self.random.uniform(0.1, 1.2)))
        finished = run(*self.command(sides, *flags), timeout=100)
        self.assertEqual(1, finished.code, finished)
        self.assertEqual(rows, self.output.read_text())
        self.assertEqual(self.table(said), self.table(finished.out))
        self.assertIn("going on with", finished.err)
        self.assertGreater(int(PARTS.search(finished.out)[1]), 1, finished)
        self.assert_nothing_left()


class Resumable(ResumeSandbox):
    def test_two_directories(self):
        self.killed_again_and_again(False, "--format=jsonl", limit="2MB")

    def test_two_directories_as_text(self):
        self.killed_again_and_again(False, limit="2MB")

    def test_with_a_server(self):
        self.killed_again_and_again(True, "--format=jsonl", limit="1MB")

    def test_rows_that_are_looked_at_again(self):
        for server in (False, True):
            with self.subTest(server=server):
                self.output.unlink(missing_ok=True)
                self.killed_again_and_again(server, "--format=jsonl", "--recheck=1", limit="2MB")

    def test_rows_that_are_looked_at_again_without_values(self):
        self.killed_again_and_again(False, "--recheck=1", limit="2MB")

    def test_to_the_standard_output_nothing_is_lost(self):
        sides = [self.large["here"], self.large["there"]]
        rows = run(ROCKSIEVE, "diff", *sides).out
        command = [str(word) for word in (ROCKSIEVE, "diff", *sides, f"--resume={self.state}")]
        first = subprocess.Popen([*command, "--limit=2MB"], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        self.wait_until_something_is_proven(first)
        first.kill()
        given = first.communicate()[0].splitlines()
        last = run(*command)
        self.assertIn("going on with", last.err)
        self.assertEqual(set(rows.splitlines()), set(given) | set(last.out.splitlines()))

    def test_a_summary_and_its_parts(self):
        sides = [self.large["here"], self.large["there"]]
        flags = [*sides, f"--resume={self.state}", "--summary", "--json"]
        expected = json.loads(run(ROCKSIEVE, "diff", *sides, "--summary", "--json").out)
        self.killed_once_something_is_proven([str(word) for word in (
            ROCKSIEVE, "diff", *flags, "--limit=2MB")])
        document = json.loads(run(ROCKSIEVE, "diff", *flags).out)
        parts = document.pop("parts")
        self.assertEqual(["", "default"], [parts[0]["next_key"], parts[0]["column_family"]])
        self.assertEqual(2, len(parts))
        for family in document["column_families"] + expected["column_families"]:
            del family["seconds"]
        self.assertEqual(expected, document)

    def test_an_interrupt(self):
        sides = [self.large["here"], self.large["there"]]
        rows, _ = self.left_alone(sides)
        with subprocess.Popen(self.command(sides, "--limit=2MB"), stderr=subprocess.PIPE,
                              text=True) as process:
            self.wait_until_something_is_proven(process)
            process.send_signal(signal.SIGINT)
            process.wait(20)
        self.assertTrue(self.state.exists())
        self.assertEqual(1, run(*self.command(sides)).code)
        self.assertEqual(rows, self.output.read_text())


class EachCall(ResumeSandbox):
    ROWS = 15000  # three comparisons for each call

    def killed_at(self, call, sides, flags, rows, said):
        """Whether there was such a call; and then, gone on with, it finds what it found alone."""
        self.output.unlink(missing_ok=True)
        first = run(*self.command(sides, *flags), preload=[KILL_AT_CALL], timeout=100,
                    variables={"KILL_AT_CALL": str(call)})
        if first.code != -signal.SIGKILL:
            self.assertEqual(1, first.code, first)
            return False
        # And once more on the way.
        run(*self.command(sides, *flags), preload=[KILL_AT_CALL], timeout=100,
            variables={"KILL_AT_CALL": str(self.random.randrange(1, 12))})
        last = run(*self.command(sides, *flags), timeout=100)
        self.assertEqual(1, last.code, last)
        self.assertEqual(rows, self.output.read_text())
        self.assertEqual(self.table(said), self.table(last.out))
        self.assert_nothing_left()
        return True

    def test_killed_at_each_call_that_changes_files(self):
        """At every fifth call, and at all with `./run test --thorough`: at full speed, and where it is
        slower and often saves what it has."""
        sides = [self.large["here"], self.large["there"]]
        step = 1 if THOROUGH else 5
        for flags in (["--format=tsv"], ["--format=tsv", "--recheck=0.1", "--limit=8MB"]):
            rows, said = self.left_alone(sides, *flags)
            for call in range(1, 1000, step):
                with self.subTest(flags=flags, call=call):
                    if not self.killed_at(call, sides, flags, rows, said):
                        break
            self.assertGreater(call, 10)


class Refusals(ResumeSandbox):
    def refused(self, words, *command):
        before = self.state.read_bytes()
        finished = run(*command)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        self.assertIn(words, finished.err)
        self.assertEqual(before, self.state.read_bytes())

    def begun(self):
        """The command that goes on."""
        command = self.command([self.large["here"], self.large["there"]])
        self.killed_once_something_is_proven([*command, "--limit=1MB"])
        return command

    def test_another_comparison(self):
        command = self.begun()
        for other in (self.command([self.large["there"], self.large["here"]]),
                      [*command, "--format=tsv"], [*command, "--recheck=1"],
                      [*command, "--column-family=few"],
                      [*command[:-1], f"--output={self.directory / 'elsewhere'}"],
                      [*command[:-1], "--summary"]):
            self.refused("is of another comparison", *other)
        self.assertEqual(1, run(*command).code)

    def test_what_is_written_by_somebody_else(self):
        command = self.begun()
        good = self.state.read_bytes()
        text = good.decode()
        head, line = text.split("\n", 1)
        for damaged in (good[:-1], good[:100], good[:30], good.replace(b"default", b"defauld"),
                        good.replace(b'"equal_rows":', b'"equal_rows":1')):
            self.state.write_bytes(damaged)
            self.refused("left as it is", *command)
        self.state.write_bytes(good.replace(b"version 1", b"version 2"))
        self.refused("another version", *command)
        self.state.write_text("my diary\n")
        self.refused("not what --resume writes", *command)
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
            self.refused("is damaged", *command)
        self.state.write_bytes(good)
        unfinished = self.output.with_name("rows.unfinished")
        rows = unfinished.read_bytes()
        unfinished.write_bytes(rows[:10])
        self.refused("does not have", *command)
        unfinished.write_bytes(rows)
        self.assertEqual(1, run(*command).code)

    def test_two_at_once(self):
        command = self.begun()
        with subprocess.Popen([*command, "--limit=1MB"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as first:
            time.sleep(0.7)
            finished = run(*command)
            self.assertEqual(2, finished.code)
            self.assertIn("another process", finished.err)
            first.kill()
        self.assertEqual(1, run(*command).code)

    def test_what_does_not_go_together(self):
        self.state.write_text("")
        sides = [self.large["here"], self.large["there"]]
        self.refused("--resume is for", *self.command(sides, "--apply=here")[:-2], "--apply=here")
        self.refused("--resume is for", ROCKSIEVE, "diff", sides[0], "--remote=a:1", "--remote=b:1",
                     "--insecure", f"--resume={self.state}")
        self.output.with_name("rows.unfinished").write_text("mine")
        finished = run(*self.command(sides))
        self.assertEqual(2, finished.code)
        self.assertIn("is there already", finished.err)
        self.assertEqual("mine", self.output.with_name("rows.unfinished").read_text())


if __name__ == "__main__":
    unittest.main()
