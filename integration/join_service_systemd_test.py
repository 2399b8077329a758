#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve serve` under systemd: its messages, its sockets, the units that are installed, and the
container."""

import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

from environment import ROOT, run, run_ok
from join_service_support import ServiceSandbox
from join_support import ROCKSIEVE


class Manager:
    """What systemd is to a service: a datagram socket for its messages."""

    def __init__(self, directory):
        self.path = str(directory / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(20)

    def close(self):
        self.socket.close()

    def message(self):
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())


class SystemdTest(ServiceSandbox):
    def test_it_is_told_everything(self):
        manager = Manager(self.directory)
        self.addCleanup(manager.close)
        server = self.secured(env={**os.environ, "NOTIFY_SOCKET": manager.path,
                                   "WATCHDOG_USEC": "400000"})
        ready = manager.message()
        self.assertEqual(ready["READY"], "1")
        self.assertIn(f"127.0.0.1:{server.port}", ready["STATUS"])
        for _ in range(3):
            self.assertEqual(manager.message(), {"WATCHDOG": "1"})
        server.send_signal(signal.SIGHUP)
        messages = [manager.message()]
        while "READY" not in messages[-1]:
            messages.append(manager.message())
        self.assertIn("RELOADING", [key for message in messages for key in message])
        self.assertTrue(any("MONOTONIC_USEC" in message for message in messages))
        server.terminate()
        while "STOPPING" not in manager.message():
            pass
        self.assertEqual(server.wait(timeout=20), 0)

    def activated(self, listener, *flags, variables="LISTEN_PID=$$ LISTEN_FDS=1"):
        """As systemd starts a service with a socket: as descriptor 3."""
        return subprocess.Popen(
            ["sh", "-c", f'{variables} exec "$0" "$@"', ROCKSIEVE, "serve",
             f"--db={self.class_directory / 'right'}", *flags],
            preexec_fn=lambda: os.dup2(listener.fileno(), 3), pass_fds=[3], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_it_passes_a_socket(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            server = self.activated(listener, f"--certs={self.certs}")
            self.addCleanup(server.communicate)
            self.addCleanup(server.kill)
            self.assertEqual(server.stdout.readline(), f"listening on 127.0.0.1:{port}\n")
            for _ in range(2):
                self.assertEqual(self.count(port, self.certs).code, 0)
            server.send_signal(signal.SIGHUP)
            self.assertIn("were read again", server.stderr.readline() + server.stderr.readline() +
                          server.stderr.readline())
            self.assertEqual(self.count(port, self.certs).code, 0)
            server.terminate()
            self.assertEqual(server.wait(timeout=20), 0)
            # What systemd still listens on waits for the next server.
            with socket.create_connection(("127.0.0.1", port)):
                pass

    def test_sockets_that_do_not_fit(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            both = self.activated(listener, "--insecure", "--listen=127.0.0.1:0")
            self.assertIn("leave out --listen", both.communicate(timeout=20)[1])
            self.assertEqual(both.returncode, 2)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            wrong = self.activated(datagrams, "--insecure")
            self.assertIn("ListenStream=", wrong.communicate(timeout=20)[1])
            self.assertEqual(wrong.returncode, 2)
        none = run(ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}", "--insecure")
        self.assertEqual(none.code, 2)
        self.assertIn("--listen is missing", none.err)

    def test_the_unit_is_one(self):
        """What is installed, as systemd reads it; with a program that is there."""
        text = (ROOT / "tools/share/systemd/rocksieve-serve.service.in").read_text()
        unit = self.directory / "rocksieve-serve.service"
        unit.write_text(text.replace("@CMAKE_INSTALL_FULL_BINDIR@/rocksieve", "/bin/true"))
        shutil.copy(ROOT / "tools/share/systemd/rocksieve-serve.socket", self.directory)
        for line in ["Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "MemoryMax="]:
            self.assertIn(line, text)
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        verified = run("systemd-analyze", "verify", "--man=no", unit)
        mine = [line for line in verified.err.splitlines() if "rocksieve" in line]
        self.assertEqual(mine, [])

    def test_the_container_has_what_there_is(self):
        """There is nothing to build it with everywhere: packages, program and flags must exist."""
        text = (ROOT / "tools/share/container/Containerfile").read_text()
        control = (ROOT / "debian/control").read_text()
        packages = set(re.findall(r"/packages/([a-z0-9-]+)_\*\.deb", text))
        self.assertIn("rocksieve-tools", packages)
        for package in packages:
            self.assertIn(f"Package: {package}\n", control)
        flags = re.findall(r'"--([a-z]+)[="]', text[text.index("\nCMD"):])
        self.assertGreaterEqual(len(flags), 4)
        usage = run_ok(ROCKSIEVE, "serve", "--help").out
        for flag in flags:
            self.assertIn(f"--{flag}", usage)


if __name__ == "__main__":
    unittest.main()
