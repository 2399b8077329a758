#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins of one side with two and four servers, on real data: words, paths of files, orders.

This side is read once for all of them. Results are compared with `comm` and `join` of sets.
"""

import os
import pathlib
import unittest

from environment import run_ok, thorough
from join_support import JoinSandbox, comm, load, write_lines

WORDS = pathlib.Path("/usr/share/dict/american-english-insane")


def words():
    if WORDS.exists():
        return sorted(set(WORDS.read_bytes().split(b"\n")) - {b""})
    return sorted({f"word {i:x}".encode() for i in range(300000)})  # without the package


def paths():
    found = (os.path.join(folder, name).encode("utf-8", "surrogateescape")
             for folder, _, names in os.walk("/usr") for name in names)
    return sorted({path for path in found if not set(path) & set(b"\t\n")})


class JoinShardsTest(JoinSandbox):
    KEYS = 10000

    def make(self, name, keys):
        """A database of keys as bytes, and a sorted file of them."""
        path = self.class_directory / f"{name}.keys"
        path.write_bytes(b"".join(key + b"\n" for key in sorted(keys)))
        load(self.class_directory / name, path)
        return path

    def sharded(self, name, keys, count):
        """So that some keys are on two shards."""
        shards = [[] for _ in range(count)]
        for key in keys:
            shards[self.random.randrange(count)].append(key)
            if self.random.random() < 0.01:
                shards[self.random.randrange(count)].append(key)
        shards = [sorted(set(shard)) for shard in shards]
        for i, shard in enumerate(shards):
            self.make(f"{name}{i}", shard)
        return shards, [self.serve(f"{name}{i}").port for i in range(count)]

    def check(self, name, all_keys, count):
        here = [key for key in all_keys if self.random.random() < 0.7]
        there = [key for key in all_keys if self.random.random() < 0.7]
        here_file = self.make(f"{name}-here", here)
        shards, ports = self.sharded(f"{name}-shard", there, count)
        there_file = write_lines(self.directory / f"{name}.there",
                                 (key.decode("utf-8", "surrogateescape") for key in there))
        both = comm("-12", here_file, there_file)
        only_here = comm("-23", here_file, there_file)
        only_there = comm("-13", here_file, there_file)
        left = f"{name}-here"

        def found(op):
            """Keys, each as often as shards have it."""
            return self.keys(self.join(ports, op, "--range-keys=40000", left=left))

        copies = {}
        for shard in shards:
            for key in shard:
                copies[key] = copies.get(key, 0) + 1
        for op, expected in [("intersection", both), ("difference", only_there)]:
            rows = found(op)
            self.assertEqual(sorted(set(rows)), sorted(expected), op)
            self.assertEqual(len(rows), sum(
                copies[key.encode("utf-8", "surrogateescape")]
                for key in map(self.undo_backslashes, expected)), op)
            self.assertEqual(rows, sorted(rows), op)  # in key order
        self.assertEqual(found("local-only"), only_here)
        report = self.report(self.join(ports, "count", "--json", "--range-keys=40000",
                                       "--explain=analyze", left=left))
        self.assertEqual((report["matched_keys"], report["local_only_keys"]),
                         (len(both), len(only_here)))
        # Keys on two shards count twice among those there.
        self.assertEqual(report["remote_only_keys"], sum(
            copies[key] for key in set(there) - set(here)))
        return report, here

    def assert_shared(self, report, keys):
        """Each key is hashed once for all servers, and again by each session that repeats its range
        since the sums contradicted each other, which chance makes one in some hundred do."""
        repeated = sum(one["repeats"] * one["local_keys"]
                       for remote in report["remotes"] for one in remote["range_reports"])
        self.assertEqual(sum(remote["keys_hashed"] for remote in report["remotes"]),
                         keys + repeated, report)

    @staticmethod
    def undo_backslashes(text):
        return (text.encode("latin-1", "backslashreplace").decode("unicode_escape")
                .encode("latin-1").decode("utf-8", "surrogateescape")
                if "\\x" in text else text)

    def test_words_on_two_servers(self):
        report, here = self.check("words", words()[::5], 2)
        self.assert_shared(report, len(here))

    @thorough
    def test_paths_on_four_servers(self):
        report, here = self.check("paths", paths()[:60000], 4)
        self.assert_shared(report, len(here))

    def test_a_small_side_and_four_large_servers(self):
        """This side begins, with one filter for all four."""
        keys = [key.encode() for key in self.right]
        load(self.class_directory / "small", self.left[::20])
        small = set(self.left[::20])
        ports = []
        for i in range(4):
            self.make(f"large{i}", keys + [b"%d of %d" % (j, i) for j in range(100)])
            ports.append(self.serve(f"large{i}").port)
        report = self.report(self.join(ports, "count", "--json", "--strategy=ribbon",
                                       "--explain=analyze", left="small"))
        matched = small & set(self.right)
        self.assertEqual((report["matched_keys"], report["local_only_keys"]),
                         (len(matched), len(small) - len(matched)))
        self.assert_shared(report, len(small))
        repeats = sum(r["repeated_ranges"] for r in report["remotes"])
        self.assertEqual(sum(r["filters"] for r in report["remotes"]), 4 + repeats)
        self.assertEqual(sum(r["filters_built"] for r in report["remotes"]), 1 + repeats)

    def test_orders_by_customer(self):
        """Customers here, orders on two servers, by an expression; rows with a NULL key come once."""
        customers = [f"c{i:04d}\tname {i}" for i in range(0, 1000, 3)]
        orders = [(f"o{i:05d}", f"c{self.random.randrange(1000):04d}") for i in range(6000)]
        load(self.class_directory / "customers", customers)
        for part in range(2):
            load(self.class_directory / f"orders{part}", [
                f'{order}\t{{"customer": "{customer}", "n": {i}}}' if i % 10 else f"{order}\tnone"
                for i, (order, customer) in enumerate(orders) if i % 2 == part])
        ports = [self.serve(f"orders{part}").port for part in range(2)]
        with_customer = {order: customer for i, (order, customer) in enumerate(orders) if i % 10}
        flags = ["--right-on=value.json(/customer)", "--range-keys=100"]
        for op, wanted in [("intersection", lambda c: c is not None and int(c[1:]) % 3 == 0),
                           ("difference", lambda c: c is None or int(c[1:]) % 3 != 0)]:
            found = self.keys(self.join(ports, op, *flags, left="customers"))
            self.assertEqual(sorted(found), sorted(
                order for order, _ in orders if wanted(with_customer.get(order))), op)
        # The other way round: orders here are sorted by customer once, for two servers.
        shards = [customers[0::2], customers[1::2]]
        for i, shard in enumerate(shards):
            load(self.class_directory / f"customers{i}", shard)
        ports = [self.serve(f"customers{i}").port for i in range(2)]
        found = self.keys(self.join(ports, "local-only", "--left-on=value.json(/customer)",
                                    "--range-keys=100", left="orders0"))
        self.assertEqual(sorted(found), sorted(
            order for i, (order, customer) in enumerate(orders)
            if i % 2 == 0 and (i % 10 == 0 or int(customer[1:]) % 3 != 0)))

    def test_one_of_the_servers_is_not_there(self):
        server = self.serve()
        failed = self.join([server.port, 1], "count", "--attempts=1")
        self.assertEqual(failed.code, 2, str(failed))
        self.assertIn("127.0.0.1:1:", failed.err)


if __name__ == "__main__":
    unittest.main()
