# SPDX-License-Identifier: Apache-2.0
"""What the tests of joins and diffs between processes need: databases of known keys, servers, and
relays between two sides."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import threading
import time

from environment import BUILD, SEED, Sandbox, run, run_ok

ROCKSIEVE = BUILD / "bin" / "rocksieve"
MIB = 1 << 20


def write_lines(path, lines):
    path.write_bytes(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))
    return path


def load(database, rows, spec="rocksieve.ribbon:10", *flags):
    """`rows`: lines, or a file of them."""
    if not isinstance(rows, os.PathLike):
        rows = write_lines(database.with_suffix(".rows"), rows)
    run_ok(ROCKSIEVE, "load", f"--db={database}", f"--spec={spec}", f"--input={rows}", *flags)
    return database


def ldb(database, *words, **process):
    return run_ok("ldb", f"--db={database}", "--try_load_options", *words, **process)


def damage(database, position, count, byte=b"\0"):
    """Overwrites bytes of the largest table file; `position` is a part of its size, or a byte."""
    table = max(database.glob("*.sst"), key=lambda path: path.stat().st_size)
    with open(table, "r+b") as file:
        file.seek(int(position * table.stat().st_size) if position < 1 else position)
        file.write(byte * count)
    return table


def memory_high_water_mark(pid):
    """Bytes of memory that the process ever had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


