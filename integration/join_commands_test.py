#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`serve` and `join` between real processes: operations, output, reports.

Every result is compared with what sets say of the keys.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

from environment import lines_on_terminal, run, run_ok
from join_support import ROCKSIEVE, JoinSandbox, load


class JoinCommandsTest(JoinSandbox):
    def test_every_operation_over_tls(self):
        ports = [self.serve(secure=True).port]
        for op in ("intersection", "difference", "local-only", "symmetric"):
            self.assertEqual(self.rows(self.join(ports, op, secure=True)), self.expected(op))
        self.assertEqual(self.counts(self.join(ports, "count", "--json", secure=True)),
                         self.all_counts)

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
        for op, flags, says in (("intersection", [f"--output={self.directory}"], "is a directory"),
                                ("intersection", [f"--output={fifo}", "--format=sst"],
                                 "no regular file"),
                                ("count", [f"--output={target}"], "for rows")):
            self.assert_refused(self.join([port], op, *flags), says)
        self.assertEqual(target.read_text(), rows)

    def test_what_is_refused(self):
        port = self.serve().port
        here = f"127.0.0.1:{port}"
        for flags, says in (("--strategy=guess", "symbols"), ("--remote-column-family=orders", here),
                            ("--right-on=nonsense(", here)):
            self.assert_refused(self.join([port], "count", flags), says)
        self.assert_refused(run(ROCKSIEVE, "join", f"--db={self.class_directory / 'left'}",
                                f"--remote={here},ipv4:{here}", "--insecure", "--op=difference"),
                            "serve the same database")
        self.assert_refused(run(ROCKSIEVE, "serve", f"--db={self.class_directory / 'left'}",
                                "--listen=127.0.0.1:0", "--insecure", "--memory=1"), "--memory=2")

    def test_rows_with_a_null_key_are_counted(self):
        counted = self.join([self.serve().port], "count", "--left-on=key.bytes(-1,50)")
        self.assertIn(f"match nothing: {len(self.left):,} here, 0 there", counted.out)

    def test_filters_of_sst_files_go_first(self):
        port = self.serve().port
        output = self.directory / "rows.json"
        report = self.report(self.join([port], "symmetric", "--json", "--strategy=sst-filters",
                                       "--format=json", f"--output={output}"))
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([[row["side"], row["key"], row["value"]] for row in rows],
                         self.expected("symmetric"))
        self.assertEqual(len(rows), report["rows"])
        shard = report["remotes"][0]
        self.assertIn("used: the", shard["sst_filters_note"])
        self.assertGreater(shard["sst_filter_bytes"], 1000)
        lonely = self.only_right if "client" in shard["sst_filters_note"] else self.only_left
        self.assertGreater(shard["sst_filters_pruned_keys"], 0.9 * len(lonely))
        self.assertLessEqual(shard["sst_filters_pruned_keys"], len(lonely))
        self.assertEqual(shard["sst_filters_withdrawn_ranges"], 0)
        # By an expression they say nothing.
        report = self.report(self.join([port], "count", "--json", "--strategy=sst-filters",
                                       "--left-on=key.bytes(0)"))
        self.assertEqual(report["matched_keys"], len(self.both))
        self.assertIn("used: the server's", report["remotes"][0]["sst_filters_note"])

    def test_explains_without_joining(self):
        port = self.serve().port
        plan = self.report(self.join([port], "difference", "--explain", "--json"))["remotes"][0]
        for side, keys in (("local", self.left), ("remote", self.right)):
            self.assertEqual((plan[f"{side}_keys"], plan[f"range_{side}_keys"]), (len(keys),) * 2)
        self.assertAlmostEqual(plan["range_common_keys"] / len(self.both), 1, delta=0.25)
        costs = {cost["name"]: cost["bytes"] for cost in plan["strategies"]}
        self.assertEqual(costs["auto"], min(costs.values()))
        joined = self.report(self.join([port], "count", "--json"))["remotes"][0]
        spent = joined["wire_sent_bytes"] + joined["wire_received_bytes"]
        self.assertLess(spent, 1.5 * costs["auto"] + 5000)
        analyzed = self.join([port], "difference", "--explain=analyze")
        self.assertIn("verification", analyzed.err)
        self.assertEqual(self.keys(analyzed), self.only_right)

    def test_replica_repair(self):
        """As an example's page has it; and then nothing is lacking."""
        port = self.serve().port
        output, replica = self.directory / "lacking.sst", self.directory / "replica"
        shutil.copytree(self.class_directory / "left", replica)
        lacking = ["difference", f"--output={output}", "--format=sst"]
        self.assertEqual(self.join([port], *lacking).code, 0)
        # With the filters of the database that it is for, which keeps its policy.
        self.assertIn("rocksieve.ribbon:10", run_ok(ROCKSIEVE, "inspect", output).out)
        for wrong, message in (((self.directory / "none.sst",), "No such file"),
                               ((self.files["left"],), "Nothing was ingested"),
                               ((output, "--column-family=other"), "no column family other")):
            self.assert_refused(run(ROCKSIEVE, "ingest", f"--db={replica}", *wrong), message)
        reverse = load(self.directory / "reverse", ["a\tb"], "rocksieve.bloom:10",
                       "--options=comparator=rocksdb.ReverseBytewiseComparator")
        self.assert_refused(run(ROCKSIEVE, "ingest", f"--db={reverse}", output), "are ordered by")
        self.assert_refused(self.join([port], "difference", f"--output={self.directory / 'x.sst'}",
                                      "--format=sst", "--left-on=key.bytes(0)", left=reverse),
                            "are in bytewise order")
        run_ok(ROCKSIEVE, "ingest", f"--db={replica}", output)
        # Old rows must not be ingested again: there is no file without rows.
        self.assertNotEqual(self.join([1], *lacking, "--attempts=1", left=replica).code, 0)
        self.assertTrue(output.exists())
        done = self.join([port], *lacking, left=replica)
        self.assert_refused(done, "no rows, and RocksDB has no SST files without rows: there is no "
                            f"{output}", code=0)
        self.assertFalse(output.exists())

    def test_options_that_cannot_be_read(self):
        replica, output = self.directory / "replica", self.directory / "rows.sst"
        shutil.copytree(self.class_directory / "left", replica)
        for options in replica.glob("OPTIONS-*"):
            options.write_text("[Version]\n  rocksdb_version=x\n")
        self.assert_refused(self.join([self.serve().port], "difference", "--format=sst",
                                      f"--output={output}", left=replica),
                            "cannot read the options of")
        self.assertFalse(output.exists())

    def test_progress_fits_the_terminal(self):
        relay = self.relay(self.serve())
        relay.bytes_per_second = 60_000  # some seconds: it says nothing in the first two
        lines = lines_on_terminal(40, *self.join_command([relay.port], "symmetric"))
        self.assertLess(max(map(len, lines)), 40)
        self.assertTrue(any(re.match("rocksieve join: (reading this side|joining)", line)
                            for line in lines), lines)


