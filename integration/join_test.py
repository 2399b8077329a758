#!/usr/bin/env python3
"""Joins between real processes, over TLS, with connections that are cut and servers that are killed.

Every result is compared with what `comm` says of the sorted keys.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from environment import BUILD, PLUGIN, SEED, Sandbox, run, run_ok

ROCKSIEVE = BUILD / "bin" / "rocksieve"


def write_lines(path, lines):
    path.write_bytes(b"".join(line.encode() + b"\n" for line in lines))
    return path


def comm(flags, left, right):
    return run_ok("comm", flags, left, right).out.splitlines()


class Proxy:
    """Passes bytes on, and can cut all connections after some of them, or slow them down."""

    def __init__(self, target_port):
        self.target_port = target_port
        self.cuts = []  # bytes from the server after which each connection ends, in turn
        self.bytes_per_second = None
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            limit = self.cuts.pop(0) if self.cuts else None
            threading.Thread(target=self._pass, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, limit), daemon=True).start()

    def _pass(self, source, sink, limit):
        passed = 0
        try:
            while limit is None or passed < limit:
                data = source.recv(65536)
                if not data:
                    break
                if limit is not None:
                    data = data[:limit - passed]
                sink.sendall(data)
                passed += len(data)
                if self.bytes_per_second:
                    time.sleep(len(data) / self.bytes_per_second)  # a paced link
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class JoinTest(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = random.Random(SEED)
        directory = cls.class_directory
        keys = {f"{cls.random.randrange(10**12):012d}" for _ in range(60000)}
        keys |= {"/usr/share/" + word for word in map(str, range(3000))}
        keys = sorted(keys)
        cls.left = [key for key in keys if cls.random.random() < 0.6]
        cls.right = [key for key in keys if cls.random.random() < 0.6]
        cls.shards = [[], [], [], []]
        for key in cls.right:
            cls.shards[cls.random.randrange(4)].append(key)
        cls.files = {}
        for name, some in [("left", cls.left), ("right", cls.right)] + [
                (f"shard{i}", shard) for i, shard in enumerate(cls.shards)]:
            cls.files[name] = write_lines(directory / f"{name}.keys", some)
            rows = write_lines(directory / f"{name}.rows", (f"{key}\t{name} {key}" for key in some))
            run_ok(ROCKSIEVE, "load", f"--db={directory / name}", "--spec=rocksieve.ribbon:10",
                   f"--input={rows}")
        run_ok(ROCKSIEVE, "certs", f"--dir={directory / 'certs'}")
        run_ok(ROCKSIEVE, "certs", f"--dir={directory / 'foreign'}")
        cls.both = comm("-12", cls.files["left"], cls.files["right"])
        cls.only_left = comm("-23", cls.files["left"], cls.files["right"])
        cls.only_right = comm("-13", cls.files["left"], cls.files["right"])

    def serve(self, name="right", *flags, port=0, secure=False):
        protection = [f"--certs={self.class_directory / 'certs'}"] if secure else ["--insecure"]
        server = subprocess.Popen(
            [ROCKSIEVE, "serve", f"--db={self.class_directory / name}",
             f"--listen=127.0.0.1:{port}", *protection, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def stop():
            if server.poll() is None:
                server.kill()
            server.communicate()

        self.addCleanup(stop)
        line = server.stdout.readline()
        self.assertIn("listening on 127.0.0.1:", line, line)
        server.port = int(line.rsplit(":", 1)[1])
        # Nobody reads what it logs, but the pipe must not fill up.
        threading.Thread(target=server.stderr.read, daemon=True).start()
        return server

    def join(self, remotes, op, *flags, secure=False, timeout=60):
        protection = [f"--certs={self.class_directory / 'certs'}"] if secure else ["--insecure"]
        remote = ",".join(f"127.0.0.1:{port}" for port in remotes)
        return run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                   f"--remote={remote}", f"--op={op}", *protection, *flags, timeout=timeout)

    def rows(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        return [line.split("\t") for line in finished.out.splitlines()]

    def report(self, finished):
        self.assertEqual(finished.code, 0, str(finished))
        return json.loads(finished.out)

    def proxy(self, server):
        proxy = Proxy(server.port)
        self.addCleanup(proxy.close)
        return proxy

    def test_every_operation_over_tls(self):
        ports = [self.serve(secure=True).port]

        def joined(op, *flags):
            return self.join(ports, op, *flags, secure=True)

        right_rows = {key: f"right {key}" for key in self.right}
        self.assertEqual(self.rows(joined("intersection")),
                         [[key, right_rows[key]] for key in self.both])
        self.assertEqual(self.rows(joined("difference")),
                         [[key, right_rows[key]] for key in self.only_right])
        self.assertEqual(self.rows(joined("local-only")),
                         [[key, f"left {key}"] for key in self.only_left])
        self.assertEqual(self.rows(joined("symmetric")),
                         sorted([["local", key, f"left {key}"] for key in self.only_left] +
                                [["remote", key, right_rows[key]] for key in self.only_right],
                                key=lambda row: row[1]))
        counts = self.report(joined("count", "--json"))
        self.assertEqual((counts["matched_keys"], counts["local_only_keys"],
                          counts["remote_only_keys"]),
                         (len(self.both), len(self.only_left), len(self.only_right)))

    def test_four_servers(self):
        ports = [self.serve(f"shard{i}").port for i in range(4)]
        found = self.rows(self.join(ports, "intersection"))
        self.assertEqual([row[0] for row in found], self.both)
        self.assertTrue(all(row[1].startswith("shard") for row in found))
        self.assertEqual([row[0] for row in self.rows(self.join(ports, "difference"))],
                         self.only_right)
        self.assertEqual(self.rows(self.join(ports, "local-only")),
                         [[key, f"left {key}"] for key in self.only_left])
        counts = self.report(self.join(ports, "count", "--json"))
        self.assertEqual((counts["matched_keys"], counts["local_only_keys"],
                          counts["remote_only_keys"]),
                         (len(self.both), len(self.only_left), len(self.only_right)))
        self.assertEqual(len(counts["remotes"]), 4)

    def test_every_strategy(self):
        port = self.serve().port
        for strategy in ["list", "keys", "symbols", "auto"]:
            found = self.rows(self.join([port], "difference", f"--strategy={strategy}"))
            self.assertEqual([row[0] for row in found], self.only_right, strategy)
        refused = self.join([port], "difference", "--strategy=guess")
        self.assertEqual(refused.code, 2)
        self.assertIn("symbols", refused.err)

    def test_output_appears_when_it_is_complete(self):
        port = self.serve().port
        output = self.directory / "rows.json"
        report = self.report(self.join([port], "difference", f"--output={output}",
                                       "--format=json", "--json"))
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([row["key"] for row in rows], self.only_right)
        self.assertEqual(report["rows"], len(rows))
        self.assertEqual(os.listdir(self.directory), ["rows.json"])
        failed = self.join([1], "difference", f"--output={self.directory / 'x'}", "--attempts=1")
        self.assertEqual(failed.code, 2, str(failed))
        self.assertEqual(os.listdir(self.directory), ["rows.json"])

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

    def test_explains_without_joining(self):
        port = self.serve().port
        plan = self.report(self.join([port], "difference", "--explain", "--json"))["remotes"][0]
        self.assertEqual((plan["local_keys"], plan["remote_keys"]),
                         (len(self.left), len(self.right)))
        self.assertEqual(plan["range_local_keys"], len(self.left))
        self.assertEqual(plan["range_remote_keys"], len(self.right))
        self.assertAlmostEqual(plan["range_common_keys"] / len(self.both), 1, delta=0.25)
        costs = {cost["name"]: cost["bytes"] for cost in plan["strategies"]}
        self.assertEqual(costs["auto"], min(costs.values()))
        joined = self.report(self.join([port], "count", "--json"))["remotes"][0]
        spent = joined["wire_sent_bytes"] + joined["wire_received_bytes"]
        self.assertLess(spent, 1.5 * costs["auto"] + 5000)
        analyzed = self.join([port], "difference", "--explain=analyze")
        self.assertIn("verification", analyzed.err)
        self.assertEqual([row[0] for row in self.rows(analyzed)], self.only_right)

    def test_replica_repair(self):
        """What is lacking comes as an SST file, is ingested, and then nothing is lacking."""
        port = self.serve().port
        output = self.directory / "lacking.sst"
        self.assertEqual(self.join([port], "difference", f"--output={output}",
                                   "--format=sst").code, 0)
        replica = self.directory / "replica"
        shutil.copytree(self.class_directory / "left", replica)
        run_ok("ldb", f"--db={replica}", "ingest_extern_sst", output, preload=[PLUGIN])
        counts = self.report(run(ROCKSIEVE, "join", f"--db={replica}", "--op=count", "--insecure",
                                 f"--remote=127.0.0.1:{port}", "--json"))
        self.assertEqual((counts["remote_only_keys"], counts["matched_keys"]),
                         (0, len(self.right)))

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

    def test_wrong_certificates_and_none(self):
        server = self.serve(secure=True)
        address = f"--remote=127.0.0.1:{server.port}"
        database = f"--db={self.class_directory / 'left'}"
        foreign, ours = self.class_directory / "foreign", self.class_directory / "certs"
        for flags in [[f"--certs={foreign}"], ["--insecure"],
                      [f"--ca={ours}/ca.crt", f"--cert={foreign}/client.crt",
                       f"--key={foreign}/client.key"],
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

    def test_tokens(self):
        tokens = write_lines(self.directory / "tokens", ["# one", "0123456789abcdef01234567"])
        wrong = write_lines(self.directory / "wrong", ["x" * 24])
        port = self.serve("right", f"--token-file={tokens}", secure=True).port
        for flags in [[], [f"--token-file={wrong}"]]:
            failed = self.join([port], "count", *flags, secure=True)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn("--token-file", failed.err)
        self.assertEqual(self.join([port], "count", f"--token-file={tokens}", secure=True).code, 0)

    def test_serving_leaves_no_trace_and_ends_in_order(self):
        directory = self.class_directory / "right"

        def state():
            return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
                          for entry in os.scandir(directory))

        before = state()
        server = self.serve()
        self.assertEqual(self.join([server.port], "count").code, 0)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(timeout=20), 0)
        self.assertEqual(state(), before)

    def test_unknown_column_family_and_attribute(self):
        port = self.serve().port
        for flag in ["--remote-column-family=orders", "--right-on=nonsense("]:
            failed = self.join([port], "count", flag)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn(f"127.0.0.1:{port}", failed.err)

    def test_attributes(self):
        """Orders there, customers here: the orders whose customer is here."""
        customers = write_lines(self.directory / "customers", (f"c{i:04d}\tname {i}"
                                                              for i in range(0, 1000, 3)))
        orders = [(f"o{i:05d}", f"c{self.random.randrange(1000):04d}") for i in range(3000)]
        rows = write_lines(self.directory / "orders", (
            f'{order}\t{{"customer": "{customer}", "n": 1}}' for order, customer in orders))
        for name, path in [("customers.db", customers), ("orders.db", rows)]:
            run_ok(ROCKSIEVE, "load", f"--db={self.directory / name}", "--spec=rocksieve.bloom:10",
                   f"--input={path}")
        server = self.serve(self.directory / "orders.db")
        found = run(ROCKSIEVE, "join", f"--db={self.directory / 'customers.db'}", "--insecure",
                    f"--remote=127.0.0.1:{server.port}", "--op=intersection",
                    "--right-on=value.json(/customer)")
        self.assertEqual(sorted(row[0] for row in self.rows(found)),
                         sorted(order for order, customer in orders if int(customer[1:]) % 3 == 0))

    def test_rows_without_the_attribute_and_shards(self):
        """Rows here without it match nothing in any shard, and come once."""
        rows = [(f"r{i:05d}", f'{{"key": "{self.left[i]}"}}' if i % 5 else "no JSON")
                for i in range(2000)]
        path = write_lines(self.directory / "rows", (f"{key}\t{value}" for key, value in rows))
        database = self.directory / "db"
        run_ok(ROCKSIEVE, "load", f"--db={database}", "--spec=none", f"--input={path}")
        right = set(self.right)
        lacking = sorted(key for i, (key, _) in enumerate(rows)
                         if i % 5 == 0 or self.left[i] not in right)
        ports = [self.serve(f"shard{i}").port for i in range(2)]
        two_shards = set(self.shards[0]) | set(self.shards[1])
        lacking_in_two = sorted(key for i, (key, _) in enumerate(rows)
                                if i % 5 == 0 or self.left[i] not in two_shards)
        for remotes, expected in (([self.serve().port], lacking), (ports, lacking_in_two)):
            remote = ",".join(f"127.0.0.1:{port}" for port in remotes)
            found = run(ROCKSIEVE, "join", f"--db={database}", "--insecure", f"--remote={remote}",
                        "--op=local-only", "--left-on=value.json(/key)", "--range-keys=300")
            self.assertEqual(sorted(row[0] for row in self.rows(found)), expected)


if __name__ == "__main__":
    unittest.main()
