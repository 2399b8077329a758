#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve join` against servers that keep no rules: it ends by itself with a clear error, or is
right; it never has more than its limit in memory, writes no row that is not proven, and leaves
nothing on the disk.

The cases are those of integration/hostile: build/bin/hostile_server --list."""

import concurrent.futures
import os
import subprocess
import tempfile
import threading
import time
import unittest

from environment import BUILD, SEED, THOROUGH, run_ok
from join_support import MIB, JoinSandbox

HOSTILE_SERVER = BUILD / "bin" / "hostile_server"
SLACK = 64 * MIB  # beside --memory: the program itself, and what it reads of the database
MOST_DISK = 64 * MIB
LIMITS = (8, 64, 256)  # with `./run test --thorough` all; else the first and, by turns, another

ROWS = ["difference", "intersection"]
# Case: the strategy and the operations with which it is met.
AT_ALL_LIMITS = {
    "bitmap-of-400000": ("sketch", ["difference"]),
    "bitmap-of-1500000": ("sketch", ["difference"]),
    "sketch-of-30000": ("sketch", ["difference"]),
    "sketch-of-100000": ("sketch", ["difference"]),
    "symbols-of-many": ("symbols", ["difference"]),
    "requests-for-symbols": ("symbols", ["difference"]),
    "list-of-60MB": ("list", ["difference"]),
    "most-keys": ("sketch", ["difference"]),
    "falling-keys": ("auto", ["difference"]),
    "filters-of-huge-fences": ("sst-filters", ["difference"]),
    "half-message-60MB": ("auto", ["difference"]),
    "row-of-200MB": ("auto", ROWS),
}
AT_THE_SMALLEST = {
    "honest": ("auto", ROWS),
    "silent": ("auto", ["difference"]),
    "byte-by-byte": ("auto", ["difference"]),
    "half-message-2MB": ("auto", ["difference"]),
    "empty-pieces-forever": ("auto", ["difference"]),
    "garbage-forever": ("auto", ["difference"]),
    "hello-forever": ("auto", ["difference"]),
    "facts-forever": ("auto", ["difference"]),
    "small-filters-forever": ("sst-filters", ["difference"]),
    "builtin-filters-forever": ("sst-filters", ["difference"]),
    "bitmap-of-30000": ("sketch", ["difference"]),
    "bitmap-of-100000": ("sketch", ["difference"]),
    "bitmap-of-4294967295": ("sketch", ["difference"]),
    "sketch-of-400000": ("sketch", ["difference"]),
    "sketch-of-1500000": ("sketch", ["difference"]),
    "sketch-of-4294967295": ("sketch", ["difference"]),
    "keys-bomb": ("keys", ["difference"]),
    "largest-answer": ("auto", ["difference"]),
    "largest-facts": ("auto", ["difference"]),
    "no-keys-in-a-range": ("auto", ["difference"]),
    "small-rows-forever": ("auto", ROWS),
    "rows-of-one-key-forever": ("auto", ROWS),
    "row-of-a-terabyte": ("auto", ROWS),
    "rows-that-unpack-to-much": ("auto", ["difference"]),
    "new-keys-forever": ("auto", ["intersection"]),
    "rows-of-nothing-forever": ("auto", ROWS),
    "forged-failure": ("auto", ["difference"]),
    "two-rows-of-one-key": ("auto", ROWS),
    "absent-rows-forever": ("auto", ROWS),
    "unasked-rows": ("auto", ["difference"]),
}
# Cases that `join --explain=plan` meets, too.
PLANNED = ["honest", "silent", "half-message-60MB", "garbage-forever", "hello-forever",
           "facts-forever", "falling-keys", "largest-answer", "largest-facts", "most-keys",
           "forged-failure", "empty-pieces-forever"]
SILENT = ["silent", "half-message-2MB", "half-message-60MB", "byte-by-byte"]
RANDOM_SESSIONS = 16
AT_ONCE = 16  # joins; most wait some seconds for a server that never closes, or floods them meanwhile
MOST_SECONDS = 30  # what never ends by itself would take 60


class DiskWatch:
    """The most that was in a directory."""

    def __init__(self, directory):
        self.directory, self.most, self.over = directory, 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def _watch(self):
        while not self.over.wait(0.05):
            sizes = [os.stat(path).st_blocks * 512 for path in self._files()]
            self.most = max(self.most, sum(sizes))

    def _files(self):
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            if os.path.exists(path):
                yield path

    def end(self):
        self.over.set()
        self.thread.join()
        return self.most


class JoinHostileServersTest(JoinSandbox):
    KEYS = 10000

    def setUp(self):
        super().setUp()
        self.server = subprocess.Popen(
            [HOSTILE_SERVER, self.class_directory / "right.rows"], stdout=subprocess.PIPE,
            text=True)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.addCleanup(self.server.stdout.close)
        self.port = int(self.server.stdout.readline().rsplit(":", 1)[1])
        self.expected = {
            "difference": [f"{key}\tright {key}" for key in self.only_right],
            "intersection": [f"{key}\tright {key}" for key in self.both],
        }

    def play(self, memory, case, strategy, operation):
        """What went wrong, and the seconds that it took."""
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            watch = DiskWatch(directory)
            output = os.path.join(directory, "rows")
            goal = ["count", "--explain=plan"] if operation == "plan" else [
                operation, f"--output={output}", f"--strategy={strategy}"]
            command = self.join_command(
                [self.port], *goal, f"--remote-column-family={case}", "--attempts=1",
                f"--silence={1 if case in SILENT else 10}", "--timeout=60", f"--memory={memory}")
            begin = time.monotonic()
            # Not through `run`: what it took is what wait4 says.
            with tempfile.TemporaryFile("w+", errors="backslashreplace") as errors:
                client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors,
                                          env={**os.environ, "TMPDIR": directory})
                alarm = threading.Timer(90, client.kill)
                alarm.start()
                _, status, usage = os.wait4(client.pid, 0)
                alarm.cancel()
                client.returncode = code = os.waitstatus_to_exitcode(status)
                errors.seek(0)
                said = errors.read()
            seconds = time.monotonic() - begin
            disk = watch.end()
            rows = None
            if os.path.exists(output):
                with open(output, encoding="utf-8") as lines:
                    rows = lines.read().splitlines()
            left = [name for name in os.listdir(directory) if name != "rows"]
        return self.judge(code, said, rows, operation) + [
            what for what, is_so in [
                (f"{usage.ru_maxrss / 1024:.0f} MiB",
                 usage.ru_maxrss * 1024 > memory * MIB + SLACK),
                (f"{disk / MIB:.0f} MiB on the disk", disk > MOST_DISK),
                (f"left behind: {left}", left)] if is_so], seconds

    def judge(self, code, said, rows, operation):
        if code == 0:
            return [] if operation == "plan" or rows == self.expected[operation] else ["wrong rows"]
        wrong = [] if rows is None else ["an output in spite of the error"]
        if code not in (1, 2):
            wrong.append(f"exit code {code}")
        lines = said.splitlines()
        if not lines or not lines[-1].startswith(f"rocksieve join: 127.0.0.1:{self.port}: "):
            wrong.append(f"no clear error: {said!r}")
        if not all(line.isprintable() for line in lines) or len(lines) > 1:
            wrong.append(f"forged lines: {said!r}")
        return wrong

    def plan(self):
        cases = {**AT_ALL_LIMITS, **AT_THE_SMALLEST}.items()
        for number, (case, (strategy, operations)) in enumerate(cases):
            others = LIMITS[1:] if THOROUGH else [LIMITS[1 + number % 2]]
            for memory in [LIMITS[0], *(others if case in AT_ALL_LIMITS else [])]:
                for operation in operations:
                    yield memory, case, strategy, operation
        for case in PLANNED:
            yield LIMITS[0], case, "auto", "plan"
        for seed in range(SEED, SEED + RANDOM_SESSIONS):
            strategy = ["auto", "keys", "list", "ribbon", "ping-pong", "sketch", "symbols",
                        "sst-filters"][seed % 8]
            yield LIMITS[0], f"mutated/{seed}", strategy, ["difference", "intersection"][seed % 2]

    def test_each_case(self):
        plan = list(self.plan())
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            played = dict(zip(plan, pool.map(lambda step: self.play(*step), plan)))
        self.assertEqual({}, {step: wrong for step, (wrong, _) in played.items() if wrong})
        # What floods beside it may have slowed a join: the slow ones play again, alone.
        for step in [step for step in plan if played[step][1] > MOST_SECONDS]:
            with self.subTest(step=step):
                wrong, seconds = self.play(*step)
                self.assertEqual([], wrong)
                self.assertLess(seconds, MOST_SECONDS)

    def test_all_cases_are_known(self):
        known = run_ok(HOSTILE_SERVER, "--list").out.split()
        self.assertLessEqual(set(AT_ALL_LIMITS) | set(AT_THE_SMALLEST) | set(PLANNED), set(known))


if __name__ == "__main__":
    unittest.main()
