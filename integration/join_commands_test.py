#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`serve` and `join` between real processes: operations, strategies, output, reports.

Every result is compared with what `comm` says of the sorted keys.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from environment import lines_on_terminal, run, run_ok
from join_support import ROCKSIEVE, JoinSandbox, write_lines


class JoinCommandsTest(JoinSandbox):
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

    def test_output_is_what_it_was(self):
        port = self.serve().port
        target, link, fifo = (self.directory / name for name in ("target", "link", "fifo"))
        target.write_text("old")
        target.chmod(0o600)
        link.symlink_to(target)
        self.assertEqual(self.join([port], "intersection", f"--output={link}").code, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.stat().st_mode & 0o777, 0o600)
        rows = target.read_text()
        self.assertEqual(len(rows.splitlines()), len(self.both))

        os.mkfifo(fifo)
        read = self.directory / "read"
        with read.open("w") as file, subprocess.Popen(["cat", fifo], stdout=file) as reader:
            self.assertEqual(self.join([port], "intersection", f"--output={fifo}").code, 0)
            self.assertEqual(reader.wait(timeout=60), 0)
        self.assertEqual(read.read_text(), rows)
        self.assertTrue(fifo.is_fifo())
        for flags, says in (([f"--output={self.directory}"], "is a directory"),
                            ([f"--output={fifo}", "--format=sst"], "no regular file")):
            refused = self.join([port], "intersection", *flags)
            self.assertEqual(refused.code, 2)
            self.assertIn(says, refused.err)
        refused = self.join([port], "count", f"--output={target}")
        self.assertEqual(refused.code, 2)
        self.assertIn("for rows", refused.err)
        self.assertEqual(target.read_text(), rows)

    def test_rows_with_a_null_key_are_counted(self):
        counted = self.join([self.serve().port], "count", "--left-on=key.bytes(-1,50)")
        self.assertIn(f"match nothing: {len(self.left):,} here, 0 there", counted.out)

    def test_one_database_under_two_addresses(self):
        port = self.serve().port
        addresses = f"127.0.0.1:{port},ipv4:127.0.0.1:{port}"
        refused = run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                      f"--remote={addresses}", "--insecure", "--op=difference")
        self.assertEqual(refused.code, 2)
        self.assertIn("serve the same database", refused.err)

    def test_every_strategy(self):
        port = self.serve().port
        for strategy in ["list", "keys", "symbols", "auto", "sst-filters"]:
            found = self.rows(self.join([port], "difference", f"--strategy={strategy}"))
            self.assertEqual([row[0] for row in found], self.only_right, strategy)
        refused = self.join([port], "difference", "--strategy=guess")
        self.assertEqual(refused.code, 2)
        self.assertIn("symbols", refused.err)

    def test_filters_of_sst_files_go_first(self):
        port = self.serve().port
        for op in ["intersection", "difference", "local-only", "symmetric", "count"]:
            report = self.report(self.join([port], op, "--json", "--strategy=sst-filters",
                                           *([] if op == "count" else
                                             [f"--output={self.directory / op}"])))
            self.assertEqual((report["matched_keys"], report["local_only_keys"],
                              report["remote_only_keys"]),
                             (len(self.both), len(self.only_left), len(self.only_right)), op)
            shard = report["remotes"][0]
            self.assertIn("used: the", shard["sst_filters_note"])
            self.assertGreater(shard["sst_filter_bytes"], 1000)
            lonely = (self.only_right if "client" in shard["sst_filters_note"]
                      else self.only_left)
            self.assertGreater(shard["sst_filters_pruned_keys"], 0.9 * len(lonely))
            self.assertLessEqual(shard["sst_filters_pruned_keys"], len(lonely))
            self.assertEqual(shard["sst_filters_withdrawn_ranges"], 0)
        # By an expression they say nothing.
        report = self.report(self.join([port], "count", "--json", "--strategy=sst-filters",
                                       "--left-on=key.bytes(0)"))
        self.assertEqual(report["matched_keys"], len(self.both))
        self.assertIn("used: the server's", report["remotes"][0]["sst_filters_note"])

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
        # With the filters of the database that it is for, which keeps its policy.
        self.assertIn("rocksieve.ribbon:10", run_ok(ROCKSIEVE, "inspect", output).out)
        for wrong, message in (((self.directory / "none.sst",), "No such file"),
                               ((self.class_directory / "left.keys",), "Nothing was ingested"),
                               ((output, "--column-family=other"), "no column family other")):
            refused = run(ROCKSIEVE, "ingest", f"--db={replica}", *wrong)
            self.assertEqual((2, ""), (refused.code, refused.out), refused)
            self.assertIn(message, refused.err)
        run_ok(ROCKSIEVE, "ingest", f"--db={replica}", output)
        healthy = run_ok(ROCKSIEVE, "doctor", f"--db={replica}").out
        self.assertRegex(healthy, "healthy(.|\n)*rocksieve.ribbon:10")
        counts = self.report(run(ROCKSIEVE, "join", f"--db={replica}", "--op=count", "--insecure",
                                 f"--remote=127.0.0.1:{port}", "--json"))
        self.assertEqual((counts["remote_only_keys"], counts["matched_keys"]),
                         (0, len(self.right)))
        # Old rows must not be ingested again: there is no file without rows.
        again = [ROCKSIEVE, "join", f"--db={replica}", "--op=difference", "--insecure",
                 f"--output={output}", "--format=sst"]
        self.assertNotEqual(run(*again, "--remote=127.0.0.1:1", "--attempts=1").code, 0)
        self.assertTrue(output.exists())
        done = run_ok(*again, f"--remote=127.0.0.1:{port}")
        self.assertFalse(output.exists())
        self.assertIn(f"no rows, and RocksDB has no SST files without rows: there is no {output}",
                      done.err)

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

    def test_unknown_column_family_and_expression(self):
        port = self.serve().port
        for flag in ["--remote-column-family=orders", "--right-on=nonsense("]:
            failed = self.join([port], "count", flag)
            self.assertEqual(failed.code, 2, str(failed))
            self.assertIn(f"127.0.0.1:{port}", failed.err)

    def test_expressions(self):
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

    def test_options_that_cannot_be_read(self):
        replica = self.directory / "replica"
        shutil.copytree(self.class_directory / "left", replica)
        for options in replica.glob("OPTIONS-*"):
            options.write_text("[Version]\n  rocksdb_version=x\n")
        refused = self.join([self.serve().port], "difference", "--format=sst",
                            f"--output={self.directory / 'rows.sst'}", left=replica)
        self.assertEqual(2, refused.code, refused)
        self.assertIn("cannot read the options of", refused.err)
        self.assertFalse((self.directory / "rows.sst").exists())

    def test_progress_fits_the_terminal(self):
        proxy = self.proxy(self.serve())
        proxy.bytes_per_second = 60_000  # some seconds: it says nothing in the first two
        lines = lines_on_terminal(40, *self.join_command([proxy.port], "symmetric"))
        self.assertLess(max(map(len, lines)), 40)
        self.assertTrue(any(re.match("rocksieve join: (reading this side|joining)", line)
                            for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
