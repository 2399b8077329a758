#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at each step of a join: the server is killed or stopped, the connection is cut, a
message is changed. The result is the exact answer, or an error that names peer, range and remedy.

The steps are those that a proxy saw in joins without faults, for several strategies.
"""

import concurrent.futures
import signal
import subprocess
import threading
import time
import unittest

from environment import text_of
from join_steps import StepProxy
from join_support import JoinSandbox

STRATEGIES = ["auto", "list", "keys", "symbols", "sketch", "ping-pong"]
BEFORE_THE_FIRST_RANGE = ["start", "started", "hello", "hello answer"]
MAYBE_BEFORE_IT = ["filters"]  # those that lie in SST files
ALWAYS = BEFORE_THE_FIRST_RANGE + [
    "open", "facts", "step: list", "step: match bitmap", "step: keys", "step: symbols", "step: sketch",
    "step: filter", "step: sum", "fetch", "rows", "goodbye", "end"]  # others depend on the salt
AT_ONCE = 16  # joins; they mostly wait


class Trap:
    """Does something the first time that a step is reached."""

    def __init__(self, step, attempt):
        self.step, self.attempt = step, attempt
        self.sprung, self.lock = False, threading.Lock()

    def doing(self, act):
        def on_step(_, name):
            with self.lock:
                if name != self.step or self.sprung:
                    return None
                self.sprung = True
            return act()

        return on_step


class JoinFaultsTest(JoinSandbox):
    KEYS = 4000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = sorted([f"remote\t{key}\tright {key}" for key in cls.only_right] +
                              [f"local\t{key}\tleft {key}" for key in cls.only_left])
        cls.known_steps = None

    def step_proxy(self, server, on_step=lambda connection, name: None):
        proxy = StepProxy(server.port, on_step)
        self.addCleanup(proxy.close)
        return proxy

    def joined(self, port, strategy, *flags, timeout=60):
        return self.join([port], "symmetric", f"--strategy={strategy}", "--range-keys=1000", *flags,
                         timeout=timeout)

    def steps(self):
        """Each step with a strategy that has it."""
        if JoinFaultsTest.known_steps is None:
            server = self.serve("right", "--sessions-per-peer=8")
            known = {}
            for strategy in STRATEGIES:
                proxy = self.step_proxy(server)
                finished = self.joined(proxy.port, strategy)
                self.assert_exact(finished)
                for step in proxy.steps:
                    known.setdefault(step, strategy)
            self.assertLessEqual(set(ALWAYS), set(known))
            JoinFaultsTest.known_steps = sorted(known.items())
        return JoinFaultsTest.known_steps

    def assert_exact(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        self.assertEqual(sorted(finished.out.splitlines()), self.expected)

    def assert_clear_error(self, finished, port, step):
        self.assertEqual(finished.code, 2, f"{step}: {finished}")
        self.assertIn(f"127.0.0.1:{port}", finished.err, step)
        if step not in BEFORE_THE_FIRST_RANGE + MAYBE_BEFORE_IT:
            self.assertIn("in the range ", finished.err, step)
        # Whatever is there is right.
        self.assertLessEqual(set(finished.out.splitlines()), set(self.expected), step)

    def at_each_step(self, act):
        """act(trap, step, strategy), for several steps at once, until the trap was sprung."""
        def until_sprung(step, strategy):
            for attempt in range(4):
                trap = Trap(step, attempt)
                finished = act(trap, step, strategy)
                if trap.sprung:
                    return
                if "the time for the whole join is over" not in finished.err:  # a loaded machine
                    self.assert_exact(finished)
            self.assertNotIn(step, ALWAYS)

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(until_sprung, *step) for step in self.steps()]:
                done.result()

    def test_cut_at_each_step(self):
        """The join goes on, over another connection."""
        server = self.serve("right", "--sessions=64", "--sessions-per-peer=64")

        def act(trap, step, strategy):
            proxy = self.step_proxy(server, trap.doing(lambda: "cut"))
            finished = self.joined(proxy.port, strategy)
            self.assert_exact(finished)
            # All is proven by the time of the last ones.
            if trap.sprung and step not in ("goodbye", "end"):
                self.assertGreaterEqual(proxy.connections, 2, step)
            return finished

        self.at_each_step(act)

    def test_a_changed_message_at_each_step(self):
        server = self.serve("right", "--sessions=64", "--sessions-per-peer=64")

        def act(trap, step, strategy):
            proxy = self.step_proxy(server, trap.doing(lambda: "corrupt"))
            finished = self.joined(proxy.port, strategy, "--attempts=2")
            if finished.code == 0:
                self.assert_exact(finished)
            else:
                self.assertEqual(finished.code, 2, f"{step}: {finished}")
                self.assertIn(f"127.0.0.1:{proxy.port}", finished.err, step)
                self.assertLessEqual(set(finished.out.splitlines()), set(self.expected), step)
            return finished

        self.at_each_step(act)

    def test_server_killed_at_each_step(self):
        def act(trap, step, strategy):
            server = self.serve()
            proxy = self.step_proxy(
                server, trap.doing(lambda: (server.kill(), server.wait(), "cut")[2]))
            begin = time.monotonic()
            finished = self.joined(proxy.port, strategy, "--attempts=2")
            if trap.sprung:
                if step in ("goodbye", "end"):  # the result is proven
                    self.assert_exact(finished)
                else:
                    self.assert_clear_error(finished, proxy.port, step)
                self.assertLess(time.monotonic() - begin, 50, step)
            return finished

        self.at_each_step(act)

    def test_server_stopped_at_each_step(self):
        """It is there, and takes what is sent, but says nothing more."""
        def act(trap, step, strategy):
            server = self.serve()
            proxy = self.step_proxy(
                server, trap.doing(lambda: server.send_signal(signal.SIGSTOP)))
            begin = time.monotonic()
            finished = self.joined(proxy.port, strategy, f"--timeout={3 << 2 * trap.attempt}",
                                   timeout=300)
            server.kill()
            if trap.sprung and finished.code != 0:
                self.assert_clear_error(finished, proxy.port, step)
                self.assertLess(time.monotonic() - begin, 250, step)
            elif trap.sprung:  # what was stopped had said all that was needed
                self.assert_exact(finished)
            return finished

        self.at_each_step(act)

    def test_a_stopped_client_takes_no_place_for_long(self):
        server = self.serve("right", "--silence=1", "--sessions=1")
        process = None
        stopped = threading.Event()

        def stop(connection, name):
            if name == "step: filter" and not stopped.is_set():
                process.send_signal(signal.SIGSTOP)
                stopped.set()

        proxy = self.step_proxy(server, stop)
        process = subprocess.Popen(
            self.join_command([proxy.port], "symmetric", "--strategy=ping-pong",
                              "--range-keys=1000"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        self.assertTrue(stopped.wait(30))
        # There is room again, for another one.
        self.assert_exact(self.joined(server.port, "auto", "--attempts=50"))
        self.assertIn("silent", "".join(server.log))
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, text_of(err))
        self.assertEqual(sorted(text_of(out).splitlines()), self.expected)

    def test_cut_network_that_heals(self):
        server = self.serve()

        def cut(connection, name):
            if connection == 0 and name == "facts":
                proxy.refusing = True
                threading.Timer(1.2, setattr, (proxy, "refusing", False)).start()
                return "cut"
            return None

        proxy = self.step_proxy(server, cut)
        self.assert_exact(self.joined(proxy.port, "auto", "--attempts=20"))
        self.assertGreater(proxy.connections, 1)


if __name__ == "__main__":
    unittest.main()
