#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors say on which side they are; what will not go away is not tried again, and what breaks is."""

import json
import os
import resource
import shutil
import signal
import socket
import threading
import time
import unittest

from environment import run
from join_support import JoinSandbox, load

ON = "value.json(/id)"


def no_large_files():
    """A disk that is full after 64 KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


class JoinErrorsTest(JoinSandbox):
    KEYS = 1000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # More than the server sorts in memory.
        rows = [f"{i}\t{json.dumps({'id': cls.random.randrange(10**9), 'text': 'x' * 100})}"
                for i in range(20000)]
        load(cls.class_directory / "documents", rows)

    def assert_not_tried_again(self, failed):
        self.assertEqual(failed.code, 2, str(failed))
        self.assertNotIn("trying again", failed.err)
        self.assertNotIn("attempts)", failed.err)

    def assert_theirs(self, failed, server, *words):
        self.assert_not_tried_again(failed)
        for text in [f"127.0.0.1:{server.port}: the other side failed: ", *words]:
            self.assertIn(text, failed.err)

    def test_no_room_for_temporary_files_there(self):
        missing = self.directory / "no such directory"
        server = self.serve("documents", "--memory=1", env={**os.environ, "TMPDIR": str(missing)})
        self.assert_theirs(self.join([server.port], "count", f"--right-on={ON}"), server,
                           "temporary")
        server = self.serve("documents", "--memory=1", preexec_fn=no_large_files)
        self.assert_theirs(self.join([server.port], "count", f"--right-on={ON}"), server,
                           "temporary file", "more space")

    def test_no_database_there_any_more(self):
        shutil.copytree(self.class_directory / "right", self.class_directory / "gone")
        server = self.serve("gone")
        shutil.rmtree(self.class_directory / "gone")
        for options in [], ["--explain"]:
            failed = self.join([server.port], "count", *options)
            self.assert_theirs(failed, server, "there is no directory a directory. Name the ")
            self.assertNotIn("gone", failed.err)  # where it was is the server's own concern

    def test_no_room_for_the_result_here(self):
        server = self.serve("documents")
        failed = run(*self.join_command([server.port], "difference",
                                        f"--output={self.directory / 'rows'}"),
                     before=no_large_files)
        self.assert_not_tried_again(failed)
        self.assertIn("on this side: ", failed.err)
        self.assertNotIn("the other side", failed.err)
        server.terminate()
        server.reader.join()
        self.assertIn("the client says: ", "".join(server.log))


class JoinLinksTest(JoinSandbox):
    """Connections that are cut, slow or silent, with servers that go and come back."""

    def test_goes_on_after_a_cut(self):
        """The connection is cut again and again; nothing is lost, nothing comes twice."""
        proxy = self.proxy(self.serve())
        proxy.cuts = [100] + [self.random.randrange(3000, 60000) for _ in range(4)]
        output = self.directory / "rows"
        report = self.report(self.join([proxy.port], "difference", f"--output={output}", "--json",
                                       "--attempts=10", "--range-keys=2000"))
        self.assertEqual([line.split("\t")[0] for line in output.read_text().splitlines()],
                         self.only_right)
        self.assertGreater(report["remotes"][0]["attempts"], 2)
        self.assertGreater(report["remotes"][0]["resumed"], 0)
        self.assertEqual(report["remotes"][0]["restarted"], 0)

    def test_killed_server(self):
        """The error names the peer and comes soon; a new server on its port is found."""
        server = self.serve()
        proxy = self.proxy(server)
        proxy.bytes_per_second = 40000

        def kill_soon():
            time.sleep(0.7)
            server.kill()
            server.wait()

        killer = threading.Thread(target=kill_soon)
        killer.start()
        begin = time.monotonic()
        output = self.directory / "rows"
        failed = self.join([proxy.port], "difference", f"--output={output}", "--attempts=2",
                           "--range-keys=2000")
        killer.join()
        self.assertEqual(failed.code, 2, str(failed))
        self.assertIn(f"127.0.0.1:{proxy.port}", failed.err)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertFalse(output.exists())

        proxy.bytes_per_second = None
        proxy.target_port = self.serve().port
        self.assertEqual([row[0] for row in self.rows(self.join([proxy.port], "difference"))],
                         self.only_right)

    def test_slow_peer(self):
        proxy = self.proxy(self.serve())
        proxy.bytes_per_second = 1000000
        self.assertEqual([row[0] for row in self.rows(self.join([proxy.port], "intersection"))],
                         self.both)

    def test_silent_server(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        begin = time.monotonic()
        failed = self.join([listener.getsockname()[1]], "count", "--silence=2", "--attempts=1")
        self.assertEqual(failed.code, 2, str(failed))
        self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    unittest.main()
