# SPDX-License-Identifier: Apache-2.0
"""ROCKSIEVE_METRICS and rocksieve::MetricsExporter: a real program's metrics over HTTP and in a file,
read by Prometheus' own tools; and wrong targets, which must not keep the program from its work."""

import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest

from environment import (BUILD, HAS_EXPORTER, PLUGIN, RELEASE_PLUGIN, Sandbox, compile_program,
                         preloadable, run, run_ok, wait_for)
from programs import Database, free_port, lint, options_text, samples_of, scrape, types_of, value_of

SPEC = "rocksieve.bloom:10"

# Opens a database with statistics, writes and reads; then obeys: "reopen", "policy SPEC", "end".
PROGRAM = r"""
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksieve/metrics_exporter.h>
#include <iostream>
#include <memory>

static void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::cout << status.ToString() << std::endl;
  std::exit(1);
}

int main(int argc, char** argv) {
  const std::string path = argv[1], target = argc > 3 ? argv[3] : "";
  std::string spec = argv[2], value;
  std::unique_ptr<rocksdb::DB> db;
  std::unique_ptr<rocksieve::MetricsExporter> exporter;
  for (std::string line; line != "end"; std::getline(std::cin, line)) {
    if (line.rfind("policy ", 0) == 0) spec = line.substr(7);
    exporter.reset();
    db.reset();
    rocksdb::Options options;
    Check(rocksdb::GetOptionsFromString(rocksdb::Options(), "create_if_missing=true;"
        "block_based_table_factory={filter_policy=" + spec + "}", &options));
    options.statistics = rocksdb::CreateDBStatistics();
    rocksdb::DB* opened = nullptr;
    Check(rocksdb::DB::Open(options, path, &opened));
    db.reset(opened);
    for (int i = 0; i < 1000; i++) Check(db->Put({}, std::to_string(2 * i), "value"));
    Check(db->Flush({}));
    for (int i = 0; i < 100; i++) {
      if (!db->Get({}, std::to_string(2 * i + 101), &value).IsNotFound()) return 3;
    }
    if (!target.empty()) {
      Check(rocksieve::MetricsExporter::Start(
          target, {{nullptr, options.statistics.get(), {{"db", "users"}}}}, &exporter));
    }
    std::cout << "ready " << (exporter ? exporter->target() : "") << std::endl;
  }
}
"""


