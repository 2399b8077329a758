# SPDX-License-Identifier: Apache-2.0
"""Joins by the C interface: examples/python/join.py, and callers that pass nonsense."""

import ctypes
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, run, run_ok
from join_support import JoinSandbox, write_lines

EXAMPLE = ROOT / "examples" / "python" / "join.py"
LIBRARY = BUILD / "lib" / "librocksieve_join.so"
sys.path.insert(0, str(EXAMPLE.parent))

from join import Joins, OnRow


class Python(JoinSandbox):
    KEYS = 5000

    def setUp(self):
        super().setUp()
        self.server = self.serve(secure=True)
        self.settings = {"db": self.class_directory / "left",
                         "remote": f"127.0.0.1:{self.server.port}"}
        certificates = self.certificates() / "client"
        for name, file in (("ca", "ca.crt"), ("cert", "client.crt"), ("key", "client.key")):
            self.settings[name] = certificates / file
        self.joins = Joins(str(LIBRARY))

    def rows_of(self, operation, **settings):
        rows = []
        counts = self.joins.run(operation, rows.append, **{**self.settings, **settings})
        self.assertEqual([row.key for row in rows], sorted(row.key for row in rows))
        return [(row.is_local, row.key.decode(), row.value.decode()) for row in rows], counts

    def test_every_operation_is_exact(self):
        there = lambda keys: [(False, key, f"right {key}") for key in keys]
        here = [(True, key, f"left {key}") for key in self.only_left]
        for operation, expected in (("intersection", there(self.both)),
                                    ("difference", there(self.only_right)),
                                    ("local-only", here),
                                    ("symmetric", sorted(here + there(self.only_right),
                                                         key=lambda row: row[1])),
                                    ("count", [])):
            with self.subTest(operation=operation):
                rows, counts = self.rows_of(operation)
                self.assertTrue(rows == expected)
                self.assertEqual((len(self.both), len(self.only_left), len(self.only_right)),
                                 (counts.matched_keys, counts.local_only_keys,
                                  counts.remote_only_keys))
                self.assertGreater(counts.bytes_received, 0)

    def test_a_part_and_text(self):
        begin, end = self.both[50], self.both[100]
        expected = [key for key in self.both if begin <= key < end]
        text = write_lines(self.directory / "text", self.left)
        for settings in ({}, {"db": "", "sorted_text": text}):
            rows, _ = self.rows_of("intersection", begin=begin, end=end, **settings)
            self.assertEqual(expected, [key for _, key, _ in rows])

    def test_an_exception_of_the_caller_ends_the_join(self):
        seen = []

        def give(row):
            seen.append(row)
            if len(seen) == 10:
                raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            self.joins.run("intersection", give, **self.settings)
        self.assertEqual(10, len(seen))

    def test_wrong_settings_are_said(self):
        for operation, settings, message in (
                ("intersect", {}, '"intersect"; there are intersection, difference, local-only'),
                ("count", {"attempt": 1}, '"attempt"; it has attempts, begin, '),
                ("count", {"timeout": "1 h"}, "timeout takes a number from 1 to 1073741824, not 1 h"),
                ("count", {"timeout": 0}, "not 0"),
                ("count", {"timeout": -1}, "not -1"),
                ("count", {"memory": "99999999999999999999"}, "memory takes a number"),
                ("count", {"insecure": "yes"}, "insecure takes true or false, not yes"),
                ("count", {"remote": "nowhere"}, "nowhere"),
                ("count", {"db": ""}, "set either db or sorted-text"),
                ("count", {"sorted_text": "/dev/null"}, "set either db or sorted-text"),
                ("count", {"db": self.directory / "no\n such"}, "such"),
                ("count", {"strategy": "luck"}, "luck"),
                ("count", {"key": self.directory / "none"}, "none"),
                ("count", {"left_on": "value.("}, "value.(")):
            with self.subTest(settings=settings), self.assertRaises(RuntimeError) as failed:
                self.rows_of(operation, **settings)
            self.assertIn(message, str(failed.exception))

    def test_nothing_instead_of_text(self):
        error = ctypes.c_void_p()
        self.assertFalse(self.joins.c.rocksieve_join_create(None, ctypes.byref(error)))
        self.assertFalse(self.joins.c.rocksieve_join_create(b"", None))
        join = self.joins.c.rocksieve_join_create(b"count", None)
        self.assertFalse(self.joins.c.rocksieve_join_set(join, None, None, ctypes.byref(error)))
        self.assertFalse(self.joins.c.rocksieve_join_run(join, ctypes.cast(None, OnRow), None, None,
                                                         ctypes.byref(error)))
        self.assertEqual(b"set remote, the server", ctypes.string_at(error.value))
        self.joins.free(error)
        self.joins.c.rocksieve_join_destroy(join)

    def test_the_example_as_a_program(self):
        further = [f"{name}={self.settings[name]}" for name in ("ca", "cert", "key")]
        arguments = [self.settings["db"], self.settings["remote"], *further]
        finished = run_ok(sys.executable, EXAMPLE, LIBRARY, "difference", *arguments)
        self.assertEqual(self.only_right, [key for key, _ in self.rows(finished)])
        self.assertIn(f"{len(self.both)} keys in both", finished.err)
        refused = run(sys.executable, EXAMPLE, LIBRARY, "difference", *arguments[:2])
        self.assertNotEqual(0, refused.code)
        self.assertEqual("", refused.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