class Relay:
    """Takes connections on `port` and makes one to the server for each. It can slow them down, and cut
    them after some bytes; who derives from it does something else to the bytes, in `pass_on`."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.refusing = False  # no new connections
        self.connections = 0
        self.cuts = []  # bytes from the server after which each connection ends, by its number
        self.bytes_per_second = None
        self.passed_bytes = 0  # both ways, about
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def pass_on(self, number, source, sink, from_client):
        """All of one direction of a connection, numbered from 0; until it ends, or an OSError."""
        left = float("inf") if from_client or number >= len(self.cuts) else self.cuts[number]
        while left > 0 and (data := source.recv(min(65536, left))):
            sink.sendall(data)
            left -= len(data)
            self.passed_bytes += len(data)
            if self.bytes_per_second:
                time.sleep(len(data) / self.bytes_per_second)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.refusing:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                client.close()  # as if nobody were there
                continue
            server.settimeout(None)
            number = self.connections
            self.connections += 1
            for source, sink, from_client in (client, server, True), (server, client, False):
                threading.Thread(target=self._direction, args=(number, source, sink, from_client),
                                 daemon=True).start()

    def _direction(self, number, source, sink, from_client):
        try:
            self.pass_on(number, source, sink, from_client)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()  # the other thread closes the other one

    def close(self):
        self.listener.close()


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAMES = {1: "start", 2: "started"}  # of the transport, but for pieces of messages
MESSAGES = {1: "hello", 2: "hello answer", 3: "open", 4: "facts", 5: "step", 6: "fetch", 7: "rows",
            8: "goodbye", 9: "failure", 10: "filters"}
PARTS = {1: "filter", 2: "list", 3: "keys", 4: "symbols", 5: "sketch", 16: "match bitmap", 17: "sum",
         18: "difference", 19: "more symbols", 20: "empty-cell bitmap", 21: "more parity", 22: "parity",
         23: "deferred keys"}


def varint(data, at):
    """The number and where it ends; None if it is cut off."""
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return None


class Direction:
    """The bytes of one direction of a connection, as docs/transport.md and docs/protocol.md describe
    them: HTTP/2 frames without TLS, in them gRPC messages, in them the frames of the transport, in them
    the messages of the join protocol."""

    def __init__(self, from_client):
        self.raw, self.grpc, self.pieces = bytearray(), bytearray(), bytearray()
        self.preface = from_client
        self.from_client = from_client

    def frames(self, data):
        """Yields whole HTTP/2 frames, each with the names of the steps that it completes."""
        self.raw += data
        if self.preface and len(self.raw) >= len(PREFACE):
            self.preface = False
            yield self._taken(self.raw, 0, len(PREFACE)), []
        while not self.preface and len(self.raw) >= 9:
            size = int.from_bytes(self.raw[:3], "big")
            if len(self.raw) < 9 + size:
                return
            frame = self._taken(self.raw, 0, 9 + size)
            kind, flags = frame[3], frame[4]
            if kind == 0:  # data
                self.grpc += frame[9:]
            steps = list(self._steps())
            if kind == 1 and flags & 1 and not self.from_client:  # headers, and the end
                steps.append("end")
            yield frame, steps

    @staticmethod
    def _taken(buffer, begin, size):
        data = bytes(buffer[begin:begin + size])
        del buffer[:begin + size]
        return data

    def _steps(self):
        while len(self.grpc) >= 5 and len(self.grpc) - 5 >= (
                size := int.from_bytes(self.grpc[1:5], "big")):
            frame = self._taken(self.grpc, 5, size)
            field = frame[0] >> 3 if frame else 0
            if field in FRAMES:
                yield FRAMES[field]
            elif field == 3:
                length, begin = varint(frame, 1)
                self.pieces += frame[begin:begin + length]
                yield from self._messages()

    def _messages(self):
        while (head := varint(self.pieces, 0)) and len(self.pieces) >= sum(head):
            message = self._taken(self.pieces, head[1], head[0])
            name = MESSAGES.get(message[0], "unknown")
            if name != "step":
                yield name
                continue
            end = len(message) - 4
            _, at = varint(message, 1)
            while at < end:
                yield f"step: {PARTS.get(message[at], 'unknown')}"
                length, begin = varint(message, at + 1)
                at = begin + length


class StepRelay(Relay):
    """Calls `on_step(connection number, name)` before the frame that completes a step of the protocol
    is passed on. What that returns is done with the frame: None passes it on, "cut" ends the
    connection, "corrupt" changes its last byte; it may take its time."""

    def __init__(self, target_port, on_step=lambda connection, name: None):
        self.on_step = on_step
        self.steps = []  # all that were seen
        self.lock = threading.Lock()
        super().__init__(target_port)

    def pass_on(self, number, source, sink, from_client):
        direction = Direction(from_client)
        while data := source.recv(65536):
            for frame, steps in direction.frames(data):
                todo = None
                for step in steps:
                    with self.lock:
                        self.steps.append(step)
                    todo = todo or self.on_step(number, step)
                if todo == "cut":
                    return
                if todo == "corrupt":
                    frame = frame[:-1] + bytes([frame[-1] ^ 0x10])
                sink.sendall(frame)


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
        cls.both = sorted(set(cls.left) & set(cls.right))
        cls.only_left = sorted(set(cls.left) - set(cls.right))
        cls.only_right = sorted(set(cls.right) - set(cls.left))
        cls.all_counts = (len(cls.both), len(cls.only_left), len(cls.only_right))

    @classmethod
    def load_class_database(cls, name, keys):
        """Each row's value says whose it is."""
        cls.files[name] = write_lines(cls.class_directory / f"{name}.keys", keys)
        load(cls.class_directory / name, [f"{key}\t{name} {key}" for key in keys])

    @classmethod
    def expected(cls, operation):
        """The fields of the rows that a join of `left` and `right` prints."""
        here = [[key, f"left {key}"] for key in cls.only_left]
        there = [[key, f"right {key}"] for key in cls.only_right]
        return {"intersection": [[key, f"right {key}"] for key in cls.both], "difference": there,
                "local-only": here,
                "symmetric": sorted([["local", *row] for row in here] +
                                    [["remote", *row] for row in there], key=lambda row: row[1]),
                }[operation]

    def certificates(self):
        directory = self.class_directory / "certs"
        if not directory.exists():
            run_ok(ROCKSIEVE, "certs", f"--dir={directory}")
        return directory

    def protection(self, secure):
        return [f"--certs={self.certificates()}"] if secure else ["--insecure"]

    def serve(self, name="right", *flags, secure=False, **process):
        return self.started([ROCKSIEVE, "serve", f"--db={self.class_directory / name}",
                             "--listen=127.0.0.1:0", *self.protection(secure), *flags], **process)

    def started(self, command, **process):
        """A server, when it listens; with its port, and the lines of its log so far."""
        server = self.spawn(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="backslashreplace", **process)
        line = server.stdout.readline()
        # The pipe must not fill up.
        server.log = []
        server.reader = threading.Thread(target=lambda: server.log.extend(server.stderr))
        server.reader.start()
        self.addCleanup(server.reader.join)
        self.addCleanup(server.kill)  # first: the reader reads to the server's end
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

    def assert_refused(self, finished, *words, code=2):
        self.assertEqual(finished.code, code, str(finished))
        for text in words:
            self.assertIn(text, finished.err)

    def relay(self, server, kind=Relay, *more):
        relay = kind(server.port, *more)
        self.addCleanup(relay.close)
        return relay

    def assert_in_log(self, server, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, "".join(server.log)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertRegex("".join(server.log), pattern)


class ServiceSandbox(JoinSandbox):
    """Secured servers, with certificates that change, and joins with them."""

    KEYS = 20000

    def setUp(self):
        super().setUp()
        self.certs = self.new_certificates(self.directory / "certs")

    def new_certificates(self, directory, *flags):
        shutil.rmtree(directory, ignore_errors=True)
        run_ok(ROCKSIEVE, "certs", f"--dir={directory}", *flags)
        return directory

    def protection(self, secure):
        return [f"--certs={self.certs}"] if secure else ["--insecure"]

    def secured(self, *flags, **process):
        return self.serve("right", *flags, secure=True, **process)

    def count(self, port, *flags, certs=None, attempts=1):
        return run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}", "--op=count",
                   f"--remote=127.0.0.1:{port}", f"--certs={certs or self.certs}",
                   f"--attempts={attempts}", "--silence=10", *flags)


class DiffSandbox(JoinSandbox):
    """Two databases that are alike, and what makes them different."""

    KEYS = 2000

    def setUp(self):
        super().setUp()
        self.equal_rows = [f"k{i:05}\tvalue {i}" for i in range(self.KEYS)]
        self.here = load(self.directory / "here", self.equal_rows)
        self.there = load(self.directory / "there", self.equal_rows)

    def with_timestamps(self):
        """A database of which no rows can be compared."""
        return load(self.directory / "with timestamps", [], "rocksieve.bloom:10",
                    "--options=comparator=leveldb.BytewiseComparator.u64ts")

    def diff(self, *flags, here=None, there=None):
        return run(ROCKSIEVE, "diff", here or self.here, there or self.there, *flags, timeout=100)

    def remote_diff(self, server, *flags):
        return run(ROCKSIEVE, "diff", self.here, f"--remote=127.0.0.1:{server.port}", "--insecure",
                   *flags)

    def document(self, *flags, code=1, **sides):
        finished = self.diff("--summary", "--json", *flags, **sides)
        self.assertEqual((code, ""), (finished.code, finished.err), finished)
        return json.loads(finished.out)

    def assert_lines(self, finished, lines, code=1):
        self.assertEqual((code, lines), (finished.code, finished.out.splitlines()), finished)
