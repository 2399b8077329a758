# SPDX-License-Identifier: Apache-2.0
"""A secured server of joins as a service, and joins with it."""

import re
import shutil
import subprocess
import time

from environment import run, run_ok
from join_support import ROCKSIEVE, JoinSandbox

SLOW = 15000  # bytes per second


class ServiceSandbox(JoinSandbox):
    KEYS = 20000

    def setUp(self):
        super().setUp()
        self.certs = self.directory / "certs"
        self.new_certificates(self.certs)

    def new_certificates(self, directory, *flags):
        shutil.rmtree(directory, ignore_errors=True)
        run_ok(ROCKSIEVE, "certs", f"--dir={directory}", *flags)
        return directory

    def secured(self, *flags, **process):
        return self.started([ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}",
                             "--listen=127.0.0.1:0", f"--certs={self.certs}", *flags], **process)

    def count(self, port, certs, *flags, attempts=1):
        return run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                   f"--remote=127.0.0.1:{port}", "--op=count", f"--certs={certs}",
                   f"--attempts={attempts}", "--silence=10", *flags)

    def slow_join(self, server, certs, *flags):
        """A session that takes some seconds, once it is under way."""
        proxy = self.proxy(server)
        proxy.bytes_per_second = SLOW
        client = subprocess.Popen(
            [ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
             f"--remote=127.0.0.1:{proxy.port}", "--op=difference", "--strategy=keys",
             "--attempts=1", f"--certs={certs}", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.communicate)
        self.addCleanup(client.kill)
        # Handshakes take a few thousand bytes.
        while proxy.passed_bytes < 20_000 and client.poll() is None:
            time.sleep(0.05)
        self.assertIsNone(client.poll(), "the join was too quick for this test")
        return client

    def assert_in_log(self, server, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, "".join(server.log)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertRegex("".join(server.log), pattern)
