# SPDX-License-Identifier: Apache-2.0
"""The command on databases that other releases of RocksDB wrote (tests/databases), whatever release it
was built with: `inspect` says what an independent decoder finds, the others look at all of it, and
what only RocksDB could read is refused by name."""

import json
import pathlib
import sys
import tarfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from environment import BUILD, ROOT, Sandbox, run, run_ok

sys.path.insert(0, str(ROOT / "tests" / "python"))
from table_format import read_table

COMMAND = BUILD / "bin" / "rocksieve"
NUMBERS = {"7.8.3": 18, "9.10.0": 21, "11.8.1": 23}  # of column families


def latest_format(release):
    """The latest format_version that it reads."""
    release = tuple(map(int, release.split(".")))
    return 7 if release >= (10, 4) else 6 if release >= (8, 6) else 5


class Releases(Sandbox):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.databases = {}
        for archive in sorted((ROOT / "tests" / "databases").glob("rocksdb-*.tar.gz")):
            release = archive.name.removeprefix("rocksdb-").removesuffix(".tar.gz")
            cls.databases[release] = cls.class_directory / release
            with tarfile.open(archive) as files:
                files.extractall(cls.databases[release])

    def document(self, *words, code=0):
        finished = run(COMMAND, *words, "--json")
        self.assertEqual(code, finished.code, finished)
        return json.loads(finished.out)

    def test_all_are_here(self):
        self.assertEqual(NUMBERS.keys(), self.databases.keys())

    def test_inspect_says_what_another_decoder_finds(self):
        for release, database in self.databases.items():
            for path in sorted(database.glob("*.sst")):
                table = read_table(path.read_bytes())
                said = self.document("inspect", path)
                with self.subTest(release=release, family=said["column_family"]):
                    self.assertEqual((True, []), (said["ok"], said["problems"]))
                    self.assertEqual(table.format_version, said["format_version"])
                    self.assertEqual(table.checksum, said["checksum"])
                    compressed = table.properties["rocksdb.compression"]
                    self.assertEqual("ZSTD" if compressed in (b"ZSTD", b"BuiltinV2;07;")
                                     else "NoCompression", said["compression"])
                    self.assertEqual(table.number("rocksdb.num.entries"), said["keys"])
                    self.assertEqual(table.filter_name.partition(".")[2], said["stored_as"] or "")
                    self.assertEqual(
                        table.filters, [(bytes.fromhex(block["last_key_hex"] or ""),
                                         block["offset"], block["bytes"])
                                        for block in said["blocks"]])

    def test_explain_looks_at_all_of_it(self):
        for release, database in self.databases.items():
            with self.subTest(release):
                said = self.document("explain", f"--db={database}", "--probe-count=2000")
                families = said["column_families"]
                self.assertEqual(NUMBERS[release], len(families))
                self.assertTrue(said["ok"])
                too_new = latest_format(said["rocksdb_version"]) < latest_format(release)
                for family in families:
                    self.assertEqual((1, []), (family["files"], family["problems"]))
                    if family["name"] not in ("without-filter", "prefixes"):
                        self.assertLess(family["measured_false_positive_rate"], 0.1, family["name"])
                default = families[0]
                self.assertEqual("default", default["name"])
                unread = [note for note in default["notes"] if "too old to read it" in note]
                self.assertEqual(too_new, len(unread) == 1, default["notes"])

    def test_doctor_and_whatif_look_at_all_of_it(self):
        for release, database in self.databases.items():
            with self.subTest(release):
                found = self.document("doctor", f"--db={database}", code=1)["findings"]
                self.assertEqual([("no-policy", "without-filter")],
                                 [(one["id"], one["column_family"]) for one in found])
                said = self.document("whatif", f"--db={database}", "--column-family=partitioned")
                (family,) = said["column_families"]
                self.assertEqual((1, 150), (family["files"], family["entries"]))
                self.assertGreater(family["now"]["filter_bytes"], 150)

    def test_serve_names_the_release_that_it_would_need(self):
        ours = self.document("explain", f"--db={self.databases['7.8.3']}",
                             "--probe-count=1")["rocksdb_version"]
        if not (BUILD / "lib" / "librocksieve_join.a").exists():
            self.assertNotIn("serve", run_ok(COMMAND, "--help").out)
            return
        for release, database in self.databases.items():
            if latest_format(release) <= latest_format(ours):
                continue
            with self.subTest(release):
                refused = run(COMMAND, "serve", f"--db={database}", "--insecure",
                              "--listen=127.0.0.1:0")
                self.assertEqual(2, refused.code, refused)
                for words in ("cannot read the rows of the database in", "A later RocksDB wrote",
                              "use the rocksieve that was built with that"):
                    self.assertIn(words, refused.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
