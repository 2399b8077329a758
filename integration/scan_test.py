# SPDX-License-Identifier: Apache-2.0
"""Databases as streams of Arrow, from Python: rows, parts, filters and join keys beside a list of the
rows; databases that are written to, compacted or damaged. What reads them here is by ctypes alone; real
readers of Arrow are the concern of `./run test --engines`."""

import array
import contextlib
import copy
import ctypes
import functools
import gc
import os
import pathlib
import pickle
import random
import shutil
import sys
import types
import unittest

from environment import BUILD, ROOT, SEED, Sandbox, run_ok
from join_support import damage, ldb, load

sys.path.insert(0, str(ROOT / "lib" / "python"))
sys.dont_write_bytecode = True

import rocksieve
from rocksieve import arrow, engines

rocksieve.use_libraries_of(BUILD / "lib")


def _pointers(address, count):
    return (ctypes.c_void_p * count).from_address(address) if count else ()


def cells(array):
    """Of a column of binary."""
    validity, offsets, data = _pointers(array.buffers, 3)
    offsets = (ctypes.c_int32 * (array.length + 1)).from_address(offsets)
    valid = lambda i: not validity or ctypes.c_uint8.from_address(validity + i // 8).value >> i % 8 & 1
    return [ctypes.string_at(data + offsets[i], offsets[i + 1] - offsets[i]) if valid(i) else None
            for i in range(array.length)]


def batches_of(scan):
    for _, batch in arrow._chunks(scan):
        columns = [cells(arrow._Array.from_address(child))
                   for child in _pointers(batch.children, batch.n_children)]
        yield list(zip(*columns))


def rows_of(*words, **settings):
    return [row for batch in batches_of(rocksieve.scan(*words, **settings)) for row in batch]


class Side(engines.Side):
    """Of an engine that has one worker."""

    def __init__(self, shards):
        super().__init__()
        self.shards = engines.shards_of(shards)

    def size(self):
        return sum(map(engines.estimate, self.shards))

    def parts(self, keys, asked, whole):
        return functools.reduce(engines.merge, (
            engines.build([numbered], keys, asked=asked, whole=whole)
            for numbered in enumerate(self.shards)))

    def keys(self, keep):
        return {key for number, shard in enumerate(self.shards)
                for key, _ in (row for batch in batches_of(engines.probe(
                    shard, self.asked, keep, digest=self.digests.get(number))) for row in batch)}


class Engines(Sandbox):
    """The part that all engines share: what it drops has no match, and what it says pays does."""

    def side(self, name, numbers):
        keys = [b"%016x" % (number * 0x9E3779B97F4A7C15 % 2**64) for number in numbers]
        places = [load(self.directory / f"{name}{part}", [key.decode() for key in sorted(keys[part::3])])
                  for part in range(3)]
        return set(keys), Side(places)

    def test_what_is_dropped_has_no_match(self):
        for case, (left, right, pays) in enumerate((
                (range(30_000), range(29_500, 40_000), True), (range(500), range(100, 20_000), True),
                (range(10_000), range(500, 10_000), False), (range(0), range(100), True))):
            with self.subTest(left=left, right=right):
                keys, here = self.side(f"left{case}", left)
                others, there = self.side(f"right{case}", right)
                said = []

                @contextlib.contextmanager
                def doing(what):
                    said.append(what)
                    yield
                self.assertEqual(pays, engines.plan(here, there, lambda block: block, doing))
                self.assertIn("a filter of the smaller side", said)
                if not pays:
                    self.assertEqual((keys, others), (here.keys("maybe"), there.keys("maybe")))
                    continue
                for side, all_keys in ((here, keys), (there, others)):
                    maybe, absent = side.keys("maybe"), side.keys("absent")
                    self.assertEqual((all_keys, set()), (maybe | absent, maybe & absent))
                    self.assertEqual(keys & others, maybe & keys & others)
                    self.assertLess(len(maybe - (keys & others)), 0.03 * len(all_keys) + 5)

    def test_keys_that_come_in_between_are_an_error(self):
        _, here = self.side("left", range(2000))
        _, there = self.side("right", range(1990, 5000))
        engines.plan(here, there, lambda block: block, lambda what: contextlib.nullcontext())
        load(self.directory / "right1", ["new"], "rocksieve.ribbon:10", "--add")
        here.keys("maybe")
        with self.assertRaisesRegex(rocksieve.JoinError, "right1: its keys are not those"):
            there.keys("absent")


class Scans(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(SEED)
        cls.rows = [(b"%08x" % chance.getrandbits(32), b"%d|%d" % (i % 7, i)) for i in range(20_000)]
        cls.rows = sorted(dict(cls.rows).items())
        cls.database = cls.class_directory / "db"
        load(cls.database, [f"{key.decode()}\t{value.decode()}" for key, value in cls.rows])

    def test_all_rows_and_parts_of_them(self):
        self.assertEqual(self.rows, rows_of(self.database))
        self.assertEqual([(value, key) for key, value in self.rows],
                         rows_of(self.database, ["value", "key"]))
        begin, end = self.rows[500][0], self.rows[900][0]
        self.assertEqual(self.rows[500:900], rows_of(self.database, begin=begin, end=end))
        self.assertEqual(self.rows[500:], rows_of(self.database, begin=begin))
        self.assertEqual([row for row in self.rows if row[0].startswith(b"a7")],
                         rows_of(self.database, prefix="a7"))
        self.assertEqual([], rows_of(self.database, prefix=b"\xff\xff"))
        scan = rocksieve.scan(self.database, most_rows=700, batch_rows=300)
        self.assertEqual(self.rows[:700], [row for batch in batches_of(scan) for row in batch])
        self.assertEqual((700, len(self.rows)), (scan.counts.rows_read, scan.counts.rows_estimated))

    def test_batches_are_as_large_as_they_may_be(self):
        sizes = [len(batch) for batch in batches_of(rocksieve.scan(self.database, batch_rows=3000))]
        self.assertEqual({3000}, set(sizes[:-1]))
        self.assertEqual(len(self.rows), sum(sizes))
        sizes = [len(batch) for batch in batches_of(rocksieve.scan(self.database, batch_bytes=1000))]
        self.assertTrue(all(60 < size < 125 for size in sizes[:-1]), sizes)

    def test_filters_lose_no_row(self):
        some = [key for i, (key, _) in enumerate(self.rows) if i % 3 == 0]
        others = [key for i, (key, _) in enumerate(self.rows) if i % 3 == 1]
        dynamic = rocksieve.DynamicFilter("bloom", len(others))
        dynamic.update(others)
        for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:1%",
                     "rocksieve.range:16"):
            built = rocksieve.Filter.build(some, spec)
            for filters in ([built], [bytes(built)], [dynamic], [built, bytes(dynamic)]):
                passes = [any(key in each for each in (built, dynamic) if each in filters or
                              bytes(each) in filters) for key, _ in self.rows]
                for keep in (True, False):
                    expected = [row for row, passed in zip(self.rows, passes) if passed == keep]
                    scan = rocksieve.scan(self.database, filters=filters,
                                          keep="maybe" if keep else "absent")
                    self.assertEqual(expected, [row for batch in batches_of(scan) for row in batch])
                    self.assertEqual((len(self.rows), len(expected)), scan.counts[:2])

    def test_parts_of_a_database_are_its_rows(self):
        directory = self.directory / "db"
        rows = [(b"%06d" % i, b"%0100d" % (i * 7919)) for i in range(20_000)]
        load(directory, [f"{key.decode()}\t{value.decode()}" for key, value in rows], "none",
             "--options=target_file_size_base=100000;compression=kNoCompression", "--compact")
        for parts in 1, 2, 3, 7, 1000:
            for begin, end in (None, None), (b"004567", None), (b"004567", b"012345"), (None, b"000001"):
                of_range = [row for row in rows if (begin or b"") <= row[0] and (end is None or row[0] < end)]
                shard = engines.Shard(str(directory), begin=begin, end=end)
                split = [rows_of(*part[:1], begin=part.begin, end=part.end) for part in shard.split(parts)]
                self.assertEqual(of_range, [row for part in split for row in part])
                if 1 < parts < 10 and len(of_range) > 1:
                    self.assertEqual(parts, len(split))
                    self.assertLess(max(map(len, split)), len(of_range) / parts + 2000)
                self.assertTrue(len(of_range) <= 1 or all(split))
        self.assertEqual([], rocksieve.scan(directory, begin="0", end="00").cuts(5))
        with self.assertRaisesRegex(rocksieve.JoinError, "one part at least"):
            rocksieve.scan(directory).cuts(0)

    def test_filters_of_scans_and_of_columns(self):
        keys = rocksieve.scan(self.database, ["key"], prefix="0")
        built = rocksieve.Filter.build(keys, "rocksieve.ribbon:1%")
        dynamic = rocksieve.DynamicFilter("bloom", 2000)
        dynamic.update(rocksieve.scan(self.database, prefix="0"), column="key")
        for each in (built, dynamic):
            answers = each.may_contain(rocksieve.scan(self.database, batch_rows=777), "key")
            self.assertEqual([key in each for key, _ in self.rows], list(answers))
            self.assertTrue(all(answers[i] for i, (key, _) in enumerate(self.rows)
                                if key.startswith(b"0")))
            again = each.may_contain(rocksieve.scan(self.database, ["key"]))
            for schema, array in arrow._chunks(answers):
                self.assertEqual((b"b", len(self.rows)), (schema.format, array.length))
            self.assertEqual(list(answers), list(again))
        self.assertEqual(bytes(rocksieve.Filter.build([key for key, _ in self.rows if key[:1] == b"0"],
                                                      "rocksieve.ribbon:1%")), bytes(built))
        for keys, says in ((5, "no columns of Arrow"), (rocksieve.scan(self.database), "say which column")):
            with self.assertRaisesRegex((TypeError, ValueError), says):
                built.may_contain(keys)
        with self.assertRaisesRegex(ValueError, "there is no column luck; there are key, value"):
            rocksieve.Filter.build(rocksieve.scan(self.database), column="luck")

    def test_join_keys(self):
        field = lambda value: value.split(b"|")[0] if b"|" in value else None
        self.assertEqual([(key, field(value)) for key, value in self.rows],
                         rows_of(self.database, ["key", "join_key"], on="value.field(|,1)"))
        three = rocksieve.Filter.build(["3"], "rocksieve.ribbon:32")
        for keep in ("maybe", "absent"):
            self.assertEqual([row for row in self.rows if (field(row[1]) == b"3") == (keep == "maybe")],
                             rows_of(self.database, on="value.field(|,1)", filters=[three], keep=keep))
        nothing = {"columns": ["join_key"], "on": "value.field(|,3)", "prefix": "0"}
        nulls = [(None,) for key, _ in self.rows if key.startswith(b"0")]
        self.assertEqual(nulls, rows_of(self.database, **nothing))
        self.assertEqual(nulls, rows_of(self.database, filters=[three], keep="absent", **nothing))
        self.assertEqual([], rows_of(self.database, filters=[three], **nothing))

    def test_digests_are_those_of_the_keys(self):
        directory = self.directory / "db"
        load(directory, ["a\t1", "b\t2"])
        scan = rocksieve.scan(directory)
        list(batches_of(scan))
        digest = scan.counts.digest
        load(directory, ["b\tother"], "rocksieve.ribbon:10", "--add")
        ldb(directory, "compact")
        self.assertEqual([(b"a", b"1"), (b"b", b"other")], rows_of(directory, expect=digest))
        load(directory, ["c\t3"], "rocksieve.ribbon:10", "--add")
        with self.assertRaisesRegex(rocksieve.JoinError, f"{directory}: its keys are not those"):
            rows_of(directory, expect=digest)
        self.assertEqual([(b"c", b"3")], rows_of(directory, prefix="c"))

    def test_a_scan_shows_the_rows_of_its_beginning(self):
        directory = self.directory / "db"
        rows = [(b"%06d" % i, b"x" * 50) for i in range(50_000)]
        load(directory, [f"{key.decode()}\t{value.decode()}" for key, value in rows])
        batches = batches_of(rocksieve.scan(directory, batch_rows=100))
        first = next(batches)
        load(directory, [f"{i:06}\tnew" for i in range(25_000, 75_000)], "rocksieve.ribbon:10", "--add")
        ldb(directory, "compact")
        self.assertEqual(rows, first + [row for batch in batches for row in batch])

    def test_memory_is_that_of_batches(self):
        directory = self.directory / "db"
        load(directory, (f"{i:08}\t{i * 7919:0500}" for i in range(100_000)))
        script = f"""
import resource, rocksieve
from rocksieve import arrow
rocksieve.use_libraries_of({str(BUILD / "lib")!r})
most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
list(arrow._chunks(rocksieve.scan({str(directory)!r}, most_rows=10)))
before = most()
rows = sum(batch.length for _, batch in arrow._chunks(rocksieve.scan({str(directory)!r}, batch_bytes=1 << 20)))
print(rows, most() - before)
"""
        rows, kilobytes = run_ok(sys.executable, "-c", script, variables={
            "PYTHONPATH": str(ROOT / "lib" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}).out.split()
        self.assertEqual(100_000, int(rows))
        self.assertLess(int(kilobytes), 16_000)  # of 50 MB

    def test_what_is_wrong_has_a_name(self):
        directory = self.directory / "db"
        load(directory, [f"{i}\t{'x' * 100}" for i in range(20_000)])
        damage(directory, 0.5, 100)
        with self.assertRaisesRegex(rocksieve.JoinError, f"{directory}: .*sst"):
            rows_of(directory)
        for settings, says in (({"db": self.directory / "none"}, "none: there is no directory"),
                               ({"db": directory, "column_family": "x"}, '"x"|x'),
                               ({}, "set either db or"),
                               ({"db": directory, "on": "key\0"}, "has a byte 0"),
                               ({"sorted_text": "x", "column_family": "x"}, "has no column family"),
                               ({"db": directory, "columns": ["luck"]}, 'not "luck"'),
                               ({"db": directory, "keep": "luck"}, "maybe or absent"),
                               ({"db": directory, "on": "value.("}, "value"),
                               ({"db": directory, "prefix": "a", "end": "b"}, "a prefix, or"),
                               ({"db": directory, "batch_rows": 0}, "from 1 to"),
                               ({"db": directory, "expect": -1}, "from 0 to")):
            with self.subTest(settings=settings), self.assertRaisesRegex(rocksieve.JoinError, says):
                rows_of(**settings)
        for harm in pathlib.Path.unlink, lambda path: os.truncate(path, 100):
            lost = self.directory / "lost"
            load(lost, ["a\t1"])
            harm(next(lost.glob("*.sst")))
            with self.assertRaisesRegex(rocksieve.JoinError,
                                        "lost: cannot open a table file (?s:.*)rocksieve doctor"):
                rows_of(lost)
            shutil.rmtree(lost)
        for block in (b"", b"luck", bytes(rocksieve.Filter.build(["a"]))[:-1]):
            with self.subTest(block=block), self.assertRaises(ValueError):
                rocksieve.scan(directory, filters=[block])

    def test_keys_are_bytes_or_text(self):
        built, dynamic = rocksieve.Filter.build(["a"]), rocksieve.DynamicFilter("bloom", 10)
        uses = [lambda key: rocksieve.Filter.build([key]), lambda key: key in built, dynamic.add,
                lambda key: dynamic.update([key]), rocksieve.Estimator("top-k").add,
                lambda key: rocksieve.scan(self.database, prefix=key)]
        for use in uses:
            for key in (5, True, 1.5, [1], array.array("H", [1])):
                with self.assertRaisesRegex(TypeError, "a key is bytes or str, not "):
                    use(key)
            for key in ("a", b"a", bytearray(b"a"), memoryview(b"a"), array.array("B", b"a")):
                use(key)
        for use in (rocksieve.Filter.build, dynamic.update, rocksieve.Estimator("top-k").update):
            for key in ("apple", b"apple"):
                with self.assertRaisesRegex(TypeError, "this is one key"):
                    use(key)
        with self.assertRaisesRegex(TypeError, "filters are a list"):
            rocksieve.scan(self.database, filters=built)
        for side in ("a", b"a", engines.Shard("a")):
            with self.assertRaisesRegex(TypeError, "a list of shards"):
                engines.shards_of(side)
        for place in (None, 5, ("a", "b")):
            with self.assertRaises(TypeError):
                engines.shards_of([place])
        self.assertEqual([engines.Shard("a")], engines.shards_of([b"a"]))

    def test_scans_are_copied_and_streams_are_read_once(self):
        scan = rocksieve.scan(self.database, prefix="a", keep="absent",
                              filters=[rocksieve.Filter.build(["a"])])
        rows = [row for batch in batches_of(scan) for row in batch]
        copies = [copy.copy(scan), pickle.loads(pickle.dumps(scan))]
        del scan
        gc.collect()
        other = rocksieve.scan(self.database)
        for copied in copies:
            self.assertEqual(rows, [row for batch in batches_of(copied) for row in batch])
        capsule = other.__arrow_c_stream__()
        once = types.SimpleNamespace(__arrow_c_stream__=lambda: capsule)
        self.assertEqual(self.rows, [row for batch in batches_of(once) for row in batch])
        for use in (rocksieve.Filter.build, lambda keys: list(arrow._chunks(keys))):
            with self.assertRaisesRegex(rocksieve.JoinError, "taken before"):
                use(once)

    def test_streams_that_nobody_takes_or_ends_hold_nothing(self):
        opened = lambda: len(os.listdir("/proc/self/fd"))
        rocksieve.scan(self.database).__arrow_c_stream__()
        before = opened()
        for _ in range(20):
            rocksieve.scan(self.database).__arrow_c_stream__()
            next(batches_of(rocksieve.scan(self.database, batch_rows=10)))
        gc.collect()
        self.assertEqual(before, opened())


if __name__ == "__main__":
    unittest.main()
