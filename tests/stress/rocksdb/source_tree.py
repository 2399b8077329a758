#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether a directory is the source tree of the RocksDB that is installed.

Usage: source_tree.py SOURCE
Exit codes: 0 it is; 2 it is not, and why.
"""

import pathlib
import re
import subprocess
import sys

# Of what is used, a file of each kind.
PARTS = ("include/rocksdb/version.h", "db_stress_tool/db_stress_tool.cc", "tools/db_crashtest.py",
         "utilities/fault_injection_fs.h")


def installed_version():
    """As "7.8.3"."""
    found = subprocess.run(["pkg-config", "--modversion", "rocksdb"], capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit(f"stress: no RocksDB is installed: {found.stderr.strip()}; "
                 "on Debian: apt-get install librocksdb-dev pkgconf")
    return found.stdout.strip()


def version_of(source):
    text = (source / PARTS[0]).read_text(encoding="utf-8", errors="replace")
    parts = [re.search(rf"^#define ROCKSDB_{part} (\d+)", text, re.MULTILINE)
             for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(part[1] for part in parts) if all(parts) else None


def problem_of(source, installed):
    """What is wrong with a source tree, and what would be right; None if nothing is."""
    remedy = (f"a checkout of RocksDB {installed} is needed, for example: "
              f"git clone --depth=1 --branch=v{installed} https://github.com/facebook/rocksdb")
    if not source.is_dir():
        return f"{source} is no directory; {remedy}"
    for part in PARTS:
        if not (source / part).is_file():
            return f"{source} is not RocksDB's source tree, it has no {part}; {remedy}"
    version = version_of(source)
    if version is None:
        return f"{source / PARTS[0]} names no version; {remedy}"
    if version != installed:
        return f"{source} is RocksDB {version}, but {installed} is installed; {remedy}"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    problem = problem_of(pathlib.Path(sys.argv[1]), installed_version())
    if problem is not None:
        print(f"stress: --rocksdb: {problem}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
