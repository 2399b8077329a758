# SPDX-License-Identifier: Apache-2.0
"""Two databases that are alike, and what makes them different."""

import json

from environment import run, run_ok
from join_support import ROCKSIEVE, JoinSandbox, load


def ldb(database, *words, **process):
    return run_ok("ldb", f"--db={database}", "--try_load_options", *words, **process)


class DiffSandbox(JoinSandbox):
    KEYS = 2000

    def setUp(self):
        super().setUp()
        rows = [f"k{i:05}\tvalue {i}" for i in range(self.KEYS)]
        self.here = load(self.directory / "here", rows)
        self.there = load(self.directory / "there", rows)

    def diff(self, *flags, here=None, there=None):
        return run(ROCKSIEVE, "diff", here or self.here, there or self.there, *flags, timeout=100)

    def document(self, *flags, code=1, **sides):
        finished = self.diff("--summary", "--json", *flags, **sides)
        self.assertEqual((code, ""), (finished.code, finished.err), finished)
        return json.loads(finished.out)

    def plant(self):
        """A row here only, one there only, and one with two values."""
        ldb(self.here, "put", "k00007", "changed")
        ldb(self.here, "put", "extra\\here", "1")
        ldb(self.there, "put", "z", "2")
        return ["< extra\\\\here", "| k00007", "> z"]
