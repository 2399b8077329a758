# SPDX-License-Identifier: Apache-2.0
"""The examples of two processes with a peer that says what it should not: nobody crashes, and the
error says what was wrong."""

import os
import pathlib
import random
import socket
import struct
import subprocess
import tempfile
import unittest

PROGRAMS = pathlib.Path(os.environ["ROCKSIEVE_BUILD"]).resolve() / "bin" / "examples"
SEED = 7
CLIENTS = {  # what they run, what they are told, and whether they end when the peer is of no use
    "url_blocklist": (["browser", "unix:peer"], "http://a.example/\n", True),
    "mail_allowlist": (["gate", "unix:peer"], "from a\nto b\nreport\n", True),
    "cache_digests": (["unix:own", "unix:peer", "10"], "digest\nx\nreport\n", False),
}


def start(name, *arguments):
    return subprocess.Popen([PROGRAMS / name, *arguments], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def framed(message):
    return struct.pack("<I", len(message)) + message


def connected():
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect("server")
    return client


def ask(connection, message):
    connection.sendall(framed(message))
    length, = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))
    return connection.recv(length, socket.MSG_WAITALL) if length else b""


class HostilePeer(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)

    def test_a_server_outlives_its_clients(self):
        pathlib.Path("list").write_text("a.example/\nb.example/\n")
        server = start("url_blocklist", "server", "list", "unix:server")
        self.addCleanup(server.kill)
        server.stderr.readline()  # "listening"
        with connected() as too_long:
            too_long.sendall(b"\xff\xff\xff\xff")
            self.assertEqual(b"", too_long.recv(1))
        with connected() as cut_off:
            cut_off.sendall(framed(b"filter")[:-2])
        with connected() as client:
            for request in (b"", b"prefix", b"prefix" + bytes(1000), b"no such request"):
                self.assertEqual(b"", ask(client, request))
            self.assertGreater(len(ask(client, b"filter")), 8)
        _, errors = server.communicate(timeout=20)
        self.assertEqual((0, ""), (server.returncode, errors))

    def test_clients_say_what_was_wrong(self):
        print(f"seed {SEED}")
        noise = random.Random(SEED).randbytes(500)
        for reply in (framed(b""), framed(b"no filter"), framed(noise), framed(noise)[:100],
                      b"\xff\xff\xff\xff"):
            for name in CLIENTS:
                with self.subTest(program=name, reply=reply[:16]):
                    self._expect_complaint(name, reply)

    def _expect_complaint(self, name, reply):
        arguments, lines, ends = CLIENTS[name]
        with socket.socket(socket.AF_UNIX) as listener:
            listener.settimeout(20)
            listener.bind("peer")
            self.addCleanup(pathlib.Path("peer").unlink, missing_ok=True)
            listener.listen()
            client = start(name, *arguments)
            client.stdin.write(lines)
            client.stdin.flush()
            with listener.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(reply)
            _, errors = client.communicate(timeout=20)
        pathlib.Path("peer").unlink()
        self.assertEqual(1 if ends else 0, client.returncode, errors)
        self.assertIn("unix:peer", errors)


if __name__ == "__main__":
    unittest.main()
