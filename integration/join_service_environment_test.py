#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rocksieve serve` makes of what it was started with: sockets, descriptors, credentials."""

import fcntl
import os
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

from environment import ROOT, run_ok
from join_service_support import ServiceSandbox
from join_support import ROCKSIEVE


class EnvironmentSandbox(ServiceSandbox):
    def begin(self, *flags, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **process):
        """A server that may not have come so far as to listen."""
        server = subprocess.Popen(
            [ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}", *flags], text=True,
            stdout=stdout, stderr=stderr, **process)

        def stop():
            server.kill()
            server.wait()
            for stream in (server.stdout, server.stderr):
                if stream is not None:
                    stream.close()

        self.addCleanup(stop)
        return server

    def failed(self, server):
        """Its complaint."""
        error = server.communicate(timeout=20)[1]
        self.assertEqual(server.returncode, 2, error)
        return error


class SocketsTest(EnvironmentSandbox):
    def activated(self, listeners, *flags):
        """With these as descriptors 3, 4, ..., as systemd passes them."""
        def pass_them():
            copies = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 50) for one in listeners]
            for i, copy in enumerate(copies):
                os.dup2(copy, 3 + i)
                os.close(copy)

        command = ["sh", "-c", f'LISTEN_PID=$$ LISTEN_FDS={len(listeners)} exec "$0" "$@"', ROCKSIEVE,
                   "serve", f"--db={self.class_directory / 'right'}", *flags]
        return subprocess.run(command, preexec_fn=pass_them, close_fds=False, text=True, timeout=20,
                              stderr=subprocess.PIPE, check=False)

    def test_without_tls_none_of_them_may_be_reached_from_elsewhere(self):
        with socket.create_server(("127.0.0.1", 0)) as local, \
             socket.create_server(("0.0.0.0", 0)) as everywhere:
            address = f"0.0.0.0:{everywhere.getsockname()[1]}"
            for listeners in ([everywhere], [everywhere, local], [local, everywhere]):
                refused = self.activated(listeners, "--insecure")
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn(f"{address} can be reached from other machines", refused.stderr)


class DescriptorsTest(EnvironmentSandbox):
    FLAGS = ("--insecure", "--listen=127.0.0.1:0")

    def test_standard_streams_may_be_ready_descriptors(self):
        """Their numbers must not become those of connections, which would get what is logged."""
        for stream in (1, 2):
            server = self.begin(*self.FLAGS, f"--ready-fd={stream}", stderr=subprocess.PIPE)
            ready = [server.stdout, server.stderr][stream - 1].read()  # until it is closed
            self.assertRegex(ready, r"(?m)^ready 127\.0\.0\.1:[1-9][0-9]*$")
            self.assertEqual(os.readlink(f"/proc/{server.pid}/fd/{stream}"), "/dev/null")
            port = int(ready.rsplit(":", 1)[1])
            self.assertEqual(self.join([port], "count").code, 0)
            server.terminate()
            self.assertEqual(server.wait(timeout=20), 0)

    def test_whoever_waits_for_readiness_may_be_gone(self):
        reading, writing = os.pipe()
        os.close(reading)
        server = self.begin(*self.FLAGS, f"--ready-fd={writing}", pass_fds=[writing])
        os.close(writing)
        self.assertIn("whoever waits there is gone", self.failed(server))

    def test_whoever_reads_the_log_may_be_gone(self):
        server = self.begin(*self.FLAGS)
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        server.stdout.close()
        server.stderr.close()
        for _ in range(2):
            self.assertEqual(self.join([port], "count").code, 0)
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)


class CredentialsTest(EnvironmentSandbox):
    def test_a_client_without_a_name_in_the_log(self):
        address = f"unix:{self.directory / 'socket'}"
        server = self.begin(f"--listen={address}", "--insecure")
        self.assertIn("listening on unix:", server.stdout.readline())
        run_ok(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}", f"--remote={address}",
               "--op=count", "--insecure")
        server.terminate()
        self.assertRegex(server.communicate(timeout=20)[1], r"Z unix: count: done, ")

    def test_those_of_the_service_manager(self):
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
                    self.assertIn("chmod 600", self.failed(server))


class PageTest(EnvironmentSandbox):
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
        self.assertEqual(self.count(server.port, etc / "certs", "--server-name=db1.example").code, 0)
        for path in (etc, config, etc / "certs", etc / "certs" / "server"):
            self.assertEqual(path.stat().st_mode & 0o004, 0o004, f"{path} is for the service's user")


class FormerConnectionsTest(EnvironmentSandbox):
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

    def test_they_end(self):
        """Of the certificates before: they keep threads and memory."""
        server = self.secured("--session-time=2")
        connection = self.watch_health(server.port)
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "were read again")
        while connection.recv(4096):
            pass


if __name__ == "__main__":
    unittest.main()
