#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rocksieve serve` makes of what it was started with: sockets, descriptors, credentials; systemd,
with its messages and the units that are installed; and the container."""

import fcntl
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

from environment import ROOT, run, run_ok
from join_support import ROCKSIEVE, ServiceSandbox


class EnvironmentSandbox(ServiceSandbox):
    KEYS = 1000

    def begin(self, *flags, before=(), **process):
        """A server that may not have come so far as to listen."""
        return self.spawn(
            *before, ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}", *flags,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **process)

    def activated(self, listeners, *flags):
        """With these as descriptors 3, 4, ..., as systemd passes them."""
        def pass_them():
            copies = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 50) for one in listeners]
            for i, copy in enumerate(copies):
                os.dup2(copy, 3 + i)
                os.close(copy)

        listen = f'LISTEN_PID=$$ LISTEN_FDS={len(listeners)} exec "$0" "$@"'
        return self.begin(*flags, before=["sh", "-c", listen], preexec_fn=pass_them,
                          close_fds=False)

    def assert_fails(self, server, *words):
        error = server.communicate(timeout=20)[1]
        self.assertEqual(server.returncode, 2, error)
        for text in words:
            self.assertIn(text, error)

    def assert_ends(self, server):
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)


class DescriptorsTest(EnvironmentSandbox):
    FLAGS = ("--insecure", "--listen=127.0.0.1:0")

    def test_standard_streams_may_be_ready_descriptors(self):
        """Their numbers must not become those of connections, which would get what is logged."""
        for stream in (1, 2):
            server = self.begin(*self.FLAGS, f"--ready-fd={stream}")
            ready = [server.stdout, server.stderr][stream - 1].read()  # until it is closed
            self.assertRegex(ready, r"(?m)^ready 127\.0\.0\.1:[1-9][0-9]*$")
            self.assertEqual(os.readlink(f"/proc/{server.pid}/fd/{stream}"), "/dev/null")
            port = int(ready.rsplit(":", 1)[1])
            self.assertEqual(self.join([port], "count").code, 0)
            self.assert_ends(server)

    def test_nobody_waits_for_a_server_that_failed(self):
        reading, writing = os.pipe()
        server = self.begin("--insecure", f"--ready-fd={writing}", pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as ready:
            self.assertEqual(ready.read(), "")
        self.assert_fails(server, "--listen is missing")
        self.assert_fails(self.begin(*self.FLAGS, "--ready-fd=77"), "descriptor 77 is not open")

    def test_whoever_waits_for_readiness_may_be_gone(self):
        reading, writing = os.pipe()
        os.close(reading)
        server = self.begin(*self.FLAGS, f"--ready-fd={writing}", pass_fds=[writing])
        os.close(writing)
        self.assert_fails(server, "whoever waits there is gone")

    def test_whoever_reads_the_log_may_be_gone(self):
        server = self.begin(*self.FLAGS)
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        server.stdout.close()
        server.stderr.close()
        for _ in range(2):
            self.assertEqual(self.join([port], "count").code, 0)
        self.assert_ends(server)

    def test_a_client_without_a_name_in_the_log(self):
        address = f"unix:{self.directory / 'socket'}"
        server = self.begin(f"--listen={address}", "--insecure")
        self.assertIn("listening on unix:", server.stdout.readline())
        run_ok(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}", f"--remote={address}",
               "--op=count", "--insecure")
        server.terminate()
        self.assertRegex(server.communicate(timeout=20)[1], r"Z unix: count: done, ")

    def test_credentials_of_the_service_manager(self):
        """systemd gives the service's user an access list, whose mask stat() shows as the group's."""
        given = self.directory / "given"
        shutil.copytree(self.certs / "server", given)
        flags = (f"--certs={given}", "--listen=127.0.0.1:0")
        for mode, directory, taken in ((0o440, given, True), (0o400, given, True),
                                       (0o444, given, False), (0o460, given, False),
                                       (0o440, self.directory / "give", False), (0o440, "", False)):
            (given / "server.key").chmod(mode)
            server = self.begin(*flags, env={**os.environ, "CREDENTIALS_DIRECTORY": str(directory)})
            with self.subTest(mode=f"{mode:o}", directory=directory):
                if taken:
                    self.assertIn("listening on", server.stdout.readline())
                else:
                    self.assert_fails(server, "chmod 600")

    def watch_health(self, port):
        """A call that has no end of its own, by the bytes of HTTP/2."""
        def frame(kind, flags, stream, payload=b""):
            return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) +
                    stream.to_bytes(4, "big") + payload)

        def text(value):
            return bytes([len(value)]) + value.encode()

        headers = b"".join(b"\0" + text(name) + text(value) for name, value in (
            (":method", "POST"), (":scheme", "https"), (":path", "/grpc.health.v1.Health/Watch"),
            (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers")))
        client = self.certs / "client"
        context = ssl.create_default_context(cafile=client / "ca.crt")
        context.load_cert_chain(client / "client.crt", client / "client.key")
        context.set_alpn_protocols(["h2"])
        connection = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=8),
                                         server_hostname="localhost")
        self.addCleanup(connection.close)
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) +
                           frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5)))
        while b"grpc" not in connection.recv(4096):  # the answer has begun
            pass
        return connection

    def test_connections_of_former_certificates_end(self):
        """They keep threads and memory."""
        server = self.secured("--session-time=2")
        connection = self.watch_health(server.port)
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "were read again")
        while connection.recv(4096):
            pass


class SystemdTest(EnvironmentSandbox):
    def test_it_is_told_everything(self):
        path = str(self.directory / "notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(20)

        def message():
            return dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())

        server = self.secured(env={**os.environ, "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
        ready = message()
        self.assertEqual(ready["READY"], "1")
        self.assertIn(f"127.0.0.1:{server.port}", ready["STATUS"])
        for _ in range(3):
            self.assertEqual(message(), {"WATCHDOG": "1"})
        server.send_signal(signal.SIGHUP)
        messages = [message()]
        while "READY" not in messages[-1]:
            messages.append(message())
        for key in ("RELOADING", "MONOTONIC_USEC"):
            self.assertTrue(any(key in said for said in messages))
        server.terminate()
        while "STOPPING" not in message():
            pass
        self.assertEqual(server.wait(timeout=20), 0)

    def test_it_passes_a_socket(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            server = self.activated([listener], f"--certs={self.certs}")
            self.assertEqual(server.stdout.readline(), f"listening on 127.0.0.1:{port}\n")
            self.assertEqual(self.count(port).code, 0)
            server.send_signal(signal.SIGHUP)
            while "were read again" not in server.stderr.readline():
                self.assertIsNone(server.poll())
            self.assertEqual(self.count(port).code, 0)
            self.assert_ends(server)
            # What systemd still listens on waits for the next server.
            with socket.create_connection(("127.0.0.1", port)):
                pass

    def test_sockets_that_do_not_fit(self):
        with socket.create_server(("127.0.0.1", 0)) as local, \
             socket.create_server(("0.0.0.0", 0)) as everywhere, \
             socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            reached = f"0.0.0.0:{everywhere.getsockname()[1]} can be reached from other machines"
            for listeners, flags, says in (([local], ["--listen=127.0.0.1:0"], "leave out --listen"),
                                           ([datagrams], [], "ListenStream="),
                                           ([everywhere], [], reached),
                                           ([everywhere, local], [], reached),
                                           ([local, everywhere], [], reached)):
                self.assert_fails(self.activated(listeners, "--insecure", *flags), says)

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
        self.assertEqual([line for line in verified.err.splitlines() if "rocksieve" in line], [])

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

    def test_a_service_by_the_page(self):
        """What docs/serve.md has done before systemctl, with other directories and this user."""
        etc = self.directory / "etc"
        page = (ROOT / "docs/serve.md").read_text()
        commands = page.split("\n```\n")[1].split("\nsystemctl")[0]
        for there, here in (("/etc/rocksieve", str(etc)), (" app ", f" {os.getuid()} "),
                            ("/usr/share/rocksieve", shlex.quote(str(ROOT / "tools/share/systemd"))),
                            ("\nrocksieve ", f"\n{shlex.quote(str(ROCKSIEVE))} ")):
            self.assertIn(there, commands)
            commands = commands.replace(there, here)
        run_ok("sh", "-ec", f"umask 022\n{commands}")
        config = etc / "serve.conf"
        text = config.read_text().replace("/etc/rocksieve", str(etc))
        for line in ('db = "/var/lib/app/db"', 'listen = "0.0.0.0:7420"'):
            self.assertIn(line, text)
        text = text.replace("/var/lib/app/db", str(self.class_directory / "right"))
        config.write_text(text.replace("0.0.0.0:7420", "127.0.0.1:0"))
        server = self.started([ROCKSIEVE, "serve", f"--config={config}"])
        self.assertEqual(self.count(server.port, "--server-name=db1.example",
                                    certs=etc / "certs").code, 0)
        for path in (etc, config, etc / "certs", etc / "certs" / "server"):
            self.assertEqual(path.stat().st_mode & 0o004, 0o004, f"{path} is for the service's user")


if __name__ == "__main__":
    unittest.main()