@unittest.skipUnless(HAS_EXPORTER, "built without the exporter")
class Metrics(Sandbox):
    program = None  # compiled once for all classes

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if Metrics.program is None:
            directory = cls._temporary_directory(unittest.addModuleCleanup)
            Metrics.program = compile_program(PROGRAM, directory / "program", "-lrocksieve_exporter",
                                              f"-l:{RELEASE_PLUGIN.name}", "-lrocksdb")

    def start(self, *arguments, metrics=None):
        """The program, with its database open; its lines come by say()."""
        environment = {**os.environ, **({"ROCKSIEVE_METRICS": str(metrics)} if metrics else {})}
        with (self.directory / "errors").open("w") as errors:
            self.process = self.spawn(
                self.program, self.directory / "db", SPEC, *arguments, env=environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.ready = self.process.stdout.readline()
        self.assertIn("ready", self.ready)

    def serve(self):
        """Its metrics, at the port that is returned."""
        port = free_port()
        self.start(metrics=f"127.0.0.1:{port}")
        return port

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        """It ends as it would without us."""
        self.say("end")
        self.assertEqual(0, self.process.wait(timeout=20))
        self.assertEqual("", (self.directory / "errors").read_text())


class ByEnvironment(Metrics):
    def test_nothing_goes_down_when_databases_are_closed_and_opened(self):
        port = self.serve()
        before = scrape(port)
        self.assertEqual("", lint(before))
        self.assertEqual(1, value_of(before, "rocksieve_policy_info", spec=SPEC))
        self.assertEqual(1000, value_of(before, "rocksieve_filter_keys_total", level="0",
                                        family="bloom", spec=SPEC))
        for line in ("reopen", "policy rocksieve.ribbon:10", "reopen"):
            self.assertIn("ready", self.say(line))
        after = scrape(port)
        for name in types_of(before):
            for labels, value in samples_of(before, name):
                with self.subTest(name=name, labels=labels):
                    self.assertGreaterEqual(value_of(after, name, **labels), value)
        negatives = [value_of(text, "rocksieve_rocksdb_filter_negatives_total")
                     for text in (before, after)]
        self.assertGreater(negatives[0], 90)
        self.assertGreater(negatives[1], 3.5 * negatives[0])
        self.assertEqual({SPEC, "rocksieve.ribbon:10"},
                         {labels["spec"] for labels, _ in samples_of(after, "rocksieve_policy_info")})
        self.end()

    def test_signals_do_what_they_did_before(self):
        self.serve()
        self.process.send_signal(signal.SIGPIPE)
        self.assertEqual(-signal.SIGPIPE, self.process.wait(timeout=20))

    def test_a_file_is_whole_whenever_it_is_read(self):
        file = self.directory / "rocksieve.prom"
        self.start(metrics=file)
        self.assertEqual("", lint(file.read_text()))
        self.assertIn("rocksieve_policy_info", file.read_text())
        first = file.stat().st_ino
        self.assertIn("ready", self.say("reopen"))
        wait_for(lambda: file.stat().st_ino != first, 20, "a new file after 15 s")
        self.assertEqual("", lint(file.read_text()))
        self.assertEqual(2000, value_of(file.read_text(), "rocksieve_filter_keys_total", level="0"))
        self.assertEqual([file], list(self.directory.glob("rocksieve.prom*")))
        self.end()

    def test_a_file_is_not_written_through_a_link(self):
        """In a directory that others may write to, too, and whatever was left behind there."""
        precious, file = self.directory / "precious", self.directory / "rocksieve.prom"
        precious.write_text("kept")
        link = f'ln -s {precious} {file}.$$.tmp; exec "$0" "$@"'
        finished = run_ok("sh", "-c", link, self.program, self.directory / "db", SPEC, stdin="end\n",
                          variables={"ROCKSIEVE_METRICS": str(file)})
        self.assertEqual("", finished.err)
        self.assertEqual("kept", precious.read_text())
        self.assertIn("rocksieve_policy_info", file.read_text())
        self.assertFalse(file.is_symlink())

    def test_what_is_wrong_is_said_once_and_the_program_works(self):
        taken = self.serve()
        (self.directory / "directory.prom").mkdir()
        for said, targets in {
                "Address already in use; name an address": [f"127.0.0.1:{taken}"],
                "Cannot assign requested address": ["203.0.113.1:9435"],
                "such as 127.0.0.1:9435": [
                    "nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:9435s",
                    "127.0.0.1:9435,127.0.0.1:9436", "no.such.host.invalid:9435"],
                "by its whole path": ["relative/rocksieve.prom"],
                "/DIR/NAME.prom": ["/tmp/rocksieve.txt"],
                "No such file or directory": ["/no/such/directory/x.prom"],
                "Is a directory": [self.directory / "directory.prom"]}.items():
            for target in targets:
                with self.subTest(target=target):
                    finished = run_ok(self.program, self.directory / "other", SPEC, stdin="end\n",
                                      variables={"ROCKSIEVE_METRICS": str(target)})
                    self.assertIn("ready", finished.out)
                    self.assertEqual(1, finished.err.count("\n"), finished.err)
                    self.assertIn(f"rocksieve: ROCKSIEVE_METRICS={target}: the program runs on without",
                                  finished.err)
                    self.assertIn(said, finished.err)
        self.end()

    def test_a_plugin_without_its_exporter_says_so(self):
        for library in (PLUGIN, RELEASE_PLUGIN):
            for name in BUILD.glob(f"lib/{library.name}*"):
                (self.directory / name.name).write_bytes(name.read_bytes())
        finished = Database(self.directory, keys=1000).try_bench(
            "fillrandom", options_text(SPEC), existing=False, preload=[self.directory / PLUGIN.name],
            variables={"ROCKSIEVE_METRICS": "127.0.0.1:9"})
        self.assertEqual(0, finished.code, finished)
        self.assertRegex(finished.err, "runs on without metrics: .*librocksieve_exporter.so.*install")

    def test_without_the_variable_nothing_is_loaded(self):
        # The program above is linked with the exporter.
        bench = Database(self.directory, keys=1_000_000)
        process = self.spawn(
            *bench.command("fillrandom,readrandom", options_text(SPEC), existing=False),
            env={**os.environ, "LD_PRELOAD": preloadable(PLUGIN)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_for((bench.path / "CURRENT").exists)
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        self.assertIn(RELEASE_PLUGIN.name, maps)
        self.assertNotIn("civetweb", maps)


HEAD = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
ODDITIES = (b"\0" * 100_000, b"\r\n" * 50_000, b"\x16\x03\x01\x00\xa5\x01" + b"\xff" * 160,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /metrics\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n",
            b"GET /" + b"a" * 10**6 + b" HTTP/1.1\r\n\r\n", HEAD + b"X: " + b"a" * 10**6 + b"\r\n\r\n",
            HEAD + b"".join(b"h%d: x\r\n" % i for i in range(1000)) + b"\r\n",
            HEAD + b": x\r\n \r\n:\r\n\r\n", HEAD + b"Range: bytes=0-,5-2,-9999999999\r\n\r\n",
            HEAD + b"Content-Length: -1\r\n\r\n", HEAD + b"Content-Length: 1e9\r\n\r\n",
            HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc",
            HEAD + b"Connection: keep-alive\r\n\r\n" * 1000,
            HEAD + b"Accept-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
            *(method + b" /../../../etc/passwd HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
              for method in (b"GET", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"MKCOL")))


def answer(port, request):
    """All that comes until the server hangs up, which it does soon."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65536):
                received += data
        except OSError as error:  # it hangs up on what it has not read
            if isinstance(error, TimeoutError):
                raise
    return received


class Hostile(Metrics):
    def resident_bytes(self):
        """The memory that the program has just now."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def assert_scraped_within(self, seconds, port):
        began = time.monotonic()
        self.assertIn("rocksieve_policy_info", scrape(port, timeout=60))
        self.assertLess(time.monotonic() - began, seconds)

    def test_malformed_requests(self):
        port = self.serve()
        self.assertIn(b"rocksieve_policy_info", answer(port, HEAD + b"\r\n"))
        for count in (5, 20):  # after the first, each thread has what it needs
            before = self.resident_bytes()
            for request in count * ODDITIES:
                self.assertNotIn(b"root:", answer(port, request))
        self.assertLess(self.resident_bytes(), before + (4 << 20))
        self.assertEqual("", lint(scrape(port)))
        self.end()

    def test_silent_clients_who_come_again_delay_scrapes_but_deny_none(self):
        """Each held one of four threads for 5 s: with 100 of them, a scrape waited for two minutes."""
        port, given_up, end = self.serve(), [], threading.Event()

        def begin_requests(said):
            """And ends none; comes again when the server hangs up."""
            while not end.is_set():
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(said)
                    client.recv(1)
                    given_up.append(said)

        clients = [threading.Thread(target=begin_requests, args=(said,), daemon=True)
                   for said in (b"", HEAD) for _ in range(80)]
        for client in clients:
            client.start()
        wait_for(lambda: len(given_up) > len(clients), 60, "all to come again")
        for _ in range(2):
            self.assert_scraped_within(10, port)  # Prometheus would have given up
        end.set()
        for client in clients:
            client.join()
        self.end()

    def test_bodies_hold_no_thread(self):
        """As many clients as threads kept out all others by a body that never ended."""
        port = self.serve()
        for body in (b"Content-Length: 1000000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n5\r\n"):
            slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(40)]
            for connection in slow:
                self.addCleanup(connection.close)
                connection.sendall(HEAD + body)
            for _ in range(12):  # each byte would be waited for as long as 5 s
                time.sleep(0.5)
                for connection in slow:
                    try:
                        connection.send(b"x")
                    except ConnectionError:
                        pass
            self.assert_scraped_within(3, port)
        self.end()


class ByCode(Metrics):
    def test_sources_are_served_with_their_labels_until_the_exporter_is_gone(self):
        self.start("127.0.0.1:0")
        port = int(self.ready.rsplit(":", 1)[1])
        text = scrape(port)
        self.assertEqual("", lint(text))
        self.assertGreater(value_of(text, "rocksieve_rocksdb_filter_negatives_total", db="users"), 90)
        self.end()
        self.start(f"127.0.0.1:{port}")
        scrape(port)
        begin = time.monotonic()
        self.assertEqual(f"ready 127.0.0.1:{port}\n", self.say("reopen"))  # the port is free again
        self.assertLess(time.monotonic() - begin, 10)
        scrape(port)
        self.end()

    def test_an_error_is_a_status(self):
        finished = run(self.program, self.directory / "db", SPEC, "nonsense", stdin="end\n")
        self.assertEqual(1, finished.code)
        self.assertIn("Invalid argument: \"nonsense\" is no ADDRESS:PORT", finished.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