class NarrowTerminalTest(JoinSandbox):
    """Reports on a terminal of 60 columns: nothing is wider, and no number is cut."""

    KEYS = 20000
    COLUMNS = 60

    def lines(self, columns, *command):
        return lines_on_terminal(columns, *command, stream="stdout")

    def test_nothing_is_wider(self):
        tree = self.class_directory / "tree"
        run_ok("db_bench", f"--db={tree}", "--benchmarks=fillrandom,waitforcompaction",
               "--num=100000", "--bloom_bits=10", "--write_buffer_size=1000000", "--seed=1",
               "--target_file_size_base=1000000", "--max_bytes_for_level_base=4000000",
               "--partition_index_and_filters=true", "--metadata_block_size=1024")
        port = self.serve().port
        inspect = [ROCKSIEVE, "inspect",
                   max(tree.glob("*.sst"), key=lambda path: path.stat().st_size)]
        for leaves_out, command in (
                (True, [ROCKSIEVE, "explain", f"--db={tree}"]), (True, inspect),
                (True, [ROCKSIEVE, "whatif", f"--db={tree}"]),
                (False, [ROCKSIEVE, "doctor", f"--db={self.class_directory / 'left'}"]),
                (True, self.join_command([port], "count", "--explain=analyze", "--range-keys=2000")),
                (False, self.join_command([port], "count", "--explain=plan"))):
            lines = self.lines(self.COLUMNS, *command)
            text = "\n".join(lines)
            self.assertGreater(len(lines), 1)
            # A path has no spaces at which it could be broken.
            wide = [line for line in lines if len(line) > self.COLUMNS and " " in line.strip()]
            self.assertEqual(wide, [], text)
            if leaves_out:
                self.assertIn("Not shown, for the terminal is narrow", text)
            if "explain" in command:
                [keys] = re.findall(r"\d+ files?, ([\d,]+) keys", text)
                self.assertRegex(text, rf"(?m)^all .* {keys} ")
        # A wide terminal and a pipe have the same.
        self.assertEqual([line for line in self.lines(300, *inspect) if line],
                         [line for line in run_ok(*inspect).out.splitlines() if line])


if __name__ == "__main__":
    unittest.main()
