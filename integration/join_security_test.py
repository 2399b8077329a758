#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may join, and how much of a server one peer may have."""

import unittest

from environment import run, run_ok
from join_support import ROCKSIEVE, JoinSandbox, write_lines


class JoinSecurityTest(JoinSandbox):
    KEYS = 3000

    def test_wrong_certificates_and_none(self):
        run_ok(ROCKSIEVE, "certs", f"--dir={self.class_directory / 'foreign'}")
        server = self.serve(secure=True)
        address = f"--remote=127.0.0.1:{server.port}"
        database = f"--db={self.class_directory / 'left'}"
        foreign, ours = self.class_directory / "foreign", self.class_directory / "certs"
        for flags in [[f"--certs={foreign}"], ["--insecure"],
                      [f"--ca={ours}/client/ca.crt", f"--cert={foreign}/client/client.crt",
                       f"--key={foreign}/client/client.key"],
                      [f"--certs={ours}", "--server-name=another.example.org"]]:
            failed = run(ROCKSIEVE, "join", database, address, "--op=count", "--attempts=1",
                         "--silence=5", *flags)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn(f"127.0.0.1:{server.port}", failed.err)
        failed = run(ROCKSIEVE, "join", database, address, "--op=count")
        self.assertEqual(failed.code, 2)
        self.assertIn("rocksieve certs", failed.err)
        open_to_all = run(ROCKSIEVE, "serve", database, "--listen=0.0.0.0:0", "--insecure")
        self.assertEqual(open_to_all.code, 2)
        self.assertIn("--insecure-network", open_to_all.err)
        self.assertEqual(self.join([server.port], "count", secure=True).code, 0)

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
        failed = run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                     "--remote=127.0.0.1:1", "--op=count", f"--certs={made / 'client'}")
        self.assertEqual(failed.code, 2, str(failed))
        self.assertIn(f"chmod 600 {key}", failed.err)

    def test_certificates_that_cannot_be_used(self):
        ours, foreign = self.certificates(), self.directory / "foreign"
        run_ok(ROCKSIEVE, "certs", f"--dir={foreign}")
        database = f"--db={self.class_directory / 'left'}"
        for side, *command in [("server", "serve", "--listen=127.0.0.1:0"),
                               ("client", "join", "--remote=127.0.0.1:1", "--op=count")]:
            key = foreign / side / f"{side}.key"
            failed = run(ROCKSIEVE, *command, database, f"--certs={ours}", f"--key={key}")
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn(f"the key in {key} is not that of the certificate in "
                          f"{ours}/{side}/{side}.crt", failed.err)
            failed = run(ROCKSIEVE, *command, database, f"--certs={ours}", "--insecure")
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn("leave out --insecure", failed.err)

    def test_nobody_there(self):
        database = f"--db={self.class_directory / 'left'}"
        socket = self.directory / "no.socket"
        for address, text in [(f"unix:{socket}", "there is no such socket: start rocksieve serve"),
                              ("127.0.0.1:1", "nobody listens there")]:
            failed = run(ROCKSIEVE, "join", database, f"--remote={address}", "--op=count",
                         "--insecure", "--attempts=1")
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn(f"{address}: {text}", failed.err)
            self.assertEqual(failed.err.count("\n"), 1, failed.err)
            self.assertNotIn("certificate", failed.err)
            self.assertNotIn("attempts)", failed.err)

    def test_tokens(self):
        tokens = write_lines(self.directory / "tokens", ["# one", "0123456789abcdef01234567"])
        wrong = write_lines(self.directory / "wrong", ["x" * 24])
        for file in [tokens, wrong]:
            file.chmod(0o640)
        failed = self.join([1], "count", f"--token-file={tokens}", secure=True)
        self.assertEqual(failed.code, 2, str(failed))
        self.assertIn(f"chmod 600 {tokens}", failed.err)
        for file in [tokens, wrong]:
            file.chmod(0o600)
        port = self.serve("right", f"--token-file={tokens}", secure=True).port
        for flags in [[], [f"--token-file={wrong}"]]:
            failed = self.join([port], "count", *flags, secure=True)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn("--token-file", failed.err)
        self.assertEqual(self.join([port], "count", f"--token-file={tokens}", secure=True).code, 0)


if __name__ == "__main__":
    unittest.main()
