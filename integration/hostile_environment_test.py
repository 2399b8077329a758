# SPDX-License-Identifier: Apache-2.0
"""Every command where its environment gives it less than it wants: no memory, no file descriptors,
no room, no permission, nobody who listens. It must say so and end with an exit code that --help
documents; no signal, no core, and nothing half-written."""

import os
import resource
import signal
import subprocess
import threading
import time
import unittest

from environment import BUILD, COMMAND, Sandbox, preloadable, run, run_ok, wait_for
from join_support import JoinSandbox, StepRelay, load, write_lines


def limit(kind, value):
    """As `ulimit`, for the new process."""
    return lambda: resource.setrlimit(kind, (value, value))


class Commands(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = write_lines(cls.class_directory / "rows", [f"key{i:06}\tvalue" for i in range(3000)])
        # A demonstration of more keys takes seconds.
        cls.keys = write_lines(cls.class_directory / "keys", [f"key{i:06}" for i in range(300)])
        cls.database = load(cls.class_directory / "db", cls.rows)
        [cls.table] = cls.database.glob("*.sst")
        cls.many = write_lines(cls.class_directory / "many", map(str, range(100_000)))
        cls.filter = cls.class_directory / "filter"
        run_ok(COMMAND, "filter", "build", "--spec=rocksieve.bloom:10", "-o", cls.filter,
               f"--input={cls.rows}")

    def looking(self):
        """Commands that write nothing but what they print."""
        return {"explain": ["explain", f"--db={self.database}"],
                "doctor": ["doctor", f"--db={self.database}"],
                "whatif": ["whatif", f"--db={self.database}"],
                "inspect": ["inspect", self.table],
                "distinct": ["distinct", f"--input={self.rows}"],
                "filter": ["filter", "query", self.filter, f"--input={self.rows}"],
                "exporter": ["exporter", f"--db={self.database}", "--once"],
                "completion": ["completion", "bash"],
                "help": ["--help"],
                "demo": ["demo", f"--keys={self.keys}"]}

    def join(self):
        """Has nothing to say without a server."""
        return ["join", f"--db={self.database}", f"--remote=unix:{self.directory / 'none.socket'}",
                "--insecure", "--op=count", "--attempts=1"]

    def writing(self, directory):
        """Commands that make something, and what they make."""
        return {name: (words, directory / made) for name, made, words in (
            ("load", "new", ["load", f"--db={directory}/new", "--spec=rocksieve.ribbon:10",
                             f"--input={self.rows}"]),
            ("demo", "demo", ["demo", f"--keys={self.keys}", f"--db-dir={directory}/demo"]),
            ("whatif", "plot.svg", ["whatif", f"--db={self.database}", f"--plot={directory}/plot.svg"]),
            ("report", "report.html", ["report", f"--db={self.database}",
                                       f"--output={directory}/report.html"]),
            ("filter", "filter", ["filter", "build", "--spec=rocksieve.bloom:10",
                                  f"--output={directory}/filter", f"--input={self.many}"]),
            ("certs", "certs", ["certs", f"--dir={directory}/certs"]))}

    def reaches_main(self, arguments, **settings):
        """Not so where an initializer of a library, such as librocksdb, runs out of memory."""
        return "transferring control" in run(COMMAND, *arguments, variables={"LD_DEBUG": "files"},
                                             **settings).err

    def run_hostile(self, arguments, **settings):
        temporary = self.directory / "tmp"
        temporary.mkdir(exist_ok=True)
        finished = run(COMMAND, *arguments, variables={"TMPDIR": str(temporary)}, **settings)
        if "while loading shared libraries" in finished.err or (
                finished.code == -signal.SIGABRT and not self.reaches_main(arguments, **settings)):
            return finished  # nothing of the command has run
        self.assertIn(finished.code, (0, 1, 2, -signal.SIGPIPE), finished)
        self.assertNotIn("terminate called", finished.err)
        if finished.code == 2:
            self.assertNotEqual("", finished.err)
        self.assertEqual([], list(temporary.iterdir()), f"left behind by {finished}")
        return finished

    def test_little_memory_and_few_file_descriptors(self):
        for kind, values in ((resource.RLIMIT_AS, (150_000_000, 80_000_000, 65_000_000, 50_000_000)),
                             (resource.RLIMIT_NOFILE, (32, 8))):
            for value in values:
                for name, arguments in {**self.looking(), "join": self.join()}.items():
                    with self.subTest(command=name, value=value):
                        finished = self.run_hostile(arguments, before=limit(kind, value))
                        if value == 150_000_000 and name != "join":
                            self.assertNotEqual(2, finished.code, finished)

    def test_memory_that_runs_out_in_a_write(self):
        """RocksDB, out of whose write an exception came, waits without end where it is closed."""
        keys = write_lines(self.directory / "keys", [f"key{i:06}" for i in range(40_000)])
        rows = write_lines(self.directory / "rows",
                           [f"key{i:06}\t{'v' * 100}" for i in range(40_000)])
        for kib in range(74_000, 94_000, 4000):
            for arguments in (["demo", f"--keys={keys}"],
                              ["load", f"--db={self.directory}/{kib}", f"--input={rows}",
                               "--spec=rocksieve.ribbon:10"]):
                with self.subTest(command=arguments[0], kib=kib):
                    self.run_hostile(arguments, before=limit(resource.RLIMIT_AS, kib * 1024))

    def test_nobody_listens(self):
        def broken_pipe():
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, 1)

        closed, full = lambda: os.close(1), lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        for name, arguments in {**self.looking(),
                                "load": self.writing(self.directory)["load"][0]}.items():
            for stdout in (closed, full, broken_pipe) if name != "load" else (closed,):
                with self.subTest(command=name, stdout=stdout):
                    finished = self.run_hostile(arguments, before=stdout)
                    if stdout == broken_pipe:  # ends it as other programs
                        self.assertIn(finished.code, (-signal.SIGPIPE, 2), finished)
                        continue
                    self.assertEqual(2, finished.code, finished)
                    self.assertIn("cannot write to the standard output", finished.err)

    def test_nobody_writes(self):
        for arguments in (["distinct"], ["filter", "query", self.filter]):
            finished = self.run_hostile(arguments, before=lambda: os.close(0))
            self.assertEqual(2, finished.code, finished)

    def test_what_is_printed_goes_into_no_file_of_a_database(self):
        [load_new, made] = self.writing(self.directory)["load"]
        run(COMMAND, *load_new, before=lambda: os.closerange(0, 3))
        for file in made.iterdir():
            self.assertNotIn(b"bytes of filters", file.read_bytes(), file)
            self.assertNotIn(b"rocksieve load:", file.read_bytes(), file)
        self.assertIn("3,000 keys", run_ok(COMMAND, "explain", f"--db={made}").out)

    def test_files_that_may_not_grow(self):
        """As on a full disk."""
        for size in (0, 500, 20_000):  # the second: enough for a key without its certificate
            directory = self.directory / str(size)
            directory.mkdir()
            for name, (arguments, made) in self.writing(directory).items():
                if name in ("whatif", "certs") and size > 1000:
                    continue  # what they write fits
                with self.subTest(command=name, bytes=size):
                    finished = self.run_hostile(arguments, before=limit(resource.RLIMIT_FSIZE, size))
                    self.assertEqual(2, finished.code, finished)
                    self.assertRegex(finished.err, "too large|more room")
                    if name in ("whatif", "report", "filter", "certs"):
                        self.assertFalse(made.exists(), finished)
                    if name == "load" and made.exists():
                        # Whole, though not all of it.
                        self.assertRegex(finished.err, "--add|more room")
                        run_ok(COMMAND, "explain", f"--db={made}")

    def test_a_directory_for_a_database_that_cannot_be_made(self):
        [load_new, made] = self.writing(self.directory)["load"]
        made.mkdir(mode=0o700)
        finished = self.run_hostile(load_new, before=limit(resource.RLIMIT_NOFILE, 8))
        self.assertIn("Too many open files", finished.err)
        self.assertEqual((0o40700, []), (made.stat().st_mode, list(made.iterdir())))

    def test_directories_that_are_not_to_be_written(self):
        closed = self.directory / "closed"
        closed.mkdir(mode=0o555)
        bound = []
        if os.geteuid() == 0:  # root, without the power to overrule permissions
            bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner",
                     "--inh-caps=-all"]
        for name, (arguments, made) in self.writing(closed).items():
            with self.subTest(command=name):
                finished = run(*bound, COMMAND, *arguments)
                self.assertEqual(2, finished.code, finished)
                self.assertIn("Permission denied", finished.err)
                self.assertFalse(made.exists())


