# SPDX-License-Identifier: Apache-2.0
"""The log of `rocksieve exporter`: what databases are named, and a log that nobody reads."""

import fcntl
import subprocess
import time
import unittest

import prometheus
from doctor import COMMAND
from environment import run_ok
from exporter_test import OFTEN, Exporting


class Log(Exporting):
    def test_names_begin_no_line_of_it(self):
        database = self.load()
        run_ok("ldb", f"--db={database}", "create_column_family", "a\nb\x1b[31m")
        _, log = self.once(database)
        self.assertIn("warning no-policy (column family a b [31m): ", log)
        self.assertNotIn("\x1b", log)
        self.assertRegex(log, r"\A(rocksieve exporter: .+\n)+\Z")

    def test_scrapes_do_not_wait_for_whoever_reads_it(self):
        databases = [f"--db={self.directory / f'{number:0100d}'}" for number in range(40)]
        process = subprocess.Popen(
            [COMMAND, "exporter", *databases, "--listen=127.0.0.1:0", OFTEN],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)  # 20 lines, and then it is full

        def stop():
            process.kill()
            process.communicate()

        self.addCleanup(stop)
        port = int(process.stdout.readline().rsplit(":", 1)[1])

        def stuck():
            """At a database that is told of."""
            looks = [count for _, count in
                     prometheus.samples_of(prometheus.scrape(port), "rocksieve_db_looks_total")]
            return 0 < sum(looks) < len(looks)

        prometheus.wait_for(stuck)
        time.sleep(1)
        self.assertTrue(stuck())


if __name__ == "__main__":
    unittest.main()
