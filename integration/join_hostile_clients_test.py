#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that keep no rules, against `rocksieve serve` with little memory and with more: it survives
each, never has more than its limit in memory, logs the sessions, and serves honest clients exactly,
right after and in the meantime.

The cases are those of integration/hostile: build/bin/hostile_client --list."""

import concurrent.futures
import shutil
import subprocess
import time
import unittest

from environment import BUILD, SEED, THOROUGH, run_ok
from join_support import MIB, JoinSandbox, memory_high_water_mark, reset_high_water_mark

HOSTILE_CLIENT = BUILD / "bin" / "hostile_client"
SLACK = 64 * MIB  # beside --memory: the program itself, and what it reads of the database

# Cases by the limits at which they are played: what takes little, whatever the limit, is played at
# the smallest one only, half of it in each run, and each of the others at that and at one more; the
# seed chooses. `./run test --thorough` plays them at all, `./run stress --serve` all that there are.
AT_ALL_LIMITS = [
    "bitmap-of-400000", "bitmap-of-1500000", "sketch-of-30000", "sketch-of-100000",
    "opened-300-times-symbols-of-many", "symbols-in-60MB", "requests-for-symbols",
    "most-keys-symbols", "pruned-to-more-list-of-15MB", "pruned-to-more-list-of-63MB",
    "eight-times-symbols-in-2MB", "eight-times-half-message-2MB", "eight-times-most-keys-symbols",
    "eight-times-builtin-filters-forever", "eight-different-at-once",
]
AT_THE_SMALLEST = [
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
    "silent-reflection-streams", "silent-health-streams", "silent-streams-of-no-method",
]
# Honest clients join in the meantime as well.
MEANWHILE = ["says-nothing", "silent-reflection-streams", "silent-health-streams"]
SECONDS = 1  # that a case may take
MOST_ENDING_SECONDS = 10  # of a server that was told to end
PATIENCE_SECONDS = 60  # on a loaded machine


# A server in a program of its own has the same limits: what it once kept of other sides' filters.
EMBEDDED = ["small-filters-forever", "eight-times-builtin-filters-forever", "symbols-in-60MB",
            "eight-different-at-once"]


class Plays(JoinSandbox):
    KEYS = 20000  # of honest joins, which come after each case

    def join_exactly(self, server, when):
        """What is wrong with the result of an honest join."""
        joined = self.join([server.port], "difference", "--attempts=20")
        expected = [f"{key}\tright {key}" for key in self.only_right]
        if joined.code != 0:
            return [f"an honest join {when} failed: {joined.err}"]
        return [] if joined.out.splitlines() == expected else [f"wrong rows {when}"]

    def play(self, server, memory, case):
        """What went wrong."""
        reset_high_water_mark(server.pid)
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
        for line in server.log[before:]:
            if not line.startswith("rocksieve serve: ") or not line[:-1].isprintable():
                wrong.append(f"forged line in the log: {line!r}")
        return wrong

    def stop(self, server):
        server.terminate()

    def play_all(self, memory, cases):
        server = self.start(memory)
        wrong = []
        for case in cases:
            if server.poll() is not None:
                server = self.start(memory)
            wrong += [f"{case}, --memory={memory}: {what}"
                      for what in self.play(server, memory, case)]
        begin = time.monotonic()
        self.stop(server)
        server.wait(timeout=PATIENCE_SECONDS)
        if time.monotonic() - begin > MOST_ENDING_SECONDS:
            wrong.append(f"--memory={memory}: SIGTERM took {time.monotonic() - begin:.1f} s")
        return wrong

    def play_on_servers(self, plan):
        """Pairs of a limit and cases, a server for each, at once: a case takes its second however
        few there are, and all of the processor in it."""
        with concurrent.futures.ThreadPoolExecutor(len(plan)) as pool:
            wrong = list(pool.map(lambda part: self.play_all(*part), plan))
        self.assertEqual([], [line for lines in wrong for line in lines])


class JoinHostileClientsTest(Plays):
    def start(self, memory):
        return self.serve("right", f"--memory={memory}", "--silence=2", "--sessions=8",
                          "--sessions-per-peer=8")

    def test_each_case(self):
        limits = (8, 64, 256) if THOROUGH else (8,)
        self.play_on_servers([(8, AT_THE_SMALLEST[part::3]) for part in range(3)] +
                             [(limit, AT_ALL_LIMITS) for limit in limits])

    def test_all_cases_are_known(self):
        known = run_ok(HOSTILE_CLIENT, "--list").out.split()
        self.assertEqual(sorted(set(known)), sorted(known))
        self.assertLessEqual(set(AT_ALL_LIMITS + AT_THE_SMALLEST), set(known))


class EmbeddedServerTest(Plays):
    def start(self, memory):
        database = self.class_directory / f"right-{memory}"  # a database has one owner
        if not database.exists():
            shutil.copytree(self.class_directory / "right", database)
        return self.started([BUILD / "bin" / "embedded_server", database, str(memory)],
                            stdin=subprocess.PIPE)

    def stop(self, server):
        server.stdin.close()

    def test_keeps_to_its_memory(self):
        self.play_on_servers([(memory, EMBEDDED) for memory in ((8, 64) if THOROUGH else (8,))])


if __name__ == "__main__":
    unittest.main()
