#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve serve` as a service: new certificates and tokens, an orderly end, its log, metrics and
configuration."""

import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

from environment import ROOT, run
from join_support import ROCKSIEVE, ServiceSandbox, write_lines

SLOW = 15000  # bytes per second


def secret(path, text):
    write_lines(path, [text])
    path.chmod(0o600)
    return path


class ServiceTest(ServiceSandbox):
    def slow_join(self, server, certs):
        """A session that takes some seconds, once it is under way."""
        relay = self.relay(server)
        relay.bytes_per_second = SLOW
        client = self.spawn(
            ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
            f"--remote=127.0.0.1:{relay.port}", "--op=difference", "--strategy=keys",
            "--attempts=1", f"--certs={certs}",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Handshakes take a few thousand bytes.
        while relay.passed_bytes < 20_000 and client.poll() is None:
            time.sleep(0.05)
        self.assertIsNone(client.poll(), "the join was too quick for this test")
        return client

    def assert_done(self, client):
        rows, error = client.communicate(timeout=60)
        self.assertEqual(client.returncode, 0, error)
        self.assertEqual([row.split("\t")[0] for row in rows.splitlines()], self.only_right)

    def read_again(self, server, says="certificates and tokens were read again"):
        server.log.clear()
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, says)

    def assert_counts(self, server, *flags, certs=None, code=0):
        finished = self.count(server.port, *flags, certs=certs)
        self.assertEqual(finished.code, code, str(finished))
        return finished

    def test_new_certificates_while_a_session_runs(self):
        old = shutil.copytree(self.certs, self.directory / "old")
        server = self.secured()
        running = self.slow_join(server, old)
        self.new_certificates(self.certs)  # of another authority
        self.read_again(server)
        self.assert_counts(server)
        self.assert_counts(server, certs=old, code=2)
        self.assertIsNone(running.poll())
        self.assert_done(running)
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)

    def test_a_hangup_before_it_is_ready(self):
        """Heard as soon as the program itself runs, rather than the dynamic linker."""
        server = self.spawn(ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}",
                            "--listen=127.0.0.1:0", f"--certs={self.certs}",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        blocked = 0
        while not blocked & 1 << signal.SIGHUP - 1:
            self.assertIsNone(server.poll())
            status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
            blocked = int(re.search(r"^SigBlk:\s*(\w+)", status, re.MULTILINE)[1], 16)
        server.send_signal(signal.SIGHUP)
        self.assertIn("listening", server.stdout.readline())
        while "were read again" not in server.stderr.readline():
            self.assertIsNone(server.poll())

    def test_a_bad_file_changes_nothing(self):
        server = self.secured()
        certificate = self.certs / "server" / "server.crt"
        whole = certificate.read_bytes()
        for bad in [b"", b"-----BEGIN CERTIFICATE-----\nnonsense\n", None]:
            if bad is None:
                certificate.unlink()
            else:
                certificate.write_bytes(bad)
            self.read_again(server, "stay as they were.*server.crt")
            self.assert_counts(server)
        certificate.write_bytes(whole)
        self.read_again(server)
        self.assert_counts(server)

    def test_tokens(self):
        words = "0123456789abcdef-old", "0123456789abcdef-new"
        tokens = secret(self.directory / "tokens", words[0])
        old, new = (f"--token-file={secret(self.directory / word, word)}" for word in words)
        server = self.secured(f"--token-file={tokens}")
        self.assert_counts(server, old)
        secret(tokens, "short")
        self.read_again(server, "stay as they were.*16")
        self.assert_counts(server, old)
        secret(tokens, words[1])
        self.read_again(server)
        self.assert_counts(server, new)
        for flags in [[], [old]]:
            self.assertIn("--token-file", self.assert_counts(server, *flags, code=2).err)

    def test_sessions_may_finish(self):
        server = self.secured()
        running = self.slow_join(server, self.certs)
        server.terminate()
        self.assert_in_log(server, "1 session may go on for 30 seconds")
        self.assert_counts(server, code=2)  # nobody listens any more
        self.assert_done(running)
        self.assertEqual(server.wait(timeout=20), 0)

    def test_they_are_cut_off_in_the_end(self):
        for flags, again in [(["--grace=1"], False), (["--grace=600"], True), (["--grace=0"], False)]:
            server = self.secured(*flags)
            running = self.slow_join(server, self.certs)
            begin = time.monotonic()
            server.terminate()
            if again:
                self.assert_in_log(server, "a second signal ends them now")
                server.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(timeout=20), 0)
            self.assertLess(time.monotonic() - begin, 6)
            self.assertIn("is being shut down", running.communicate(timeout=60)[1])
            self.assertEqual(running.returncode, 2)

    def test_log_of_objects(self):
        server = self.secured("--log=json")
        self.assert_counts(server)
        self.assert_counts(server, "--remote-column-family=none", code=2)
        self.assert_in_log(server, "failed")
        events = [json.loads(line) for line in server.log]
        self.assertEqual([event["event"] for event in events], ["listening", "session", "session"])
        done, failed = events[1:]
        self.assertEqual((done["outcome"], done["operation"], done["error"], done["rows"]),
                         ("done", "count", None, 0))
        self.assertRegex(done["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(done["peer"].startswith("ipv4:127.0.0.1:"))
        self.assertTrue(done["certificate"])
        for key in ("received_bytes", "sent_bytes", "seconds"):
            self.assertGreater(done[key], 0)
        self.assertEqual((failed["outcome"], failed["level"]), ("failed", "warning"))
        self.assertIn("is not served", failed["error"])

    def test_log_of_lines(self):
        server = self.secured()
        rows = self.rows(self.join([server.port], "difference", secure=True))
        self.assert_in_log(server, r"rocksieve serve: 20\S+Z ipv4:127\.0\.0\.1:\d+ \(\S.*\): "
                                   rf"difference: done, {len(rows):,} rows, ")

    def test_metrics(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            self.assert_refused(run(
                ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}", "--insecure",
                "--listen=127.0.0.1:0", f"--metrics=127.0.0.1:{port}"))  # which is taken
        server = self.secured(f"--metrics=127.0.0.1:{port}")
        self.assert_counts(server)
        self.assert_counts(server, "--remote-column-family=none", code=2)
        (self.certs / "server" / "server.crt").unlink()
        self.read_again(server, "stay as they were")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        samples = dict(re.findall(r"(?m)^(rocksieve_serve_\S+) (\S+)$", text))
        for name in ('sessions_total{outcome="done",status="ok"}', 'reloads_total{result="failed"}',
                     'sessions_total{outcome="failed",status="permission_denied"}'):
            self.assertEqual(samples[f"rocksieve_serve_{name}"], "1")
        self.assertGreater(float(samples["rocksieve_serve_sent_bytes_total"]), 0)
        page = (ROOT / "docs/serve.md").read_text()
        for name in re.findall(r"(?m)^# TYPE (rocksieve_serve_\S+)", text):
            self.assertIn(f"`{name}`", page)


class ConfigTest(ServiceSandbox):
    KEYS = 1000

    def config(self, *lines):
        return write_lines(self.directory / "serve.conf", lines)

    def refused(self, *lines):
        failed = run(ROCKSIEVE, "serve", f"--config={self.config(*lines)}")
        self.assertEqual(failed.code, 2, str(failed))
        return failed.err

    def test_flags_in_a_file(self):
        config = self.config("# a comment", f'db = "{self.class_directory / "right"}"',
                             'listen = "127.0.0.1:0"', f'certs = "{self.certs}"', "sessions = 3",
                             'column-family = ["default"]', "quiet = true", "log = json")
        server = self.started([ROCKSIEVE, "serve", f"--config={config}"])
        self.assertEqual(self.count(server.port).code, 0)
        server = self.started([ROCKSIEVE, "serve", f"--config={config}", "--log=text"])
        self.assertEqual(server.log, [])  # the command line counts

    def test_what_is_refused(self):
        for lines, says in (
                (["sesions=3"], "serve: --config: there is no flag --sesions; did you mean sessions?"),
                (['config = "x"'], "there is no flag --config"),
                (["sessions = 3", "[serve]"], "line 2: there are no sections"),
                (["sessions = 3", "["], "line 2: there are no sections"),
                (["="], "line 1: a flag's name is missing"),
                (["sessions = 3", "sessions = 4"], "--sessions: At Most 1"),
                (["sessions = many"], "sessions"), (["sessions = 3"], "--db is required")):
            self.assertIn(says, self.refused(*lines))
        self.assertIn("there is no file none", run(ROCKSIEVE, "serve", "--config", "none").err)
        (self.directory / "serve.conf").chmod(0o666)
        self.assertIn("chmod go-w", self.refused("sessions = 3"))

    def test_the_file_that_is_installed_has_flags(self):
        text = (ROOT / "tools/share/systemd/serve.conf").read_text()
        lines = [re.sub("^# (?=[a-z-]+ =)", "", line) for line in text.splitlines()]
        error = self.refused(*[line for line in lines if "=" in line and line[0] not in "#t"])
        self.assertIn("/var/lib/app/db", error)  # and not about a flag

    def test_exit_codes_of_sides_that_differ(self):
        same, other = self.serve("left").port, self.serve("right").port
        for port, op, flags, code in ((same, "count", ["--exit-code"], 0),
                                      (other, "count", ["--exit-code"], 1), (other, "count", [], 0),
                                      (1, "count", ["--exit-code", "--attempts=1"], 2)):
            self.assertEqual(self.join([port], op, *flags).code, code)
        self.assert_refused(self.join([same], "difference", "--exit-code"), "--op=count")


if __name__ == "__main__":
    unittest.main()
