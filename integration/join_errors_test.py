#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors say on which side they are, and what will not go away is not tried again; who may join, and
who may not."""

import json
import os
import resource
import shutil
import signal
import unittest

from environment import run, run_ok
from join_support import ROCKSIEVE, JoinSandbox, ServiceSandbox, load


def no_large_files():
    """A disk that is full after 64 KiB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


class JoinErrorsTest(JoinSandbox):
    KEYS = 1000

    def setUp(self):
        super().setUp()
        if not (self.class_directory / "documents").exists():  # more than the server sorts in memory
            load(self.class_directory / "documents", [
                f"{i}\t{json.dumps({'id': self.random.randrange(10**9), 'text': 'x' * 100})}"
                for i in range(20000)])

    def assert_not_tried_again(self, failed, *words):
        self.assert_refused(failed, *words)
        self.assertNotIn("trying again", failed.err)
        self.assertNotIn("attempts)", failed.err)

    def assert_theirs(self, failed, server, *words):
        self.assert_not_tried_again(
            failed, f"127.0.0.1:{server.port}: the other side failed: ", *words)

    def test_no_room_for_temporary_files_there(self):
        missing = {**os.environ, "TMPDIR": str(self.directory / "no such directory")}
        for process, words in (({"env": missing}, ["temporary"]),
                               ({"preexec_fn": no_large_files}, ["temporary file", "more space"])):
            server = self.serve("documents", "--memory=2", **process)
            self.assert_theirs(self.join([server.port], "count", "--right-on=value.json(/id)"),
                               server, *words)

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
        self.assert_not_tried_again(failed, "on this side: ")
        self.assertNotIn("the other side", failed.err)
        server.terminate()
        server.reader.join()
        self.assertIn("the client says: ", "".join(server.log))

    def test_nobody_there(self):
        for address, text in [(f"unix:{self.directory / 'no.socket'}",
                               "there is no such socket: start rocksieve serve"),
                              ("127.0.0.1:1", "nobody listens there")]:
            failed = run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                         f"--remote={address}", "--op=count", "--insecure", "--attempts=1")
            self.assert_not_tried_again(failed, f"{address}: {text}")
            self.assertEqual(failed.err.count("\n"), 1, failed.err)
            self.assertNotIn("certificate", failed.err)


class JoinSecurityTest(ServiceSandbox):
    KEYS = 3000

    def test_who_may_join(self):
        """Nobody is tried again whose certificates will not do."""
        named = self.certs = self.new_certificates(self.directory / "named", "--name=db.example")
        foreign = self.new_certificates(self.directory / "foreign")
        port, plain = self.secured().port, self.serve("right").port
        mixed = [f"--ca={named}/client/ca.crt", f"--cert={foreign}/client/client.crt",
                 f"--key={foreign}/client/client.key"]
        for to, flags, words in [
                (port, [f"--certs={named}"], "--server-name=NAME"),
                (port, [f"--certs={foreign}"], "not signed by this side's authority"),
                (plain, [f"--certs={named}"], "does not speak TLS"),
                (port, [*mixed, "--server-name=db.example"], ""), (port, ["--insecure"], "")]:
            failed = run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}", "--op=count",
                         f"--remote=127.0.0.1:{to}", "--silence=5",
                         f"--attempts={5 if words else 1}", *flags)
            self.assert_refused(failed, f"127.0.0.1:{to}", words)
            self.assertEqual(failed.err.count("\n"), 1, failed.err)
            self.assertNotIn("trying again", failed.err)
        self.assertIn("rocksieve certs --name=127.0.0.1", self.count(port).err)
        self.assertEqual(self.count(port, "--server-name=db.example").code, 0)
        database = f"--db={self.class_directory / 'left'}"
        self.assert_refused(run(ROCKSIEVE, "join", database, f"--remote=127.0.0.1:{port}",
                                "--op=count"), "rocksieve certs")
        self.assert_refused(run(ROCKSIEVE, "serve", database, "--listen=0.0.0.0:0", "--insecure"),
                            "--insecure-network")

    def test_the_authoritys_key_is_in_no_part_that_is_copied(self):
        made = self.directory / "made"
        run_ok(ROCKSIEVE, "certs", f"--dir={made}")
        self.assertEqual(sorted(str(f.relative_to(made)) for f in made.rglob("*.*")),
                         ["authority/ca.crt", "authority/ca.key", "client/ca.crt",
                          "client/client.crt", "client/client.key", "server/ca.crt",
                          "server/server.crt", "server/server.key"])
        self.assertEqual((made / "authority").stat().st_mode & 0o777, 0o700)
        key = made / "client" / "client.key"
        key.chmod(0o644)
        self.assert_refused(self.count(1, certs=made / "client"), f"chmod 600 {key}")


if __name__ == "__main__":
    unittest.main()