class Joins(JoinSandbox):
    """Peers that are stopped and neither answer nor end; where the result goes, and the time of day."""

    KEYS = 20000

    def test_a_stopped_server_is_given_up(self):
        server = self.serve()
        server.send_signal(signal.SIGSTOP)
        self.addCleanup(server.send_signal, signal.SIGCONT)
        began = time.monotonic()
        finished = self.join([server.port], "count", "--silence=2", "--attempts=1", timeout=60)
        self.assertEqual(2, finished.code, finished)
        self.assertIn("within 2 s", finished.err)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_stopped_client_gives_its_place_back(self):
        server = self.serve("right", "--silence=2", "--sessions=1")
        has_session = threading.Event()

        def slowly(_, step):
            if step == "facts":  # of the first range
                has_session.set()
            time.sleep(0.2)  # a slow link, so that the join lasts

        relay = self.relay(server, StepRelay, slowly)
        client = self.spawn(*self.join_command([relay.port], "symmetric", "--range-keys=50"),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(has_session.wait(60))
        busy = self.join([server.port], "count", "--attempts=1")
        self.assertEqual(2, busy.code, busy)
        self.assertIn("sessions: try again", busy.err)
        client.send_signal(signal.SIGSTOP)
        wait_for(lambda: self.join([server.port], "count", "--attempts=1").code == 0, 40)

    def test_a_result_that_there_is_no_room_for(self):
        server = self.serve()
        for op in ("intersection", "difference", "symmetric"):
            with self.subTest(op=op):
                finished = run(*self.join_command([server.port], op, f"--output={self.directory}/rows"),
                               before=limit(resource.RLIMIT_FSIZE, 20_000))
                self.assertEqual(2, finished.code, finished)
                self.assertRegex(finished.err, "too large|more room")
                self.assertEqual([], list(self.directory.iterdir()))

    def test_a_clock_that_jumps(self):
        jumping = BUILD / "lib" / "libjumping_clock.so"
        self.assertTrue(jumping.exists(), "build the target jumping_clock")
        day = run_ok("date", "+%D", preload=(jumping,)).out
        wait_for(lambda: run_ok("date", "+%D", preload=(jumping,)).out != day, 60)  # it does
        server = self.serve(env=dict(os.environ, LD_PRELOAD=preloadable(jumping)))
        relay = self.relay(server)
        relay.bytes_per_second = 30_000  # for some seconds
        began = time.monotonic()
        finished = run(*self.join_command([relay.port], "symmetric", "--timeout=60"),
                       preload=(jumping,), timeout=90)
        rows = {(side, key) for side, key, *_ in self.rows(finished)}
        self.assertTrue(rows == {("local", key) for key in self.only_left} |
                        {("remote", key) for key in self.only_right}, finished.err)
        self.assertGreater(time.monotonic() - began, 1.5)  # all three times
        self.assertNotIn("again", finished.err)
        # Not faster: gRPC's thread for callbacks sleeps until 100 ms from now by the clock of the day,
        # and for a day if that jumps back between its two looks.
        for _ in range(10):
            finished = run(*self.join_command([server.port], "count", "--timeout=60",
                                              "--attempts=1"),
                           preload=(jumping,), variables={"JUMP_MICROSECONDS": "20000"})
            self.assertEqual(0, finished.code, finished)
        few = write_lines(self.directory / "few", self.left[:2000])
        for arguments in (["explain", f"--db={self.class_directory / 'left'}"],
                          ["doctor", f"--db={self.class_directory / 'left'}"],
                          ["demo", f"--keys={few}"]):
            with self.subTest(command=arguments[0]):
                finished = run(COMMAND, *arguments, preload=(jumping,))
                self.assertIn(finished.code, (0, 1), finished)


if __name__ == "__main__":
    unittest.main(verbosity=2)
