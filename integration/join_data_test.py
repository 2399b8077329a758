#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins of unusual data: none, one key, equal sides, any bytes, giant values, damaged files, rows that
change while they are joined; and of one side with several servers."""

import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import unittest

from environment import run_ok, thorough
from join_support import (MIB, ROCKSIEVE, JoinSandbox, StepRelay, damage, load,
                          memory_high_water_mark)


class JoinDataTest(JoinSandbox):
    KEYS = 20000

    def counts_of(self, left, right, *flags):
        server = self.serve(right)
        return self.counts(self.join([server.port], "count", "--json", *flags, left=left))

    def copy(self, name, copied):
        return shutil.copytree(self.class_directory / name, self.class_directory / copied)

    def test_sides_without_keys_with_one_and_equal_ones(self):
        load(self.class_directory / "empty", [])
        some_key = self.both[len(self.both) // 2]
        load(self.class_directory / "one", [f"{some_key}\tone"])
        self.copy("left", "copy")
        left, right = len(self.left), len(self.right)
        for here, there, expected in [
                ("empty", "empty", (0, 0, 0)), ("empty", "right", (0, 0, right)),
                ("left", "empty", (0, left, 0)), ("one", "right", (1, 0, right - 1)),
                ("left", "copy", (left, 0, 0))]:
            self.assertEqual(self.counts_of(here, there), expected, f"{here} {there}")
        report = self.report(self.join([self.serve("copy").port], "symmetric", "--json",
                                       "--explain=analyze", f"--output={self.directory / 'none'}"))
        [report] = report["remotes"]
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
        text = answer = b"".join(escaped(key) + b"\t" + escaped(rows[key]) + b"\n"
                                 for key in sorted(rows))
        load(self.class_directory / "no-bytes", [])
        for name in ("bytes", "copied-bytes"):
            loaded = subprocess.run([ROCKSIEVE, "load", f"--db={self.class_directory / name}",
                                     "--spec=rocksieve.bloom:10", "--input=-", "--escaped"],
                                    input=answer, capture_output=True, timeout=60)
            self.assertEqual((0, b""), (loaded.returncode, loaded.stderr))
            answer = subprocess.run(
                self.join_command([self.serve(name).port], "difference", left="no-bytes"),
                stdout=subprocess.PIPE, check=True, timeout=60).stdout
            self.assertEqual(text, answer)

    @thorough
    def test_a_giant_value(self):
        """Larger than any frame or message; memory is some times the value, on either side."""
        value = base64.b64encode(os.urandom(48 * MIB)).decode()  # 64 MiB that do not compress
        lines = self.directory / "lines"
        lines.write_text(f"giant ==> {value}\nsmall ==> 1\n")
        with open(lines, "rb") as file:
            subprocess.run(["ldb", f"--db={self.class_directory / 'giant'}", "load",
                            "--create_if_missing"], stdin=file, check=True, timeout=120)
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
        self.assert_refused(self.join([server.port], "difference", "--largest-row=32"),
                            f"127.0.0.1:{server.port}", "--largest-row", "in the range ")

    def test_server_with_little_memory(self):
        """Once, with symbols or more threads, two ranges at work did not fit beside the queues."""
        keys = sorted({f"{self.random.randrange(10**12):012d}" for _ in range(60_000)})
        sides = {name: {key for key in keys if self.random.random() < 0.6} for name in ("few", "others")}
        for name, of_side in sides.items():
            self.load_class_database(name, sorted(of_side))
        wanted = sorted(sides["few"] & sides["others"])
        for memory in 2, 3, 4:
            server = self.serve("others", f"--memory={memory}", "--sessions=1")
            for strategy in "symbols", "sketch", "cuckoo", "ping-pong":
                for threads in 1, 4:
                    with self.subTest(memory=memory, strategy=strategy, threads=threads):
                        joined = self.join([server.port], "intersection", f"--strategy={strategy}",
                                           f"--threads={threads}", "--attempts=1", left="few")
                        self.assertEqual(self.keys(joined), wanted)

    def test_damaged_files(self):
        """A table file of which a block in the middle is overwritten, on either side."""
        for here, there, says, says_not in [
                ("damaged-left", "right", "on this side", "the other side failed"),
                ("left", "damaged-right", "the other side failed", "on this side")]:
            whose = here if here != "left" else there
            damage(self.copy(whose.removeprefix("damaged-"), whose), 0.25, 2000, b"\xa5")
            port = self.serve(there).port
            output = self.directory / "rows"
            for flags in (["symmetric", f"--output={output}"], ["count"]):
                failed = self.join([port], *flags, "--range-keys=2000", left=here)
                self.assert_refused(failed, f"127.0.0.1:{port}", ".sst", "in the range ",
                                    "orruption", "backup", says, code=1)
                self.assertNotIn(says_not, failed.err)
                self.assertFalse(output.exists())

    def test_rows_that_change_meanwhile(self):
        """The answer is that of the moment at which the join began, on both sides."""
        databases = [(self.copy(name, f"changing-{name}"), keys)
                     for name, keys in (("left", self.left), ("right", self.right))]
        changed = []

        def change(connection, step):
            if step != "facts" or changed:
                return
            changed.append(step)
            for database, keys in databases:
                for key in keys[-3:]:
                    run_ok("ldb", f"--db={database}", "delete", key)
                run_ok("ldb", f"--db={database}", "batchput", "zzz new", "1", keys[-5], "changed")
                run_ok("ldb", f"--db={database}", "compact", timeout=120)

        relay = self.relay(self.serve("changing-right"), StepRelay, change)
        found = self.rows(self.join([relay.port], "symmetric", "--range-keys=2000",
                                    left="changing-left"))
        self.assertTrue(changed)
        self.assertEqual(found, self.expected("symmetric"))
        # The next join sees the new state.
        left, right = ((set(keys) - set(keys[-3:])) | {"zzz new", keys[-5]} for _, keys in databases)
        self.assertEqual(self.counts_of("changing-left", "changing-right"),
                         (len(left & right), len(left - right), len(right - left)))


WORDS = pathlib.Path("/usr/share/dict/american-english-insane")


def words():
    if WORDS.exists():
        return sorted(set(WORDS.read_bytes().split(b"\n")) - {b""})
    return sorted({f"word {i:x}".encode() for i in range(300000)})  # without the package


class JoinShardsTest(JoinSandbox):
    """This side is read once for all servers."""

    KEYS = 10000

    def make(self, name, keys):
        """Keys are bytes."""
        path = self.class_directory / f"{name}.keys"
        path.write_bytes(b"".join(key + b"\n" for key in sorted(keys)))
        load(self.class_directory / name, path)

    def test_words_on_three_servers(self):
        """Some of them on two."""
        all_words = words()[::5]
        here = {word for word in all_words if self.random.random() < 0.7}
        there = [word for word in all_words if self.random.random() < 0.7]
        shards = [set() for _ in range(3)]
        for word in there + there[::100]:
            self.random.choice(shards).add(word)
        self.make("words", here)
        for i, shard in enumerate(shards):
            self.make(f"words{i}", shard)
        ports = [self.serve(f"words{i}").port for i in range(3)]
        copies = sorted(word for shard in shards for word in shard)
        flags = ["--range-keys=40000"]
        for op, expected in (("intersection", [word for word in copies if word in here]),
                             ("difference", [word for word in copies if word not in here]),
                             ("local-only", sorted(here - set(there)))):
            path = self.directory / op
            self.assertEqual(self.join(ports, op, *flags, f"--output={path}", left="words").code, 0)
            found = [line.split(b"\t")[0] for line in path.read_bytes().splitlines()]
            self.assertTrue(found == expected, op)
        report = self.report(self.join(ports, "count", "--json", *flags, "--explain=analyze",
                                       left="words"))
        self.assertEqual((report["matched_keys"], report["local_only_keys"]),
                         (len(here & set(there)), len(here - set(there))))
        # Keys on two shards count twice among those there.
        self.assertEqual(report["remote_only_keys"], sum(word not in here for word in copies))
        # Each key is hashed once for all servers, and again by each session that repeats its range
        # since the sums contradicted each other, which chance makes one in some hundred do.
        repeated = sum(one["repeats"] * one["local_keys"]
                       for remote in report["remotes"] for one in remote["range_reports"])
        self.assertEqual(sum(remote["keys_hashed"] for remote in report["remotes"]),
                         len(here) + repeated, report)

    def test_orders_by_customer(self):
        """Customers here, orders on two servers, by an expression; rows with a NULL key come once."""
        customers = [f"c{i:04d}\tname {i}" for i in range(0, 1000, 3)]
        load(self.class_directory / "customers", customers)
        of_customer = {f"o{i:05d}": self.random.randrange(1000) if i % 10 else None
                       for i in range(6000)}
        lines = [f"{order}\tnone" if customer is None else
                 f'{order}\t{{"customer": "c{customer:04d}"}}'
                 for order, customer in of_customer.items()]
        for part in range(2):
            load(self.class_directory / f"orders{part}", lines[part::2])
            load(self.class_directory / f"customers{part}", customers[part::2])
        ports = [self.serve(f"orders{part}").port for part in range(2)]
        without = [order for order, customer in of_customer.items()
                   if customer is None or customer % 3 != 0]
        for op, expected in (("difference", without),
                             ("intersection", sorted(set(of_customer) - set(without)))):
            found = self.keys(self.join(ports, op, "--right-on=value.json(/customer)",
                                        "--range-keys=100", left="customers"))
            self.assertEqual(sorted(found), expected, op)
        # The other way round: orders here are sorted by customer once, for two servers.
        ports = [self.serve(f"customers{part}").port for part in range(2)]
        found = self.keys(self.join(ports, "local-only", "--left-on=value.json(/customer)",
                                    "--range-keys=100", left="orders0"))
        self.assertEqual(sorted(found), [order for order in without if int(order[1:]) % 2 == 0])

    def test_one_of_the_servers_is_not_there(self):
        self.assert_refused(self.join([self.serve().port, 1], "count", "--attempts=1"),
                            "127.0.0.1:1:")


if __name__ == "__main__":
    unittest.main()
