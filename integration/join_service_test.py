#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rocksieve serve` as a service: readiness, new certificates and tokens, an orderly end, its log and
metrics."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

from environment import ROOT, run, run_ok
from join_service_support import ServiceSandbox
from join_support import ROCKSIEVE, write_lines

OLD_TOKEN, NEW_TOKEN = "0123456789abcdef-old", "0123456789abcdef-new"


def secret(path, text):
    write_lines(path, [text])
    path.chmod(0o600)
    return path


class ReadinessTest(ServiceSandbox):
    def test_ready_fd(self):
        reading, writing = os.pipe()
        self.secured(f"--ready-fd={writing}", pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as ready:
            self.assertRegex(ready.read(), r"^ready 127\.0\.0\.1:[1-9][0-9]*\n$")  # and it is closed

    def test_nobody_waits_for_a_server_that_failed(self):
        reading, writing = os.pipe()
        failed = subprocess.run([ROCKSIEVE, "serve", f"--db={self.directory / 'none'}", "--insecure",
                                 "--listen=127.0.0.1:0", f"--ready-fd={writing}"], timeout=20,
                                pass_fds=[writing], stderr=subprocess.PIPE, check=False)
        os.close(writing)
        with os.fdopen(reading) as ready:
            self.assertEqual(ready.read(), "")
        self.assertEqual(failed.returncode, 2)
        failed = run(ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}", "--insecure",
                     "--listen=127.0.0.1:0", "--ready-fd=77")
        self.assertEqual(failed.code, 2, str(failed))
        self.assertIn("descriptor 77 is not open", failed.err)


class ReloadTest(ServiceSandbox):
    def test_new_certificates_while_a_session_runs(self):
        old = shutil.copytree(self.certs, self.directory / "old")
        server = self.secured()
        running = self.slow_join(server, old)
        self.new_certificates(self.certs)  # of another authority
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "certificates and tokens were read again")
        self.assertEqual(self.count(server.port, self.certs).code, 0)
        refused = self.count(server.port, old)
        self.assertEqual(refused.code, 2, str(refused))
        self.assertIsNone(running.poll())
        rows, error = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, error)
        self.assertEqual([row.split("\t")[0] for row in rows.splitlines()], self.only_right)
        server.terminate()
        self.assertEqual(server.wait(timeout=20), 0)

    def test_a_bad_file_changes_nothing(self):
        server = self.secured()
        certificate = self.certs / "server" / "server.crt"
        whole = certificate.read_bytes()
        for bad in [b"", b"-----BEGIN CERTIFICATE-----\nnonsense\n", None]:
            if bad is None:
                certificate.unlink()
            else:
                certificate.write_bytes(bad)
            server.log.clear()
            server.send_signal(signal.SIGHUP)
            self.assert_in_log(server, "stay as they were.*server.crt")
            self.assertEqual(self.count(server.port, self.certs).code, 0)
        certificate.write_bytes(whole)
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "were read again")
        self.assertEqual(self.count(server.port, self.certs).code, 0)

    def test_tokens(self):
        tokens = secret(self.directory / "tokens", OLD_TOKEN)
        old = secret(self.directory / "old_token", OLD_TOKEN)
        new = secret(self.directory / "new_token", NEW_TOKEN)
        server = self.secured(f"--token-file={tokens}")
        self.assertEqual(self.count(server.port, self.certs, f"--token-file={old}").code, 0)
        secret(tokens, "short")
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "stay as they were.*16")
        self.assertEqual(self.count(server.port, self.certs, f"--token-file={old}").code, 0)
        secret(tokens, NEW_TOKEN)
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "were read again")
        self.assertEqual(self.count(server.port, self.certs, f"--token-file={new}").code, 0)
        refused = self.count(server.port, self.certs, f"--token-file={old}")
        self.assertEqual(refused.code, 2)
        self.assertIn("--token-file", refused.err)


class EndTest(ServiceSandbox):
    def test_sessions_may_finish(self):
        server = self.secured()
        running = self.slow_join(server, self.certs)
        server.terminate()
        self.assert_in_log(server, "1 session may go on for 30 seconds")
        self.assertEqual(self.count(server.port, self.certs).code, 2)  # nobody listens any more
        rows, error = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, error)
        self.assertEqual(len(rows.splitlines()), len(self.only_right))
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


class LogTest(ServiceSandbox):
    def test_objects(self):
        server = self.secured("--log=json")
        self.assertEqual(self.count(server.port, self.certs).code, 0)
        self.assertEqual(self.count(server.port, self.certs, "--remote-column-family=none").code, 2)
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

    def test_lines(self):
        server = self.secured()
        rows = run_ok(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}", "--op=difference",
                      f"--remote=127.0.0.1:{server.port}", f"--certs={self.certs}").out
        self.assert_in_log(server, r"rocksieve serve: 20\S+Z ipv4:127\.0\.0\.1:\d+ \(\S.*\): "
                                   r"difference: done, [\d,]+ rows, ")
        told = re.search(r"done, ([\d,]+) rows", "".join(server.log)).group(1)
        self.assertEqual(int(told.replace(",", "")), len(rows.splitlines()))


