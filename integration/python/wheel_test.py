# SPDX-License-Identifier: Apache-2.0
"""The wheel as users have it: tests/suites/languages.py runs this in a virtual environment that has the
wheel, pyrex-rocksdb and rocksdict, and nothing else."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import rocksieve

UNIVERSE = 50_000
SEED = int(os.environ.get("ROCKSIEVE_SEED", random.randrange(2**32)))


def key(number):
    return b"key%08d" % number


def in_new_process(script, *arguments):
    """What the script prints, stderr included, and its exit code."""
    finished = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    return finished.stdout, finished.returncode


# Rows come and go; a table says which are there. Argument: DIRECTORY SPEC SEED, SPEC "-" without rocksieve.
PYREX = """
import json, os, pathlib, random, sys
directory, spec, seed = sys.argv[1:]
if spec != "-":
    import rocksieve
    rocksieve.load(instead_of=spec)
import pyrex
rows = pathlib.Path(directory, "rows")
oracle = {int(n): v for n, v in json.loads(rows.read_text()).items()} if rows.exists() else {}
chance = random.Random(int(seed))
options = pyrex.PyOptions()
options.create_if_missing = True
options.write_buffer_size = 128 << 10
options.use_block_based_bloom_filter(10)
UNIVERSE = 50_000
key = lambda number: b"key%08d" % number
def check(db):
    for first in range(0, UNIVERSE, 1000):
        found = db.multi_get([key(n) for n in range(first, first + 1000)])
        for n in range(first, first + 1000):
            one = db.get(key(n))
            expected = oracle[n].encode() if n in oracle else None
            assert one == expected == found[n - first], (n, one, found[n - first], expected, seed)
for step in range(3):
    db = pyrex.PyRocksDB(os.path.join(directory, "db"), options)
    check(db)
    for i in range(60_000):
        n = chance.randrange(UNIVERSE)
        if chance.random() < 0.25:
            db.delete(key(n))
            oracle.pop(n, None)
        else:
            oracle[n] = f"{step} {i}"
            db.put(key(n), oracle[n].encode())
    check(db)
    db.close()
rows.write_text(json.dumps(oracle))
print("right:", 3 * 4 * UNIVERSE)
"""


class Wheel(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.directory = pathlib.Path(self.temporary.name)

    def test_filters_and_estimators(self):
        for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12", "rocksieve.ribbon:1%", "rocksieve.range:12"):
            keys = [key(n) for n in range(UNIVERSE)]
            built = rocksieve.Filter.build(keys, spec)
            loaded = rocksieve.Filter.load(built.save(self.directory / "filter") or self.directory / "filter")
            self.assertTrue(all(one in loaded for one in keys), spec)
            ghosts = sum(key(n) in loaded for n in range(UNIVERSE, 2 * UNIVERSE))
            self.assertLess(ghosts, UNIVERSE // 50, spec)
        estimator = rocksieve.Estimator("hyper-log-log", error=0.01)
        for n in range(UNIVERSE):
            estimator.add(key(n))
        self.assertAlmostEqual(estimator.distinct().value, UNIVERSE, delta=UNIVERSE * 0.06)

    def test_joins_and_differences_are_exact_with_a_database_of_another_rocksdb(self):
        rocksieve.load()
        import pyrex  # its RocksDB stays loaded beside that of the wheel
        chance = random.Random(SEED)
        sides = []
        for name in ("one", "other"):
            options = pyrex.PyOptions()
            options.create_if_missing = True
            db = pyrex.PyRocksDB(str(self.directory / name), options)
            side = {chance.randrange(UNIVERSE) for _ in range(UNIVERSE // 2)}
            for number in side:
                db.put(key(number), name.encode())
            db.close()
            sides.append(side)
        address = f"unix:{self.directory}/socket"
        with rocksieve.Server(db=self.directory / "other", listen=address, insecure=True):
            found = {row.key: row.value for row in rocksieve.join(
                "intersection", db=self.directory / "one", remote=address, insecure=True)}
            differing = {row.key for row in rocksieve.join(
                "symmetric", db=self.directory / "one", remote=address, insecure=True)}
        self.assertEqual({key(n): b"other" for n in sides[0] & sides[1]}, found, f"seed {SEED}")
        self.assertEqual({key(n) for n in sides[0] ^ sides[1]}, differing, f"seed {SEED}")
        # The other RocksDB works on, after a join by another release in the same process.
        db = pyrex.PyRocksDB(str(self.directory / "one"), pyrex.PyOptions())
        self.assertEqual(sides[0], {n for n in range(UNIVERSE) if db.get(key(n)) is not None})
        db.close()

    def test_nothing_of_the_system_but_the_c_and_cpp_runtime(self):
        said, code = in_new_process(
            "import bz2, ctypes, lzma, re, zlib\n"
            "def mapped(): return set(re.findall(r'/\\S+\\.so\\S*', open('/proc/self/maps').read()))\n"
            "before = mapped()\n"
            "import rocksieve\n"
            "rocksieve._c.filters(), rocksieve._c.joins()\n"
            "print('\\n'.join(sorted(mapped() - before)))")
        self.assertEqual(0, code, said)
        ours = [path for path in said.split() if "/rocksieve" in path]
        self.assertTrue(any("librocksdb" in path for path in ours), said)
        runtime = ("libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libpthread.so", "libdl.so",
                   "librt.so", "/lib-dynload/")
        self.assertEqual([], [path for path in said.split() if path not in ours
                              and not any(name in path for name in runtime)])

    def test_filters_in_the_databases_of_another_module(self):
        for spec in ("rocksieve.ribbon:10", "rocksieve.bloom:10", "rocksieve.auto:10"):
            directory = self.directory / spec
            directory.mkdir()
            for turn, with_spec in enumerate((spec, "-", spec)):
                said, code = in_new_process(PYREX, directory, with_spec, SEED + turn)
                self.assertEqual(0, code, said)
                self.assertIn(f"right: {12 * UNIVERSE}", said)
                if turn == 0:
                    self.assertIn(f"{spec} instead of RocksDB's Bloom filter of 10 bits per key", said)
                    files = list((directory / "db").glob("*.sst"))
                    self.assertTrue(files)
                    self.assertTrue(all(b"rocksieve." in file.read_bytes() for file in files))

    def test_what_cannot_be_served_says_so(self):
        for script, expected in (
                ("import pyrex, rocksieve; rocksieve.load(instead_of='rocksieve.ribbon:10')",
                 "RuntimeError: rocksieve: RocksDB is in the process already"),
                ("import rocksieve; rocksieve.load(instead_of='rocksieve.ribon:10')",
                 "ValueError: 'rocksieve.ribon:10' is no filter"),
                # The RocksDB of joins is the wheel's own, before and after.
                ("import rocksieve, pyrex; rocksieve.load(); rocksieve._c.joins(); print('well')", "well"),
                ("import rocksieve; rocksieve._c.joins(); rocksieve.load(); import pyrex; print('well')",
                 "well")):
            self.assertIn(expected, in_new_process(script)[0])
        # The RocksDB of rocksdict can be seen by nobody: docs/compatibility.md says so.
        said, code = in_new_process("import rocksieve, rocksdict, ctypes\n"
                                    "rocksieve.load()\n"
                                    "from rocksdict import rocksdict as extension\n"
                                    "print(hasattr(ctypes.CDLL(extension.__file__), 'rocksdb_open'))")
        self.assertEqual((0, "False\n"), (code, said))


if __name__ == "__main__":
    unittest.main()
