#!/usr/bin/env python3
"""Errors say on which side they are, and what will not go away is not tried again."""

import json
import os
import resource
import shutil
import signal
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
        self.assertIn("the asking side says: ", "".join(server.log))


if __name__ == "__main__":
    unittest.main()
