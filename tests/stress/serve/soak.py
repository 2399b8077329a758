#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of joins under clients of which half are hostile.

Serves one of two databases with `rocksieve serve`. Half of --clients join, again and again, with
operations and strategies at random; each result is held against the truth. The others attack: they
play the cases of integration/hostile, or join through a relay that changes, cuts, repeats and delays
bytes. Each second the server's memory is read. At the end there are tables on the standard output.

Exit code 1 unless the server survived, all honest joins were exact, none of those through the relay
gave a wrong row, the server never had more than --memory and 64 MiB in memory, and, from two minutes
on, its memory in the last quarter of the time is within 5 % of that in the second."""

import argparse
import collections
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))

from environment import BUILD, Finished, text_of  # noqa: E402
from join_support import MIB, ROCKSIEVE, Relay, load, memory_high_water_mark  # noqa: E402

HOSTILE_CLIENT = BUILD / "bin" / "hostile_client"
OPERATIONS = ["intersection", "difference", "local-only", "symmetric"]
STRATEGIES = ["auto", "keys", "list", "bloom", "cuckoo", "ribbon", "ping-pong", "sketch", "symbols",
              "sst-filters"]
SLACK_MIB = 64
JUDGED_SECONDS = 120  # shorter runs say nothing about how memory grows
MOST_GROWTH = 0.05
PLACES = 200  # of the server: honest clients shall find one


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600, help="[3600]")
    parser.add_argument("--clients", type=int, default=8, help="half of them hostile [8]")
    parser.add_argument("--keys", type=int, default=60_000, help="of both sides together [60000]")
    parser.add_argument("--memory", type=int, default=256, help="MiB, of the server [256]")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    return parser.parse_args()


class Data:
    """Two databases, and what joins of the first with the second must give."""

    def __init__(self, directory, keys, rng):
        self.left_path, self.right_path = directory / "left", directory / "right"
        everything = sorted({f"{rng.randrange(10**12):012d}" for _ in range(keys)})
        sides = {}
        for name in ("left", "right"):
            sides[name] = [key for key in everything if rng.random() < 0.6]
            load(directory / name, [f"{key}\t{name} {key}" for key in sides[name]])
        left, right = set(sides["left"]), set(sides["right"])
        here = [f"{key}\tleft {key}" for key in sides["left"] if key not in right]
        there = [f"{key}\tright {key}" for key in sides["right"] if key not in left]
        self.rows = {
            "intersection": [f"{key}\tright {key}" for key in sides["right"] if key in left],
            "difference": there,
            "local-only": here,
            "symmetric": sorted([f"local\t{row}" for row in here] +
                                [f"remote\t{row}" for row in there]),
        }

    def is_exact(self, operation, joined):
        rows = joined.out.splitlines()
        return (sorted(rows) if operation == "symmetric" else rows) == self.rows[operation]


class Mangler(Relay):
    """Passes bytes on, and now and then does something to them."""

    def __init__(self, target_port, seed):
        self.seed = seed
        super().__init__(target_port)

    def pass_on(self, number, source, sink, from_client):
        rng = random.Random(f"{self.seed} {number} {from_client}")
        rarity = rng.choice([3, 10, 40])
        while data := bytearray(source.recv(rng.choice([100, 5000, 65536]))):
            if rng.randrange(rarity) == 0:
                kind = rng.randrange(5)
                at = rng.randrange(len(data))
                if kind == 0:
                    data[at] ^= 1 << rng.randrange(8)
                elif kind == 1:
                    data = data[:at]
                elif kind == 2:
                    data += data[at:]
                elif kind == 3:
                    time.sleep(rng.random())  # a network that is stuck for a moment
                else:
                    return
            sink.sendall(data)


class Soak:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.data = Data(directory, arguments.keys, random.Random(arguments.seed))
        self.lock = threading.Lock()
        self.honest = collections.Counter()
        self.hostile = collections.Counter()
        self.faults = []  # what must not be
        self.rss_mib = []
        cases = subprocess.run([HOSTILE_CLIENT, "--list"], stdout=subprocess.PIPE, check=True,
                               text=True).stdout.split()
        self.cases = cases + ["mutated"] * (len(cases) // 3) + ["relay"] * (len(cases) // 3)
        self.sessions = 0
        self.server = subprocess.Popen(
            [ROCKSIEVE, "serve", f"--db={self.data.right_path}", "--listen=127.0.0.1:0",
             "--insecure", f"--memory={arguments.memory}", "--silence=5", f"--sessions={PLACES}",
             f"--sessions-per-peer={PLACES}", "--keep=1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="backslashreplace")
        self.port = int(self.server.stdout.readline().rsplit(":", 1)[1])
        self.log = threading.Thread(target=self.count_sessions)
        self.log.start()
        self.end = time.monotonic() + arguments.seconds

    def count_sessions(self):
        for line in self.server.stderr:
            self.sessions += 1
            if not line.startswith("rocksieve serve: ") or not line[:-1].isprintable():
                self.fault(f"forged line in the log: {line!r}")

    def goes_on(self):
        return time.monotonic() < self.end and self.server.poll() is None

    def fault(self, what):
        print(f"soak: {what}", file=sys.stderr, flush=True)
        with self.lock:
            self.faults.append(what)

    def join(self, rng, port, *flags):
        operation, strategy = rng.choice(OPERATIONS), rng.choice(STRATEGIES)
        command = [ROCKSIEVE, "join", f"--db={self.data.left_path}", f"--remote=127.0.0.1:{port}",
                   "--insecure", f"--op={operation}", f"--strategy={strategy}",
                   f"--range-keys={rng.choice([1000, 10_000, 1_000_000])}", *flags]
        process = subprocess.run(command, capture_output=True, check=False)
        return operation, Finished(command, process.returncode, text_of(process.stdout),
                                   text_of(process.stderr))

    def be_honest(self, number):
        rng = random.Random(f"{self.arguments.seed} honest {number}")
        while self.goes_on():
            operation, joined = self.join(rng, self.port, "--attempts=20", "--timeout=300")
            if self.server.poll() is not None:
                return
            exact = joined.code == 0 and self.data.is_exact(operation, joined)
            with self.lock:
                self.honest["exact" if exact else "not exact"] += 1
            if not exact:
                self.fault(f"an honest join: {joined}")

    def be_hostile(self, number):
        rng = random.Random(f"{self.arguments.seed} hostile {number}")
        while self.goes_on():
            case, seed = rng.choice(self.cases), rng.randrange(2**31)
            with self.lock:
                self.hostile[case] += 1
            if case == "relay":
                self.join_through_a_relay(rng, seed)
            else:
                subprocess.run([HOSTILE_CLIENT, f"127.0.0.1:{self.port}", case,
                                str(round(rng.uniform(0.5, 3), 1)), str(seed)],
                               stdout=subprocess.DEVNULL, check=False)

    def join_through_a_relay(self, rng, seed):
        relay = Mangler(self.port, seed)
        operation, joined = self.join(rng, relay.port, "--attempts=2", "--timeout=5", "--silence=2")
        relay.close()
        if joined.code == 0 and not self.data.is_exact(operation, joined):
            self.fault(f"a wrong result through a relay (seed {seed}): {joined}")
        if joined.code not in (0, 1, 2):
            self.fault(f"through a relay (seed {seed}): {joined}")

    def watch(self):
        begin = reported = time.monotonic()
        while self.goes_on():
            self.rss_mib.append(self.memory_now())
            if time.monotonic() - reported >= 60:
                reported = time.monotonic()
                print(f"soak: {reported - begin:.0f} s, {sum(self.honest.values())} honest joins, "
                      f"{sum(self.hostile.values())} attacks, {self.rss_mib[-1]:.0f} MiB",
                      file=sys.stderr, flush=True)
            time.sleep(min(1, self.arguments.seconds / 20))

    def memory_now(self):
        with open(f"/proc/{self.server.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * 4096 / MIB

    def run(self):
        honest = self.arguments.clients - self.arguments.clients // 2
        clients = [threading.Thread(target=self.be_honest, args=(i,)) for i in range(honest)]
        clients += [threading.Thread(target=self.be_hostile, args=(i,))
                    for i in range(self.arguments.clients // 2)]
        for client in clients:
            client.start()
        self.watch()
        survived = self.server.poll() is None
        for client in clients:
            client.join()
        if survived and self.server.poll() is None:
            self.judge_peak(memory_high_water_mark(self.server.pid) / MIB)
            self.server.terminate()
            self.server.wait(timeout=60)
        else:
            self.fault(f"the server ended with {self.server.returncode}")
        self.log.join()

    def judge_peak(self, peak):
        self.peak_mib = peak
        most = self.arguments.memory + SLACK_MIB
        if peak > most:
            self.fault(f"the server had {peak:.0f} MiB in memory, where {most} are allowed")

    def quarters(self):
        size = max(1, len(self.rss_mib) // 4)
        return [self.rss_mib[i * size:(i + 1) * size] or [0] for i in range(4)]

    def report(self):
        exact, joins = self.honest["exact"], sum(self.honest.values())
        print(f"honest joins     {joins:8,}, exact {exact:,}\n"
              f"attacks          {sum(self.hostile.values()):8,}\n"
              f"server sessions  {self.sessions:8,}\n\n"
              f"{'attack':44}{'times':>6}")
        for case, times in sorted(self.hostile.items()):
            print(f"{case:44}{times:6,}")
        print(f"\n{'quarter':10}{'mean MiB':>10}{'most MiB':>10}")
        for number, quarter in enumerate(self.quarters(), 1):
            print(f"{number:<10}{statistics.mean(quarter):10.1f}{max(quarter):10.1f}")
        if hasattr(self, "peak_mib"):
            print(f"peak      {self.peak_mib:20.1f}, --memory={self.arguments.memory}")

    def judge(self):
        if self.honest["exact"] == 0:
            self.fault("no honest join was exact")
        second, last = (statistics.mean(self.quarters()[i]) for i in (1, 3))
        growth = last / max(second, 1) - 1
        if self.arguments.seconds >= JUDGED_SECONDS and abs(growth) > MOST_GROWTH:
            self.fault(f"the memory of the last quarter is {growth:+.1%} of the second's")
        return 1 if self.faults else 0


def main():
    arguments = parse_arguments()
    print(f"soak: --seed={arguments.seed}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="rocksieve-soak-") as directory:
        soak = Soak(arguments, pathlib.Path(directory))
        try:
            soak.run()
        finally:
            if soak.server.poll() is None:
                soak.server.kill()
    soak.report()
    verdict = soak.judge()
    print("soak: " + ("all is well" if verdict == 0 else f"{len(soak.faults)} faults"),
          file=sys.stderr)
    sys.exit(verdict)


if __name__ == "__main__":
    main()
