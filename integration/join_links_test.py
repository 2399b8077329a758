#!/usr/bin/env python3
"""Joins over connections that are cut, slow or silent, with servers that go and come back."""

import socket
import threading
import time
import unittest

from join_support import JoinSandbox


class JoinLinksTest(JoinSandbox):
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
