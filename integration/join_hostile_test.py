#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that keep no rules, against `rocksieve serve` with little memory and with more: it survives
each, never has more than its limit in memory, logs the sessions, and serves honest clients exactly,
right after and in the meantime. And `rocksieve join` against servers that keep none: it ends by itself
with a clear error, or is right; it never has more than its limit in memory, writes no row that is not
proven, and leaves nothing on the disk.

The cases are those of integration/hostile: build/bin/hostile_client --list, hostile_server --list."""

import concurrent.futures
import os
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from environment import BUILD, SEED, THOROUGH, run_ok
from join_support import MIB, JoinSandbox, memory_high_water_mark

SLACK = 64 * MIB  # beside --memory: the program itself, and what it reads of the database
LIMITS = (8, 64, 256)  # of memory

HOSTILE_CLIENT = BUILD / "bin" / "hostile_client"

# Clients' cases: what takes little, whatever the limit, is played at the smallest one only, each of the
# others at that too; `./run test --thorough` plays them at all, `./run stress --serve` all that there are.
CLIENTS_AT_ALL_LIMITS = [
    "bitmap-of-400000", "bitmap-of-1500000", "sketch-of-30000", "sketch-of-100000",
    "opened-300-times-symbols-of-many", "symbols-in-60MB", "requests-for-symbols",
    "most-keys-symbols", "pruned-to-more-list-of-15MB", "pruned-to-more-list-of-63MB",
    "eight-times-symbols-in-2MB", "eight-times-half-message-2MB", "eight-times-most-keys-symbols",
    "eight-times-builtin-filters-forever", "eight-different-at-once",
]
CLIENTS_AT_THE_SMALLEST = [
    "says-nothing", "frames-of-nothing", "huge-names", "largest-hello", "many-round-trips",
    "wrong-order", "forged-log-lines", "symbols-in-2MB", "filter-of-a-terabyte", "garbage-forever",
    "leaves-while-it-sorts", "leaves-at-once",
    "opened-again-too-large", "opened-again-withdrawn", "opened-again-unreconciled",
    "opened-again-next-attempt", "opened-again-counting", "opened-range-of-absent-rows",
    "opened-300-times-keys", "many-ranges", "equal-ranges-forever-unread", "huge-keys-30MB",
    "largest-counts", "rows-never-read", "list-of-2MB", "long-key", "estimators",
    "bitmap-of-30000", "bitmap-of-100000", "bitmap-of-4294967295", "bitmaps-in-nine-sessions",
    "sketch-of-400000", "sketch-of-1500000", "sketch-of-4294967295", "requests-for-parity",
    "sketches-of-all-fields", "most-keys-auto", "most-keys-sketch", "pruned-to-more-list-of-2MB",
    "pruned-ranges-opened-often", "mutated", "byte-by-byte", "empty-pieces-forever",
    "odd-parts", "keys-bomb", "huge-keys-1MB", "opened-300-times-sketch", "equal-ranges-forever",
    "hello-forever", "filters-unasked-forever", "filters-of-huge-fences",
    # Eight of each, or each with seven others, play above.
    *(("builtin-filters-forever", "half-message-2MB", "half-message-60MB", "opened-300-times-list")
      if THOROUGH else ()),
]
# A server in a program of its own has the same limits: what it once kept of other sides' filters.
EMBEDDED = ["small-filters-forever", "eight-times-builtin-filters-forever", "symbols-in-60MB",
            "eight-different-at-once"]
# Honest clients join in the meantime as well.
MEANWHILE = ["says-nothing"]
SECONDS = 1  # that a case may take
MOST_ENDING_SECONDS = 10  # of a server that was told to end
PATIENCE_SECONDS = 60  # on a loaded machine


class HostileClientsTest(JoinSandbox):
    KEYS = 20000  # of honest joins, which come after each case

    def serving(self, memory):
        return self.serve("right", f"--memory={memory}", "--silence=2", "--sessions=8",
                          "--sessions-per-peer=8")

    def embedded(self, memory):
        database = self.class_directory / f"right-{memory}"  # a database has one owner
        if not database.exists():
            shutil.copytree(self.class_directory / "right", database)
        return self.started([BUILD / "bin" / "embedded_server", database, str(memory)],
                            stdin=subprocess.PIPE)

    def join_exactly(self, server, when):
        """What is wrong with the result of an honest join."""
        joined = self.join([server.port], "difference", "--attempts=20")
        if joined.code != 0:
            return [f"an honest join {when} failed: {joined.err}"]
        return [] if self.rows(joined) == self.expected("difference") else [f"wrong rows {when}"]

    def play(self, server, memory, case):
        """What went wrong."""
        with open(f"/proc/{server.pid}/clear_refs", "w", encoding="ascii") as clear:
            clear.write("5")  # the peak of memory is about what follows
        before = len(server.log)
        client = subprocess.Popen(
            [HOSTILE_CLIENT, f"127.0.0.1:{server.port}", case, str(SECONDS), str(SEED)],
            stdout=subprocess.PIPE, text=True, errors="backslashreplace")
        wrong = self.join_exactly(server, "meanwhile") if case in MEANWHILE else []
        out, _ = client.communicate(timeout=PATIENCE_SECONDS)
        sessions = int(out.rsplit("sessions: ", 1)[1])
        deadline = time.monotonic() + PATIENCE_SECONDS  # what the client left behind is worked on
        while len(server.log) < before + sessions and time.monotonic() < deadline:
            if server.poll() is not None:
                return [f"the server ended with {server.returncode}"]
            time.sleep(0.01)
        if len(server.log) < before + sessions:
            wrong.append(f"{sessions} sessions, but {len(server.log) - before} lines in the log")
        wrong += self.join_exactly(server, "afterwards")
        if server.poll() is not None:
            return [f"the server ended with {server.returncode}"]
        peak = memory_high_water_mark(server.pid)
        if peak > memory * MIB + SLACK:
            wrong.append(f"{peak / MIB:.0f} MiB")
        # Nobody else writes lines of it, or colours.
        return wrong + [f"forged line in the log: {line!r}" for line in server.log[before:]
                        if not line.startswith("rocksieve serve: ") or not line[:-1].isprintable()]

    def play_all(self, start, memory, cases):
        server = start(memory)
        wrong = []
        for case in cases:
            if server.poll() is not None:
                server = start(memory)
            wrong += [f"{case}, --memory={memory}: {what}"
                      for what in self.play(server, memory, case)]
        begin = time.monotonic()
        if server.stdin is None:
            server.terminate()
        else:
            server.stdin.close()
        server.wait(timeout=PATIENCE_SECONDS)
        if time.monotonic() - begin > MOST_ENDING_SECONDS:
            wrong.append(f"--memory={memory}: the end took {time.monotonic() - begin:.1f} s")
        return wrong

    def play_on_servers(self, start, plan):
        """Pairs of a limit and cases, a server for each, at once: a case takes its second however
        few there are, and all of the processor in it."""
        with concurrent.futures.ThreadPoolExecutor(len(plan)) as pool:
            wrong = list(pool.map(lambda part: self.play_all(start, *part), plan))
        self.assertEqual([], [line for lines in wrong for line in lines])

    def test_each_case(self):
        known = set(run_ok(HOSTILE_CLIENT, "--list").out.split())
        self.assertLessEqual(set(CLIENTS_AT_ALL_LIMITS + CLIENTS_AT_THE_SMALLEST), known)
        limits = LIMITS if THOROUGH else LIMITS[:1]
        self.play_on_servers(self.serving,
                             [(8, CLIENTS_AT_THE_SMALLEST[part::3]) for part in range(3)] +
                             [(limit, CLIENTS_AT_ALL_LIMITS) for limit in limits])

    def test_an_embedded_server_keeps_to_its_memory(self):
        self.play_on_servers(self.embedded,
                             [(memory, EMBEDDED) for memory in ((8, 64) if THOROUGH else (8,))])


HOSTILE_SERVER = BUILD / "bin" / "hostile_server"
MOST_DISK = 64 * MIB
# The strategy with which a server's case that begins so is met, if not `auto`.
STRATEGIES = {"bitmap": "sketch", "sketch": "sketch", "most-keys": "sketch", "symbols": "symbols",
              "requests": "symbols", "list": "list", "keys-bomb": "keys", "filters": "sst-filters",
              "small-filters": "sst-filters", "builtin": "sst-filters"}
# At the first limit and, by turns, another; the others at the first one.
SERVERS_AT_ALL_LIMITS = [
    "bitmap-of-400000", "bitmap-of-1500000", "sketch-of-30000", "sketch-of-100000", "symbols-of-many",
    "requests-for-symbols", "list-of-60MB", "most-keys", "falling-keys", "filters-of-huge-fences",
    "half-message-60MB", "row-of-200MB"]
# Met by intersections, too, or by them alone.
TWICE = ["row-of-200MB", "honest", "small-rows-forever", "rows-of-one-key-forever",
         "row-of-a-terabyte", "rows-of-nothing-forever", "two-rows-of-one-key",
         "absent-rows-forever"]
INTERSECTED = ["new-keys-forever"]
# Cases that `join --explain=plan` meets, too.
PLANNED = ["honest", "silent", "half-message-60MB", "garbage-forever", "hello-forever",
           "facts-forever", "falling-keys", "largest-answer", "largest-facts", "most-keys",
           "forged-failure", "empty-pieces-forever"]
SILENT = ["silent", "half-message-2MB", "half-message-60MB", "byte-by-byte"]
RANDOM_SESSIONS = 16
AT_ONCE = 16  # joins; most wait some seconds for a server that never closes, or floods them meanwhile
MOST_SECONDS = 30  # what never ends by itself would take 60


class HostileServersTest(JoinSandbox):
    KEYS = 10000

    def setUp(self):
        super().setUp()
        server = self.spawn(HOSTILE_SERVER, self.class_directory / "right.rows",
                            stdout=subprocess.PIPE, text=True)
        self.port = int(server.stdout.readline().rsplit(":", 1)[1])

    @staticmethod
    def room_in(directory):
        total = 0
        for entry in os.scandir(directory):
            try:
                total += entry.stat().st_blocks * 512
            except FileNotFoundError:  # it is gone by now
                pass
        return total

    def run_watched(self, command, directory):
        """Exit code, what was said, and the most memory and room in the directory."""
        # Not through `run`: what it took is what wait4 says.
        with tempfile.TemporaryFile("w+", errors="backslashreplace") as errors:
            client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors,
                                      env={**os.environ, "TMPDIR": directory})
            alarm = threading.Timer(90, client.kill)
            alarm.start()
            disk = pid = 0
            while pid == 0:
                disk = max(disk, self.room_in(directory))
                time.sleep(0.05)
                pid, status, usage = os.wait4(client.pid, os.WNOHANG)
            alarm.cancel()
            client.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            return client.returncode, errors.read(), usage.ru_maxrss * 1024, disk

    def play(self, memory, case, strategy, operation):
        """What went wrong, and the seconds that it took."""
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            output = os.path.join(directory, "rows")
            goal = ["count", "--explain=plan"] if operation == "plan" else [
                operation, f"--output={output}", f"--strategy={strategy}"]
            begin = time.monotonic()
            code, said, most_memory, most_disk = self.run_watched(self.join_command(
                [self.port], *goal, f"--remote-column-family={case}", "--attempts=1",
                f"--silence={1 if case in SILENT else 10}", "--timeout=60", f"--memory={memory}"),
                directory)
            seconds = time.monotonic() - begin
            rows = None
            if os.path.exists(output):
                with open(output, encoding="utf-8") as lines:
                    rows = [line.rstrip("\n").split("\t") for line in lines]
            left = [name for name in os.listdir(directory) if name != "rows"]
        wrong = {"forged lines or no clear error": False, "wrong rows": False}
        if code == 0:
            wrong["wrong rows"] = operation != "plan" and rows != self.expected(operation)
        else:
            lines = said.splitlines()
            wrong["forged lines or no clear error"] = (
                len(lines) != 1 or not lines[0].isprintable() or
                not lines[0].startswith(f"rocksieve join: 127.0.0.1:{self.port}: "))
            wrong["an output in spite of the error"] = rows is not None
            wrong["exit code"] = code not in (1, 2)
        wrong["memory"] = most_memory > memory * MIB + SLACK
        wrong["disk"] = most_disk > MOST_DISK
        wrong["left behind"] = left
        wrong = [what for what, is_so in wrong.items() if is_so]
        return wrong and [*wrong, code, said, most_memory, most_disk, left], seconds

    def plan(self):
        cases = run_ok(HOSTILE_SERVER, "--list").out.split()
        cases.remove("mutated")
        self.assertLessEqual(set(SERVERS_AT_ALL_LIMITS + PLANNED), set(cases))
        for number, case in enumerate(cases):
            strategy = next((strategy for begin, strategy in STRATEGIES.items()
                             if case.startswith(begin)), "auto")
            others = LIMITS[1:] if THOROUGH else [LIMITS[1 + number % 2]]
            for memory in [LIMITS[0], *(others if case in SERVERS_AT_ALL_LIMITS else [])]:
                if case not in INTERSECTED:
                    yield memory, case, strategy, "difference"
                if case in TWICE + INTERSECTED:
                    yield memory, case, strategy, "intersection"
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


if __name__ == "__main__":
    unittest.main()
