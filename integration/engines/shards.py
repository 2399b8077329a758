# SPDX-License-Identifier: Apache-2.0
"""Databases of known rows, that RocksDB's own ldb writes, and what joins of them have to give."""

import atexit
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

from rocksieve.engines import Shard

SEED = int(os.environ.get("ROCKSIEVE_SEED", random.randrange(2**32)))
print(f"seed {SEED}; to repeat: ROCKSIEVE_SEED={SEED}", flush=True)
chance = random.Random(SEED)


def ldb(database, *words, lines=""):
    subprocess.run(["ldb", f"--db={database}", *words], input=lines, text=True, check=True,
                   stdout=subprocess.DEVNULL)


def load(database, rows):
    """Pairs of bytes, into a database that may be there already."""
    lines = "".join(f"0x{key.hex()} ==> 0x{value.hex()}\n" for key, value in rows)
    ldb(database, "--hex", "load", "--create_if_missing", lines=lines)
    return str(database)


def damage(database):
    """Overwrites a part of a table in the middle."""
    table = max(pathlib.Path(database).glob("*.sst"), key=lambda path: path.stat().st_size)
    with open(table, "r+b") as file:
        file.seek(table.stat().st_size // 2)
        file.write(b"\0" * 100)


class Sides:
    """Two sides of so many random keys, which share some, over shards by their hash; the last shard of
    each is empty. Values have a number that some rows of both sides share, or none."""

    def __init__(self, left, right, shared, shards=4):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="rocksieve-engines-"))
        atexit.register(shutil.rmtree, self.directory, ignore_errors=True)
        keys = list({chance.randbytes(16) for _ in range(left + right - shared)})
        self.rows = {"left": self._rows("left", keys[:left]),
                     "right": self._rows("right", keys[left - shared:])}
        self.shards = {side: self._shards(side, rows, shards) for side, rows in self.rows.items()}
        self.left, self.right = self.shards["left"], self.shards["right"]

    @staticmethod
    def _rows(side, keys):
        def value():
            number = chance.randrange(1000) + (500 if side == "right" else 0)
            return b"none" if chance.random() < 0.1 else b"%s|%d" % (side.encode(), number)
        return [(key, value()) for key in keys]

    def _shards(self, side, rows, count):
        places = []
        for number in range(count):
            part = [row for row in rows if row[0][0] % (count - 1) == number]
            places.append(load(self.directory / f"{side}{number}", sorted(part)))
            if number % 2 == 1:  # the others' rows are in logs
                ldb(places[-1], "compact")
        return places

    def matches(self, side, on):
        """Rows of a side that have a match, and those that have none."""
        other = {on(row) for row in self.rows["right" if side == "left" else "left"]} - {None}
        matched = sorted(row for row in self.rows[side] if on(row) in other)
        only = sorted(row for row in self.rows[side] if on(row) not in other)
        return matched, only


def whole_key(row):
    return row[0]


class Joins:
    """All operations of an engine. A test case of it has `joins`, its module, `engine`, what its functions
    take first, rows_of(frame), and of_side(frame, side)."""

    def check(self, sides, left, right, on=whole_key, **settings):
        words = self.engine, left, right
        (left_matched, left_only), (right_matched, right_only) = (
            sides.matches(side, on) for side in ("left", "right"))
        self.assertEqual(left_matched, self.rows_of(self.joins.semi_join(*words, **settings)))
        self.assertEqual(left_only, self.rows_of(self.joins.anti_join(*words, **settings)))
        found = self.joins.symmetric_difference(*words, **settings)
        self.assertEqual(left_only, self.rows_of(self.of_side(found, "left")))
        self.assertEqual(right_only, self.rows_of(self.of_side(found, "right")))
        self.assertEqual(tuple(map(len, (left_matched, left_only, right_matched, right_only))),
                         self.joins.count(*words, **settings))

    def test_every_operation_at_every_overlap(self):
        for left, right, shared in ((6000, 3000, 0), (6000, 3000, 60), (3000, 6000, 2900),
                                    (4000, 4000, 3900), (0, 100, 0)):
            with self.subTest(left=left, right=right, shared=shared):
                sides = Sides(left, right, shared)
                self.check(sides, sides.left, sides.right)

    def test_join_keys_and_rows_without_one(self):
        self.check(self.few, self.few.left, self.few.right, field, left_on=FIELD, right_on=FIELD)

    def test_parts_of_shards(self):
        left = [Shard(place, **part) for place in self.few.left
                for part in ({"end": b"\x80"}, {"begin": b"\x80"})]
        self.check(self.few, left, self.few.right)


FIELD = "value.field(|,2)"


def field(row):
    return row[1].split(b"|")[1] if b"|" in row[1] else None