class MetricsTest(ServiceSandbox):
    def test_what_prometheus_gets(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = self.secured(f"--metrics=127.0.0.1:{port}")
        self.assertEqual(self.count(server.port, self.certs).code, 0)
        self.assertEqual(self.count(server.port, self.certs, "--remote-column-family=none").code, 2)
        (self.certs / "server" / "server.crt").unlink()
        server.send_signal(signal.SIGHUP)
        self.assert_in_log(server, "stay as they were")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            text = answer.read().decode()
        samples = dict(re.findall(r"(?m)^(rocksieve_serve_\S+) (\S+)$", text))
        self.assertEqual(samples['rocksieve_serve_sessions_total{outcome="done",status="ok"}'], "1")
        self.assertEqual(
            samples['rocksieve_serve_sessions_total{outcome="failed",status="permission_denied"}'],
            "1")
        self.assertEqual(samples['rocksieve_serve_reloads_total{result="failed"}'], "1")
        self.assertGreater(float(samples["rocksieve_serve_sent_bytes_total"]), 0)
        page = (ROOT / "docs/serve.md").read_text()
        for name in re.findall(r"(?m)^# TYPE (rocksieve_serve_\S+)", text):
            self.assertIn(f"`{name}`", page)

    def test_an_address_that_cannot_be_had(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            failed = run(ROCKSIEVE, "serve", f"--db={self.class_directory / 'right'}",
                         "--insecure", "--listen=127.0.0.1:0",
                         f"--metrics=127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(failed.code, 2, str(failed))


class ConfigTest(ServiceSandbox):
    def config(self, *lines):
        return write_lines(self.directory / "serve.conf", lines)

    def refused(self, *lines, flags=()):
        failed = run(ROCKSIEVE, "serve", f"--config={self.config(*lines)}", *flags)
        self.assertEqual(failed.code, 2, str(failed))
        return failed.err

    def test_flags_in_a_file(self):
        config = self.config("# a comment", f'db = "{self.class_directory / "right"}"',
                             'listen = "127.0.0.1:0"', f'certs = "{self.certs}"', "sessions = 3",
                             'column-family = ["default"]', "quiet = true", "log = json")
        server = self.started([ROCKSIEVE, "serve", f"--config={config}"])
        self.assertEqual(self.count(server.port, self.certs).code, 0)
        server = self.started([ROCKSIEVE, "serve", f"--config={config}", "--log=text"])
        self.assertEqual(server.log, [])  # the command line counts

    def test_what_is_refused(self):
        self.assertIn("serve: --config: there is no flag --sesions; did you mean sessions?",
                      self.refused("sesions=3"))
        self.assertIn("there is no flag --config", self.refused('config = "x"'))
        for line in ("[serve]", "[default]", "["):
            self.assertIn("line 2: there are no sections", self.refused("sessions = 3", line))
        self.assertIn("line 1: a flag's name is missing", self.refused("="))
        self.assertIn("--sessions: At Most 1", self.refused("sessions = 3", "sessions = 4"))
        self.assertIn("sessions", self.refused("sessions = many"))
        self.assertIn("--db is required", self.refused("sessions = 3"))
        self.assertIn("there is no file none", run(ROCKSIEVE, "serve", "--config", "none").err)
        (self.directory / "serve.conf").chmod(0o666)
        self.assertIn("chmod go-w", self.refused("sessions = 3"))

    def test_the_file_that_is_installed_has_flags(self):
        text = (ROOT / "tools/share/systemd/serve.conf").read_text()
        lines = [re.sub("^# (?=[a-z-]+ =)", "", line) for line in text.splitlines()]
        error = self.refused(*[line for line in lines if "=" in line and line[0] not in "#t"])
        self.assertIn("/var/lib/app/db", error)  # and not about a flag


class ExitCodeTest(ServiceSandbox):
    def test_sides_that_differ(self):
        same, other = self.serve("left").port, self.serve("right").port
        self.assertEqual(self.join([same], "count", "--exit-code").code, 0)
        self.assertEqual(self.join([other], "count", "--exit-code").code, 1)
        self.assertEqual(self.join([other], "count").code, 0)
        self.assertEqual(self.join([1], "count", "--exit-code", "--attempts=1").code, 2)
        wrong = self.join([same], "difference", "--exit-code")
        self.assertEqual(wrong.code, 2)
        self.assertIn("--op=count", wrong.err)


class RemedyTest(ServiceSandbox):
    def test_certificates_that_will_not_do_are_not_tried_again(self):
        named = self.new_certificates(self.directory / "named", "--name=db.example")
        foreign = self.new_certificates(self.directory / "foreign")
        self.certs = named
        port = self.secured().port
        plain = self.serve("right").port
        for to, certs, words in [(port, named, "--server-name=NAME"),
                                 (port, foreign, "not signed by this side's authority"),
                                 (plain, named, "does not speak TLS")]:
            failed = self.count(to, certs, attempts=5)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertEqual(failed.err.count("\n"), 1, failed.err)
            self.assertIn(words, failed.err)
            self.assertNotIn("trying again", failed.err)
        self.assertIn("rocksieve certs --name=127.0.0.1", self.count(port, named).err)
        self.assertEqual(self.count(port, named, "--server-name=db.example").code, 0)


if __name__ == "__main__":
    unittest.main()
