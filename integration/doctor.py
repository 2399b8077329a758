# SPDX-License-Identifier: Apache-2.0
"""Databases that `rocksieve doctor` examines, and what it finds."""

import json
import random
import re

from environment import BUILD, SEED, Sandbox, run, run_ok

COMMAND = BUILD / "bin" / "rocksieve"
KEYS = 20_000
# Small buffers, files and levels: a few thousand keys are a tree.
SMALL = ("write_buffer_size=65536;target_file_size_base=65536;max_bytes_for_level_base=262144;"
         "compression=kNoCompression")
OURS = "rocksieve.bloom:10"
BUILT_IN = "bloomfilter:10:false"


def lines(count=KEYS, value_bytes=20):
    randomness = random.Random(SEED)
    return "".join(f"{randomness.randrange(10**9):09}\t{'v' * value_bytes}\n" for _ in range(count))


class Examined(Sandbox):
    """Helpers around one database."""

    def setUp(self):
        super().setUp()
        self.database = self.directory / "db"

    def load(self, spec=OURS, *flags, options=SMALL, text=None):
        all_flags = [*flags] if "--add" in flags else [f"--options={options}", *flags]
        run_ok(COMMAND, "load", f"--db={self.database}", f"--spec={spec}", "--input=-", *all_flags,
               stdin=lines() if text is None else text)

    def traces(self):
        return {path: (path.stat().st_size, path.stat().st_mtime_ns)
                for path in [self.database, *self.database.rglob("*")]}

    def doctor(self, *flags, is_open=False):
        """The findings, by id; in both forms, and nothing was written. `is_open`: by somebody who
        writes meanwhile, if only what RocksDB logs after some seconds."""
        before = self.traces()
        finished = run(COMMAND, "doctor", f"--db={self.database}", "--json", *flags)
        self.assertIn(finished.code, (0, 1), finished)
        self.assertEqual("", finished.err)
        report = json.loads(finished.out)
        self.assertEqual(finished.code == 0, report["healthy"])
        self.assertEqual(report["healthy"], not report["findings"])
        for finding in report["findings"]:
            self.assertIn(finding["severity"], ("error", "warning"))
            for part in ("title", "evidence", "consequence", "remedy"):
                self.assertTrue(finding[part], finding)
        text = run(COMMAND, "doctor", f"--db={self.database}", *flags)
        self.assertEqual(finished.code, text.code)
        for finding in report["findings"]:
            self.assertIn(finding["id"], text.out)
        if not flags and not is_open:
            self.assertEqual(before, self.traces())
        return {finding["id"]: finding for finding in report["findings"]}

    def assert_healthy(self, *flags, is_open=False):
        self.assertEqual({}, self.doctor(*flags, is_open=is_open))

    def assert_found(self, *ids, flags=()):
        findings = self.doctor(*flags)
        self.assertEqual(sorted(ids), sorted(findings), json.dumps(findings, indent=1))
        return findings[ids[0]]

    def assert_evidence(self, finding, *patterns):
        for pattern in patterns:
            self.assertTrue(any(re.search(pattern, line) for line in finding["evidence"]),
                            f"{pattern} is not in {finding['evidence']}")

    def options_file(self):
        return max(self.database.glob("OPTIONS-*"), key=lambda path: int(path.name[8:]))

    def edit_options(self, pattern, replacement):
        file = self.options_file()
        text, count = re.subn(pattern, replacement, file.read_text())
        self.assertGreater(count, 0)
        file.write_text(text)
        for other in self.database.glob("OPTIONS-*"):
            if other != file:
                other.unlink()

    def tables(self):
        return sorted(self.database.glob("*.sst"))
