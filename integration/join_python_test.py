# SPDX-License-Identifier: Apache-2.0
"""Joins by the C interface: from C, from Python by the package rocksieve, and by callers that pass
nonsense."""

import csv
import ctypes
import io
import re
import sys
import threading
import time
import unittest

from environment import BUILD, ROOT, compile_program, run, run_ok
from join_support import JoinSandbox, load

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
        return [(row.is_local, row.key.decode(), row.value.decode()) for row in rows], result.counts

    def test_every_operation_is_exact(self):
        for operation in ("intersection", "difference", "local-only", "symmetric", "count"):
            expected = [] if operation == "count" else [
                (fields[-1].startswith("left"), *fields[-2:]) for fields in self.expected(operation)]
            with self.subTest(operation=operation):
                rows, counts = self.rows_of(operation)
                self.assertTrue(rows == expected)
                self.assertEqual(self.all_counts, (counts.matched_keys, counts.local_only_keys,
                                                   counts.remote_only_keys))
                self.assertGreater(counts.bytes_received, 0)

    def test_a_part_and_text(self):
        begin, end = self.both[50], self.both[100]
        for settings in ({}, {"db": "", "sorted_text": self.files["left"]}):
            rows, _ = self.rows_of("intersection", begin=begin, end=end, **settings)
            self.assertEqual(self.both[50:100], [key for _, key, _ in rows])

    def test_what_a_data_frame_takes(self):
        """pandas.DataFrame(rows) makes columns of the fields of named tuples, and csv writes them."""
        rows = list(rocksieve.join("intersection", encoding="utf-8", **self.settings))
        self.assertEqual(("key", "value", "is_local"), rows[0]._fields)
        self.assertEqual([(key, f"right {key}", False) for key in self.both], rows)
        file = io.StringIO()
        csv.writer(file).writerows(rocksieve.join("intersection", encoding="utf-8", **self.settings))
        self.assertEqual(len(self.both), file.getvalue().count("\n"))

    def test_two_servers_with_a_part_of_the_rows_each(self):
        rows = [f"{key}\tright {key}" for key in self.right]
        remote = []
        for number, part in enumerate((rows[:2000], rows[2000:])):
            database = load(self.directory / f"part{number}", part, "none")
            remote.append(f"127.0.0.1:{self.serve(database).port}")
        here = {"db": self.settings["db"], "remote": remote, "insecure": True}
        rows = rocksieve.join("intersection", encoding="utf-8", **here)
        self.assertEqual([(key, f"right {key}", False) for key in self.both], list(rows))
        self.assertEqual((None, None), rows.counts[:2])
        self.assertEqual(len(self.both), rows.counts.rows_received)
        self.assertEqual(self.all_counts, rocksieve.count(**here)[:3])

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
        settings = {**self.settings, "db": load(self.directory / "bytes", ["\udcff\t\udcfe"], "none")}
        with self.assertRaises(UnicodeDecodeError):
            list(rocksieve.join("local-only", encoding="utf-8", **settings))
        self.assertEqual([(b"\xff", b"\xfe", True)], list(rocksieve.join("local-only", **settings)))

    def test_a_server_that_is_gone_is_an_error_of_the_rows(self):
        self.server.kill()
        rows = rocksieve.join("intersection", **self.settings, attempts=1)
        with self.assertRaises(rocksieve.JoinError):
            list(rows)
        self.assertEqual([], list(rows))

    def test_ctrl_c_ends_a_program_that_waits(self):
        program = f"""
import rocksieve, signal, threading, os
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
