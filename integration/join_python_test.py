# SPDX-License-Identifier: Apache-2.0
"""Joins by the C interface: from C, from Python by the package rocksieve, and by callers that pass
nonsense."""

import csv
import ctypes
import io
import pathlib
import re
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, compile_program, run, run_ok
from join_support import JoinSandbox, write_lines

EXAMPLE = ROOT / "examples" / "python" / "join.py"
PACKAGE = {"PYTHONPATH": str(ROOT / "lib" / "python"), "LD_LIBRARY_PATH": str(BUILD / "lib"),
           "PYTHONDONTWRITEBYTECODE": "1"}
sys.path.insert(0, str(ROOT / "lib" / "python"))
sys.dont_write_bytecode = True

import rocksieve
from rocksieve import _c

rocksieve.use_libraries_of(BUILD / "lib")


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

    def rows_of(self, operation, **settings):
        result = rocksieve.join(operation, **{**self.settings, **settings})
        rows = list(result)
        self.assertEqual([row.key for row in rows], sorted(row.key for row in rows))
        return [(row.is_local, row.key.decode(), row.value.decode()) for row in rows], result.counts

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

    def test_what_a_data_frame_takes(self):
        """pandas.DataFrame(rows) makes columns of the fields of named tuples, and csv writes them."""
        rows = list(rocksieve.join("intersection", encoding="utf-8", **self.settings))
        self.assertEqual(("key", "value", "is_local"), rows[0]._fields)
        self.assertEqual([(key, f"right {key}", False) for key in self.both], rows)
        file = io.StringIO()
        csv.writer(file).writerows(rocksieve.join("intersection", encoding="utf-8", **self.settings))
        self.assertEqual(len(self.both), file.getvalue().count("\n"))
        try:
            import pandas
        except ImportError:
            return
        frame = pandas.DataFrame(rocksieve.join("intersection", encoding="utf-8", **self.settings))
        self.assertEqual(self.both, list(frame.key))

    def test_two_servers_with_a_part_of_the_rows_each(self):
        there = sorted(self.both + self.only_right)
        remote = []
        for number in range(2):
            part = there[:len(there) // 3] if number == 0 else there[len(there) // 3:]
            database = self.load(f"part{number}", "".join(f"{key}\tright {key}\n" for key in part).encode())
            remote.append(f"127.0.0.1:{self.serve(str(database)).port}")
        here = {"db": self.settings["db"], "remote": remote, "insecure": True}
        rows = rocksieve.join("intersection", encoding="utf-8", **here)
        self.assertEqual([(key, f"right {key}", False) for key in self.both], list(rows))
        self.assertEqual((None, None), rows.counts[:2])
        self.assertEqual(len(self.both), rows.counts.rows_received)
        self.assertEqual((len(self.both), len(self.only_left), len(self.only_right)),
                         rocksieve.count(**here)[:3])

    def test_who_has_enough_ends_the_join(self):
        threads = threading.active_count()
        with rocksieve.join("intersection", **self.settings) as rows:
            first = [next(rows) for _ in range(10)]
            with self.assertRaisesRegex(RuntimeError, "when all rows were taken"):
                rows.counts
        self.assertEqual([key.encode() for key in self.both[:10]], [row.key for row in first])
        self.assertEqual([], list(rows))
        self.assertEqual(threads, threading.active_count())
        for _ in range(3):
            next(rocksieve.join("intersection", **self.settings))  # and nobody closes it
        self.assertEqual(threads, threading.active_count())
        with self.assertRaisesRegex(KeyError, "mine"):
            with rocksieve.join("intersection", **self.settings) as rows:
                for _ in rows:
                    raise KeyError("mine")
        self.assertEqual(threads, threading.active_count())

    def test_rows_that_are_no_text(self):
        database = self.load("bytes", b"\xff\t\xfe\n")
        with self.assertRaises(UnicodeDecodeError):
            list(rocksieve.join("local-only", encoding="utf-8", **{**self.settings, "db": database}))
        [row] = rocksieve.join("local-only", **{**self.settings, "db": database})
        self.assertEqual((b"\xff", b"\xfe", True), row)

    def load(self, name, lines):
        path, database = self.directory / f"{name}.tsv", self.directory / name
        path.write_bytes(lines)
        run_ok(BUILD / "bin" / "rocksieve", "load", f"--db={database}", "--spec=none", f"--input={path}")
        return database

    def test_a_server_that_is_gone_is_an_error_of_the_rows(self):
        self.server.kill()
        rows = rocksieve.join("intersection", **self.settings, attempts=1)
        with self.assertRaises(rocksieve.JoinError):
            list(rows)
        self.assertEqual([], list(rows))

    def test_ctrl_c_ends_a_program_that_waits(self):
        program = f"""
import rocksieve, signal, threading, os, time
rows = rocksieve.join("intersection", db={str(self.settings["db"])!r}, remote="127.0.0.1:1",
                      insecure=True, attempts=1000)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
for row in rows: pass
"""
        begin = time.monotonic()
        finished = run(sys.executable, "-c", program, variables=PACKAGE)
        self.assertIn("KeyboardInterrupt", finished.err)
        self.assertLess(time.monotonic() - begin, 20)

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
            with self.subTest(settings=settings), self.assertRaises(rocksieve.JoinError) as failed:
                self.rows_of(operation, **settings)
            self.assertIn(message, str(failed.exception))

    def test_each_function_from_c(self):
        source = ROOT / "integration" / "c_join.c"
        called = set(re.findall(r"\b(rocksieve_\w+)\(", source.read_text()))
        self.assertEqual(set(), {f"rocksieve_{name}" for name in _c._JOIN} - called)
        program = compile_program(source, self.directory / "c_join", "-Wall", "-Werror", "-pedantic",
                                  "-lrocksieve_join", compiler="gcc")
        finished = run_ok(program, self.settings["db"], self.class_directory / "right")
        self.assertEqual(f"{len(self.both)}\n", finished.out)

    def test_a_server_in_python(self):
        left, right = (self.class_directory / name for name in ("left", "right"))
        with rocksieve.Server(db=right, insecure=True, sessions=3) as server:
            rows = rocksieve.join("difference", db=left, remote=server.address, insecure=True,
                                  encoding="utf-8")
            self.assertEqual(self.only_right, [row.key for row in rows])
            counts = server.counts
            self.assertEqual((0, 0), (counts.failed, counts.refused))
            self.assertLessEqual(counts.rows_sent, len(self.only_right))
        with self.assertRaises(rocksieve.JoinError):
            rocksieve.count(db=left, remote=server.address, insecure=True, attempts=1)
        for settings, message in (({"db": right}, "TLS|cert|insecure"),
                                  ({"db": self.directory / "none", "insecure": True}, "none"),
                                  ({"db": right, "insecure": True, "luck": 1}, '"luck"; it has ca, '),
                                  ({"db": right, "insecure": True, "column_family": ["default", "x"]},
                                   "x"),
                                  ({"db": right, "insecure": True, "listen": "nowhere"}, "nowhere")):
            with self.subTest(settings=settings), self.assertRaisesRegex(rocksieve.JoinError, message):
                rocksieve.Server(**settings)

    def test_nothing_instead_of_text(self):
        error, c = ctypes.c_void_p(), _c.joins()
        self.assertFalse(c.rocksieve_join_create(None, ctypes.byref(error)))
        self.assertFalse(c.rocksieve_join_create(b"", None))
        join = c.rocksieve_join_create(b"count", None)
        self.assertFalse(c.rocksieve_join_set(join, None, None, ctypes.byref(error)))
        self.assertFalse(c.rocksieve_join_run(join, ctypes.cast(None, _c.OnRow), None, None,
                                              ctypes.byref(error)))
        self.assertEqual(b"set remote, the server", ctypes.string_at(error.value))
        _c._libc.free(error)
        c.rocksieve_join_destroy(join)

    def test_the_example_as_a_program(self):
        further = [f"{name}={self.settings[name]}" for name in ("ca", "cert", "key")]
        arguments = [self.settings["db"], self.settings["remote"], *further]
        finished = run_ok(sys.executable, EXAMPLE, "difference", *arguments, variables=PACKAGE)
        self.assertEqual(self.only_right, [key for key, _ in self.rows(finished)])
        self.assertIn(f"{len(self.both)} keys in both", finished.err)
        refused = run(sys.executable, EXAMPLE, "difference", *arguments[:2], variables=PACKAGE)
        self.assertNotEqual(0, refused.code)
        self.assertEqual("", refused.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
