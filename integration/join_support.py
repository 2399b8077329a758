# SPDX-License-Identifier: Apache-2.0
"""What the tests of joins between processes need: databases of known keys, servers, proxies."""

import json
import os
import random
import subprocess
import threading
import time

from environment import BUILD, SEED, Sandbox, run, run_ok
from relay import Relay

ROCKSIEVE = BUILD / "bin" / "rocksieve"
MIB = 1 << 20


def write_lines(path, lines):
    path.write_bytes(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))
    return path


def comm(flags, left, right):
    """What only one file has, or both have, of sorted lines."""
    return run_ok("comm", flags, left, right).out.splitlines()


def load(database, rows, spec="rocksieve.ribbon:10"):
    """`rows`: lines, or a file of them."""
    if not isinstance(rows, os.PathLike):
        rows = write_lines(database.with_suffix(".rows"), rows)
    run_ok(ROCKSIEVE, "load", f"--db={database}", f"--spec={spec}", f"--input={rows}")
    return database


def memory_high_water_mark(pid):
    """Bytes of memory that the process ever had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def reset_high_water_mark(pid):
    """The next mark is about what follows."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")


class Proxy(Relay):
    """Passes bytes on, and can cut all connections after some of them, or slow them down."""

    def __init__(self, target_port):
        self.cuts = []  # bytes from the server after which each connection ends, by its number
        self.bytes_per_second = None
        self.passed_bytes = 0  # both ways, about
        super().__init__(target_port)

    def pass_on(self, number, source, sink, from_client):
        limit = None if from_client or number >= len(self.cuts) else self.cuts[number]
        passed = 0
        while limit is None or passed < limit:
            data = source.recv(65536)
            if not data:
                return
            if limit is not None:
                data = data[:limit - passed]
            sink.sendall(data)
            passed += len(data)
            self.passed_bytes += len(data)
            if self.bytes_per_second:
                time.sleep(len(data) / self.bytes_per_second)  # a paced link


class JoinSandbox(Sandbox):
    """Two databases, `left` (here) and `right` (there), with keys that some of both have."""

    KEYS = 60000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = random.Random(SEED)
        keys = {f"{cls.random.randrange(10**12):012d}" for _ in range(cls.KEYS)}
        keys |= {f"/usr/share/{i}" for i in range(cls.KEYS // 20)}
        keys = sorted(keys)
        cls.left = [key for key in keys if cls.random.random() < 0.6]
        cls.right = [key for key in keys if cls.random.random() < 0.6]
        cls.files = {}
        for name, some in [("left", cls.left), ("right", cls.right)]:
            cls.load_class_database(name, some)
        cls.both = comm("-12", cls.files["left"], cls.files["right"])
        cls.only_left = comm("-23", cls.files["left"], cls.files["right"])
        cls.only_right = comm("-13", cls.files["left"], cls.files["right"])

    @classmethod
    def load_class_database(cls, name, keys):
        """Each row's value says whose it is."""
        cls.files[name] = write_lines(cls.class_directory / f"{name}.keys", keys)
        load(cls.class_directory / name, [f"{key}\t{name} {key}" for key in keys])

    def certificates(self):
        directory = self.class_directory / "certs"
        if not directory.exists():
            run_ok(ROCKSIEVE, "certs", f"--dir={directory}")
        return directory

    def protection(self, secure):
        return [f"--certs={self.certificates()}"] if secure else ["--insecure"]

    def serve(self, name="right", *flags, port=0, secure=False, **process):
        return self.started([ROCKSIEVE, "serve", f"--db={self.class_directory / name}",
                             f"--listen=127.0.0.1:{port}", *self.protection(secure), *flags],
                            **process)

    def started(self, command, **process):
        """A server, when it listens; with its port, and the lines of its log so far."""
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, errors="backslashreplace", **process)

        def stop():
            if server.poll() is None:
                server.kill()
            server.wait()
            server.reader.join()
            server.stdout.close()
            server.stderr.close()

        line = server.stdout.readline()
        # The pipe must not fill up.
        server.log = []
        server.reader = threading.Thread(target=lambda: server.log.extend(server.stderr))
        server.reader.start()
        self.addCleanup(stop)
        if not line:  # it has ended, and said why
            server.reader.join()
        self.assertIn("listening on 127.0.0.1:", line, f"{line}{''.join(server.log)}")
        server.port = int(line.rsplit(":", 1)[1])
        return server

    def join_command(self, remotes, op, *flags, secure=False, left="left"):
        remote = ",".join(f"127.0.0.1:{port}" for port in remotes)
        return [ROCKSIEVE, "join", f"--db={self.class_directory / left}", f"--remote={remote}",
                f"--op={op}", *self.protection(secure), *flags]

    def join(self, remotes, op, *flags, secure=False, left="left", timeout=100):
        return run(*self.join_command(remotes, op, *flags, secure=secure, left=left),
                   timeout=timeout)

    def rows(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        return [line.split("\t") for line in finished.out.splitlines()]

    def keys(self, finished):
        return [row[0] for row in self.rows(finished)]

    def report(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        return json.loads(finished.out)

    def counts(self, finished):
        report = self.report(finished)
        return tuple(report[f"{which}_keys"] for which in ("matched", "local_only", "remote_only"))

    def proxy(self, server):
        proxy = Proxy(server.port)
        self.addCleanup(proxy.close)
        return proxy
