#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at each step of a join: the server is killed or stopped, the connection is cut, a
message is changed. The result is the exact answer, or an error that names peer, range and remedy.

The steps are those that a relay saw in joins without faults, for several strategies.
"""

import concurrent.futures
import signal
import threading
import time
import unittest

from join_support import JoinSandbox, StepRelay

STRATEGIES = ["auto", "list", "keys", "symbols", "sketch", "ping-pong"]
BEFORE_THE_FIRST_RANGE = ["start", "started", "hello", "hello answer"]
ALWAYS = BEFORE_THE_FIRST_RANGE + [
    "open", "facts", "step: list", "step: match bitmap", "step: keys", "step: symbols", "step: sketch",
    "step: filter", "step: sum", "fetch", "rows", "goodbye", "end"]  # others depend on the salt
AT_THE_END = ["goodbye", "end"]  # all is proven
AT_ONCE = 16  # joins; they mostly wait


class JoinFaultsTest(JoinSandbox):
    KEYS = 4000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lines = sorted("\t".join(row) for row in cls.expected("symmetric"))
        cls.known_steps = None

    def joined(self, port, strategy, *flags, timeout=60):
        return self.join([port], "symmetric", f"--strategy={strategy}", "--range-keys=1000", *flags,
                         timeout=timeout)

    def steps(self):
        """Each step with a strategy that has it."""
        if JoinFaultsTest.known_steps is None:
            server = self.serve("right", "--sessions-per-peer=8")
            known = {}
            for strategy in STRATEGIES:
                relay = self.relay(server, StepRelay)
                self.assert_exact(self.joined(relay.port, strategy))
                for step in relay.steps:
                    known.setdefault(step, strategy)
            self.assertLessEqual(set(ALWAYS), set(known))
            JoinFaultsTest.known_steps = sorted(known.items())
        return JoinFaultsTest.known_steps

    def assert_exact(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        self.assertEqual(sorted(finished.out.splitlines()), self.lines)

    def assert_exact_or_clear(self, finished, port, step, names_range=True):
        if finished.code == 0:
            return self.assert_exact(finished)
        self.assert_refused(finished, f"127.0.0.1:{port}")
        if names_range and step not in BEFORE_THE_FIRST_RANGE + ["filters"]:  # of SST files
            self.assertIn("in the range ", finished.err, step)
        # Whatever is there is right.
        return self.assertLessEqual(set(finished.out.splitlines()), set(self.lines), step)

    def at_each_step(self, fault, judge, flags=lambda attempt: (), own_server=False, timeout=60):
        """`fault(server)` the first time that a step is reached, for several steps at once, until
        each was reached; `judge(step, finished, relay)`."""
        shared = None if own_server else self.serve("right", "--sessions=64", "--sessions-per-peer=64")

        def until_reached(step, strategy):
            for attempt in range(4):
                server = shared or self.serve()
                reached = threading.Lock()  # by whoever has it

                def on_step(_, name, server=server, reached=reached):
                    if name == step and reached.acquire(blocking=False):
                        return fault(server)
                    return None

                relay = self.relay(server, StepRelay, on_step)
                begin = time.monotonic()
                finished = self.joined(relay.port, strategy, *flags(attempt), timeout=timeout)
                if own_server:
                    server.kill()
                if reached.locked():
                    judge(step, finished, relay)
                    self.assertLess(time.monotonic() - begin, timeout - 10, step)
                    return
                if "the time for the whole join is over" not in finished.err:  # a loaded machine
                    self.assert_exact(finished)
            self.assertNotIn(step, ALWAYS)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(until_reached, *step) for step in self.steps()]:
                done.result()

    def test_cut_at_each_step(self):
        """The join goes on, over another connection."""
        def judge(step, finished, relay):
            self.assert_exact(finished)
            if step not in AT_THE_END:
                self.assertGreaterEqual(relay.connections, 2, step)

        self.at_each_step(lambda server: "cut", judge)

    def test_a_changed_message_at_each_step(self):
        self.at_each_step(
            lambda server: "corrupt", flags=lambda attempt: ["--attempts=2"],
            judge=lambda step, finished, relay: self.assert_exact_or_clear(
                finished, relay.port, step, names_range=False))

    def test_server_killed_at_each_step(self):
        def judge(step, finished, relay):
            self.assertEqual(finished.code, 0 if step in AT_THE_END else 2, f"{step}: {finished}")
            self.assert_exact_or_clear(finished, relay.port, step)

        self.at_each_step(lambda server: (server.kill(), server.wait(), "cut")[2], judge,
                          flags=lambda attempt: ["--attempts=2"], own_server=True)

    def test_server_stopped_at_each_step(self):
        """It is there, and takes what is sent, but says nothing more; it may have said all."""
        self.at_each_step(
            lambda server: server.send_signal(signal.SIGSTOP), own_server=True, timeout=300,
            flags=lambda attempt: [f"--timeout={3 << 2 * attempt}"],
            judge=lambda step, finished, relay: self.assert_exact_or_clear(
                finished, relay.port, step))

    def test_cut_network_that_heals(self):
        def cut(connection, name):
            if connection == 0 and name == "facts":
                relay.refusing = True
                threading.Timer(1.2, setattr, (relay, "refusing", False)).start()
                return "cut"
            return None

        relay = self.relay(self.serve(), StepRelay, cut)
        self.assert_exact(self.joined(relay.port, "auto", "--attempts=20"))
        self.assertGreater(relay.connections, 1)

    def test_goes_on_after_cut_upon_cut(self):
        """Nothing is lost, nothing comes twice."""
        relay = self.relay(self.serve())
        relay.cuts = [100] + [self.random.randrange(3000, 9000) for _ in range(4)]
        output = self.directory / "rows"
        report = self.report(self.join([relay.port], "symmetric", f"--output={output}", "--json",
                                       "--attempts=10", "--range-keys=200"))["remotes"][0]
        self.assertEqual(sorted(output.read_text().splitlines()), self.lines)
        self.assertGreater(report["attempts"], 2)
        self.assertGreater(report["resumed"], 0)
        self.assertEqual(report["restarted"], 0)


if __name__ == "__main__":
    unittest.main()
