# SPDX-License-Identifier: Apache-2.0
"""examples/rust, built without a network from Debian's own crates: a Rust program with our filters."""

import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, Sandbox, run_ok

EXAMPLE = ROOT / "examples" / "rust"
CRATES = pathlib.Path("/usr/share/cargo/registry")


@unittest.skipUnless(shutil.which("cargo") and list(CRATES.glob("rocksdb-*")),
                     "needs cargo and librust-rocksdb-dev, which Debian has since 13")
class Rust(Sandbox):
    def test_the_example(self):
        crate = self.directory / "crate"
        shutil.copytree(EXAMPLE, crate)  # cargo writes a lock file
        finished = run_ok(
            "cargo", "--config", 'source.crates-io.replace-with="debian"',
            "--config", f'source.debian.directory="{CRATES}"', "run", "--offline", "--", "db",
            cwd=crate, timeout=540,
            variables={"ROCKSIEVE_LIB_DIR": str(BUILD / "lib"), "CARGO_HOME": str(self.directory / "cargo"),
                       "CARGO_TARGET_DIR": str(self.directory / "target")})
        found, rejected = map(int, re.fullmatch(
            r"(\d+) of 100000 keys found; filters answered (\d+) of 100000 absent lookups\n",
            finished.out).groups())
        self.assertEqual(100000, found)
        # 0.1 % of them, and RocksDB's Bloom filter would let 1 % pass.
        self.assertGreater(rejected, 99700)
        names = {line.strip() for options in (crate / "db").glob("OPTIONS-*")
                 for line in options.read_text().splitlines() if "filter_policy=" in line}
        self.assertEqual({"filter_policy=rocksieve.ribbon:10"}, names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
