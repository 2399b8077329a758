# SPDX-License-Identifier: Apache-2.0
"""A writer is killed at each of its calls that change a file. Wherever RocksDB opens what it left, with
all rows, our commands find nothing wrong. And what they call lost or damaged, RocksDB refuses."""

import shutil
import signal
import unittest

from environment import (BUILD, COMMAND, HAS_JOIN, Sandbox, document, load, pairs_of_scan, run,
                         thorough)

KILL_AT_CALL = BUILD / "lib" / "libkill_at_call.so"
VERDICTS = {"doctor": "healthy", "explain": "ok", "report": "ok"}


def rows(first):
    return {f"k{key:05}": f"{first}v{key}" for key in range(first, first + 300)}


# Programs that change a database one after another, with the rows that each writes.
STEPS = [
    (["batchput", "--create_if_missing"], rows(0)),  # the log alone has them
    (["batchput"], rows(100)),  # and a table what the log had
    (["compact"], {}),
    (["load", "--disable_wal"], rows(200)),
    (["compact"], {}),
]


@thorough
class EachCall(Sandbox):
    def setUp(self):
        super().setUp()
        self.copy = self.directory / "copy"

    def ldb(self, database, *words, **settings):
        return run("ldb", f"--db={database}", *words, **settings)

    def assert_opens(self, before, after):
        """By RocksDB, in a copy, for writing; with the rows of before, or those of after."""
        opened = self.ldb(self.copy, "delete", "nothing")
        self.assertEqual(0, opened.code, opened)
        self.assertIn(dict(pairs_of_scan(self.ldb(self.copy, "scan").out)), (before, after))

    def assert_healthy(self, database):
        for command, verdict in VERDICTS.items():
            output = [f"--output={self.directory / 'page.html'}"] if command == "report" else []
            said = document(command, f"--db={database}", *output, code=None)
            self.assertIs(True, said[verdict], said)
        if HAS_JOIN and list(database.glob("OPTIONS-*[0-9]")):  # which name the merge operator
            document("diff", f"--db={database}", f"--db={self.copy}", "--summary")

    def killed(self, base, step, call, states):
        """Whether there was such a call."""
        words, written = step
        if words[0] == "batchput":
            words = [*words, *(word for row in written.items() for word in row)]
        lines = "".join(f"{key} ==> {value}\n" for key, value in written.items())
        database = self.directory / "db"
        shutil.rmtree(database, ignore_errors=True)
        if base.exists():
            shutil.copytree(base, database)
        writer = self.ldb(database, "--bloom_bits=10", *words, preload=[KILL_AT_CALL], stdin=lines,
                          variables={"KILL_AT_CALL": str(call), "KILL_AT_WRITES": "1"})
        if writer.code != -signal.SIGKILL:
            self.assertEqual(0, writer.code, writer)
            return False
        if (database / "CURRENT").exists():
            shutil.rmtree(self.copy, ignore_errors=True)
            shutil.copytree(database, self.copy)
            self.assert_opens(*states)
            self.assert_healthy(database)
        return True

    def test_killed_at_each_call(self):
        base = self.directory / "base"
        before = {}
        for number, step in enumerate(STEPS):
            after = {**before, **step[1]}
            call = 1
            while self.killed(base, step, call, (before, after)):
                call += 1
            self.assertGreater(call, 20, number)
            shutil.rmtree(base, ignore_errors=True)
            (self.directory / "db").rename(base)
            before = after


def overwritten(pattern, change):
    def damage(database):
        [path, *_] = sorted(database.glob(pattern))
        path.write_bytes(change(path.read_bytes()))
    return damage


DAMAGE = {
    "CURRENT names nothing": overwritten("CURRENT", lambda _: b"MANIFEST-999999\n"),
    "CURRENT is garbage": overwritten("CURRENT", lambda _: b"\x85\x11\xfe" * 20),
    "MANIFEST is garbage": overwritten("MANIFEST-*", lambda data: b"x" * len(data)),
    "a flipped bit in the MANIFEST": overwritten(
        "MANIFEST-*", lambda data: bytes([*data[:20], data[20] ^ 4, *data[21:]])),
    "a table is missing": lambda database: next(database.glob("*.sst")).unlink(),
    "a table is short": overwritten("*.sst", lambda data: data[:-100]),
    "a table's last byte": overwritten("*.sst", lambda data: data[:-1] + b"\0"),
}


class Damage(Sandbox):
    def test_what_is_called_lost_or_damaged_is_refused_by_rocksdb(self):
        load(self.directory / "healthy", rows(0))
        self.assertEqual(0, run(COMMAND, "explain", f"--db={self.directory / 'healthy'}").code)
        for number, (name, damage) in enumerate(DAMAGE.items()):
            with self.subTest(damage=name):
                database = self.directory / str(number)
                shutil.copytree(self.directory / "healthy", database)
                damage(database)
                for command in ("doctor", "explain"):
                    said = run(COMMAND, command, f"--db={database}")
                    self.assertNotEqual(0, said.code, said)
                    self.assertRegex(said.out + said.err, "damaged|lost|[Rr]estore|repair")
                self.assertNotEqual(0, run("ldb", f"--db={database}", "delete", "nothing").code)


if __name__ == "__main__":
    unittest.main()
