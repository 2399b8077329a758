#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins of unusual data: none, one key, equal sides, a giant value, damaged files, rows that change
while they are joined."""

import base64
import hashlib
import os
import shutil
import subprocess
import unittest

from environment import run_ok, thorough
from join_steps import StepProxy
from join_support import ROCKSIEVE, JoinSandbox, load, memory_high_water_mark

MIB = 1 << 20
OPERATIONS = ["intersection", "difference", "local-only", "symmetric", "count"]


def table_files(database):
    return sorted(database.glob("*.sst"), key=lambda path: -path.stat().st_size)


class JoinDataTest(JoinSandbox):
    KEYS = 20000

    def counts_of(self, left, right, *flags):
        server = self.serve(right)
        return self.counts(self.join([server.port], "count", "--json", *flags, left=left))

    def test_sides_without_keys_with_one_and_equal_ones(self):
        empty = self.class_directory / "empty"
        run_ok("ldb", f"--db={empty}", "--create_if_missing", "put", "gone", "1")
        run_ok("ldb", f"--db={empty}", "delete", "gone")
        some_key = self.both[len(self.both) // 2]
        load(self.class_directory / "one", [f"{some_key}\tone"])
        load(self.class_directory / "other", ["no such key\tother"])
        shutil.copytree(self.class_directory / "left", self.class_directory / "copy")
        left, right = len(self.left), len(self.right)
        for here, there, expected in [
                ("empty", "empty", (0, 0, 0)), ("empty", "right", (0, 0, right)),
                ("left", "empty", (0, left, 0)), ("one", "right", (1, 0, right - 1)),
                ("left", "one", (1, left - 1, 0)), ("one", "one", (1, 0, 0)),
                ("one", "other", (0, 1, 1)), ("left", "copy", (left, 0, 0))]:
            self.assertEqual(self.counts_of(here, there), expected, f"{here} {there}")
        server = self.serve("one")
        self.assertEqual(self.rows(self.join([server.port], "intersection")), [[some_key, "one"]])
        server = self.serve("copy")
        report = self.report(self.join([server.port], "symmetric", "--json", "--explain=analyze",
                                       f"--output={self.directory / 'none'}"))["remotes"][0]
        self.assertEqual(report["equal_ranges"], report["ranges"])
        self.assertEqual([r["strategies"] for r in report["range_reports"]],
                         [[]] * report["ranges"])
        self.assertEqual((self.directory / "none").read_bytes(), b"")

    def test_any_bytes_go_through_a_pipe_into_load(self):
        def escaped(data):
            for byte, letter in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r"),
                                 (b"\0", b"\\0")):
                data = data.replace(byte, letter)
            return data

        alphabet = bytes(range(256)) + b"\\\t\n\r\0tnr0" * 20
        rows = {bytes(self.random.choices(alphabet, k=self.random.randint(1, 12))):
                bytes(self.random.choices(alphabet, k=self.random.randint(0, 12)))
                for _ in range(2000)}
        text = b"".join(escaped(key) + b"\t" + escaped(rows[key]) + b"\n" for key in sorted(rows))

        def loaded(name, lines):
            command = [ROCKSIEVE, "load", f"--db={self.class_directory / name}",
                       "--spec=rocksieve.bloom:10", "--input=-", "--escaped"]
            finished = subprocess.run(command, input=lines, capture_output=True, timeout=60)
            self.assertEqual((0, b""), (finished.returncode, finished.stderr))
            return self.serve(name)

        load(self.class_directory / "no-bytes", [])
        answers = []
        for name in ("bytes", "copied-bytes"):
            server = loaded(name, answers[-1] if answers else text)
            finished = subprocess.run(self.join_command([server.port], "difference", left="no-bytes"),
                                      capture_output=True, timeout=60)
            self.assertEqual(0, finished.returncode, finished.stderr)
            answers.append(finished.stdout)
        self.assertEqual(text, answers[0])
        self.assertEqual(text, answers[1])

    @thorough
    def test_a_giant_value(self):
        """Larger than any frame or message; memory is some times the value, on either side."""
        value = base64.b64encode(os.urandom(48 * MIB)).decode()  # 64 MiB that do not compress
        database = self.class_directory / "giant"
        lines = self.directory / "lines"
        lines.write_text(f"giant ==> {value}\nsmall ==> 1\n")
        with open(lines, "rb") as file:
            subprocess.run(["ldb", f"--db={database}", "load", "--create_if_missing"], stdin=file,
                           check=True, timeout=120)
        lines.unlink()
        server = self.serve("giant", "--memory=64")
        output = self.directory / "rows"
        process = subprocess.Popen(self.join_command([server.port], "difference",
                                                     f"--output={output}"),
                                   stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        wanted = hashlib.sha256(f"giant\t{value}\nsmall\t1\n".encode()).digest()
        self.assertEqual(hashlib.sha256(output.read_bytes()).digest(), wanted)
        self.assertLess(used.ru_maxrss * 1024, 600 * MIB)
        self.assertLess(memory_high_water_mark(server.pid), 600 * MIB)
        refused = self.join([server.port], "difference", "--largest-row=32")
        self.assertEqual(refused.code, 2, str(refused)[:1000])
        for words in [f"127.0.0.1:{server.port}", "--largest-row", "in the range "]:
            self.assertIn(words, refused.err)

    def test_server_with_little_memory(self):
        """Once, with symbols or more threads, two ranges at work did not fit beside the queues."""
        keys = sorted({f"{self.random.randrange(10**12):012d}" for _ in range(60_000)})
        sides = {name: [key for key in keys if self.random.random() < 0.6]
                 for name in ("few", "others")}
        for name, of_side in sides.items():
            self.load_class_database(name, of_side)
        wanted = sorted(set(sides["few"]) & set(sides["others"]))
        for memory in 3, 4:
            server = self.serve("others", f"--memory={memory}", "--sessions=1")
            for strategy in "symbols", "sketch", "cuckoo", "ping-pong":
                for threads in 1, 4:
                    with self.subTest(memory=memory, strategy=strategy, threads=threads):
                        joined = self.join([server.port], "intersection", f"--strategy={strategy}",
                                           f"--threads={threads}", "--attempts=1", left="few")
                        self.assertEqual(self.keys(joined), wanted)

    @thorough
    def test_giant_keys(self):
        """Keys of 4 MiB, under a limit that has room for none: some of them are held, never all."""
        database = self.class_directory / "giants"
        lines = self.directory / "lines"
        with open(lines, "wb") as file:
            for _ in range(26):
                file.write(base64.b64encode(self.random.randbytes(3 * MIB)) + b" ==> 1\n")
        with open(lines, "rb") as file:
            subprocess.run(["ldb", f"--db={database}", "load", "--create_if_missing"], stdin=file,
                           check=True, timeout=120)
        lines.unlink()
        run_ok("ldb", f"--db={database}", "compact")
        server = self.serve("giants", "--memory=4")
        self.assertEqual(self.counts(self.join([server.port], "count", "--json")),
                         (0, len(self.left), 26))
        refused = self.join([server.port], "count", "--strategy=keys")
        self.assertEqual(refused.code, 2, str(refused)[:1000])
        for words in [f"127.0.0.1:{server.port}: the other side failed: ", "another strategy"]:
            self.assertIn(words, refused.err)
        self.assertLess(memory_high_water_mark(server.pid), 350 * MIB)

    def test_damaged_files(self):
        """A table file of which a block in the middle is overwritten, on either side."""
        for name in ["left", "right"]:
            damaged = self.class_directory / f"damaged-{name}"
            shutil.copytree(self.class_directory / name, damaged)
            path = table_files(damaged)[0]
            with open(path, "r+b") as file:
                file.seek(path.stat().st_size // 4)
                file.write(b"\xa5" * 2000)
        for here, there, whose in [("damaged-left", "right", "left"),
                                   ("left", "damaged-right", "right")]:
            server = self.serve(there)
            for op in OPERATIONS:
                output = self.directory / op
                to_file = [f"--output={output}"] if op != "count" else []
                failed = self.join([server.port], op, *to_file, "--range-keys=2000", left=here)
                self.assertEqual(failed.code, 1, f"{whose} {op}: {failed}")
                for words in [f"127.0.0.1:{server.port}", ".sst", "in the range ", "orruption",
                              "backup"]:
                    self.assertIn(words, failed.err, f"{whose} {op}")
                self.assertEqual("the other side failed" in failed.err, whose == "right")
                self.assertEqual("on this side" in failed.err, whose == "left")
                self.assertFalse(output.exists())

    def test_rows_that_change_meanwhile(self):
        """The answer is that of the moment at which the join began, on both sides."""
        for name in ["left", "right"]:
            shutil.copytree(self.class_directory / name, self.class_directory / f"changing-{name}")
        server = self.serve("changing-right")
        changed = []

        def change(connection, step):
            if step != "facts" or changed:
                return
            changed.append(step)
            for name, keys in [("left", self.left), ("right", self.right)]:
                database = self.class_directory / f"changing-{name}"
                gone = [word for key in keys[-3:] for word in (key,)]
                for key in gone:
                    run_ok("ldb", f"--db={database}", "delete", key)
                run_ok("ldb", f"--db={database}", "batchput", "zzz new", "1", keys[-5], "changed")
                run_ok("ldb", f"--db={database}", "compact", timeout=120)

        proxy = StepProxy(server.port, change)
        self.addCleanup(proxy.close)
        found = self.rows(self.join([proxy.port], "symmetric", "--range-keys=2000",
                                    left="changing-left"))
        self.assertTrue(changed)
        self.assertEqual(found, sorted(
            [["local", key, f"left {key}"] for key in self.only_left] +
            [["remote", key, f"right {key}"] for key in self.only_right], key=lambda row: row[1]))
        # The next join sees the new state.
        _, local_only, remote_only = self.counts_of("changing-left", "changing-right")
        left = (set(self.left) - set(self.left[-3:])) | {"zzz new", self.left[-5]}
        right = (set(self.right) - set(self.right[-3:])) | {"zzz new", self.right[-5]}
        self.assertEqual((local_only, remote_only), (len(left - right), len(right - left)))


if __name__ == "__main__":
    unittest.main()
