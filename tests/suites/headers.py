#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run test --headers=SOURCE: does the plugin fit the headers of a RocksDB?

  headers.py [SOURCE]

SOURCE is a source tree of RocksDB 7.0.3 or later, of which only include/ and
table/block_based/filter_policy_internal.h are read. The plugin's sources must compile against it, as
inside of its own tree, and the virtual functions of its private classes must stand where
plugin/rocksdb_abi.h has them. Without SOURCE: the same for the installed headers, whose private ones
are not there, and which releases rocksdb_abi.h refuses. Takes a minute, and builds nothing.

Exit codes: 0 all is well, 1 something differs, 2 bad usage or not the source of a RocksDB.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PRIVATE = pathlib.Path("table/block_based/filter_policy_internal.h")

# Where the functions of our builder stand, from the release on. As GCC's -fdump-lang-class has them.
BUILDER = {
    (7, 0, 3): "~BitsBuilder ~BitsBuilder AddKey EstimateEntriesAdded Finish Finish MaybePostVerify"
               " ApproximateNumEntries",
    (9, 6, 0): "~BitsBuilder ~BitsBuilder AddKey AddKeyAndAlt EstimateEntriesAdded Finish Finish"
               " MaybePostVerify ApproximateNumEntries",
    (10, 9, 0): "~BitsBuilder ~BitsBuilder AddKey AddKeyAndAlt EstimateEntriesAdded Finish Finish"
                " MaybePostVerify ApproximateNumEntries CalculateSpace EstimatedFpRate",
}
READER = "~BitsReader ~BitsReader MayMatch MayMatch"
# Of a class that RocksDB declares publicly: no #if of ours tells releases apart.
POLICY_END = "CompatibilityName GetBuilderWithContext GetFilterBitsReader"

REFUSED = ("6.29.5", "7.0.1", "7.0.2", "10.1.0", "11.9.0", "12.0.0")
ACCEPTED = ("7.0.3", "9.5.2", "9.6.1", "10.1.3", "10.8.3", "10.9.1", "11.8.1")

failures = []


def check(right, what):
    if not right:
        failures.append(what)
        print(f"headers: {what}", file=sys.stderr)


def compile_(source, *options, include=None):
    command = ["g++", "-fsyntax-only", "-fno-rtti", f"-I{ROOT}", f"-I{ROOT}/include", *options]
    if include is not None:
        command += ["-isystem", str(include)]
    return subprocess.run([*command, str(source)], capture_output=True, text=True)


def macros_of(include):
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write("#include <rocksdb/version.h>\n")
        source.flush()
        seen = compile_(source.name, "-E", "-dM", include=include).stdout
    parts = [re.search(rf"#define ROCKSDB_{part} (\d+)", seen) for part in ("MAJOR", "MINOR", "PATCH")]
    return tuple(int(part[1]) for part in parts) if all(parts) else None


def vtables(options, include):
    """By class of ours: the functions in its table, in order."""
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "classes.cc"
        source.write_text('#include "plugin/filter_bits.h"\n'
                          '#include "plugin/policy.h"\n')
        dump = pathlib.Path(directory) / "dump"
        done = compile_(source, f"-fdump-lang-class={dump}", *options, include=include)
        if done.returncode != 0:
            return done.stderr[-2000:]
        text = dump.read_text()
    tables = re.findall(r"^Vtable for rocksieve::(\w+)\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return {name: " ".join(re.findall(r"\(int \(\*\)\(\.\.\.\)\)\S*::(~?\w+)$", table, re.MULTILINE))
            for name, table in tables}


def check_layout(release, options, include, whose):
    found = vtables(options, include)
    check(isinstance(found, dict), f"{whose} do not compile: {found}")
    if not isinstance(found, dict):
        return
    expected = BUILDER[max(first for first in BUILDER if first <= release)]
    check(found["BitsBuilder"] == expected, f"{whose}: builder is {found['BitsBuilder']}")
    check(found["BitsReader"] == READER, f"{whose}: reader is {found['BitsReader']}")
    check(found["Policy"].endswith(POLICY_END), f"{whose}: policy is {found['Policy']}")


def check_gate(standard):
    """With other releases' numbers, which must be refused or accepted before all else."""
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory) / "rocksdb"
        folder.mkdir()
        for release in REFUSED + ACCEPTED:
            numbers = zip(("MAJOR", "MINOR", "PATCH"), release.split("."))
            (folder / "version.h").write_text(
                "#pragma once\n" + "".join(f"#define ROCKSDB_{part} {n}\n" for part, n in numbers))
            done = compile_(ROOT / "plugin" / "rocksdb_abi.h", "-w", standard, f"-I{directory}")
            check((done.returncode == 0) == (release in ACCEPTED),
                  f"{release}: {done.stderr[-500:] or 'is accepted'}")
            if release in REFUSED:
                check("#error" in done.stderr, f"{release}: {done.stderr[-500:]}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["--help"], ["-h"]):
        print(__doc__)
        return 0 if sys.argv[1:2] in (["--help"], ["-h"]) else 2
    source = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) == 2 else None
    include = source / "include" if source else None
    release = macros_of(include)
    if release is None or (source and not (source / PRIVATE).is_file()):
        print(f"headers: {source or 'the system'} has no headers of a RocksDB", file=sys.stderr)
        return 2
    name = ".".join(map(str, release))
    standard = "-std=c++20" if release >= (10, 7, 0) else "-std=c++17"
    check_layout(release, [standard], include, f"our declarations for {name}")
    if source is None:
        check_gate(standard)
    else:
        check_layout(release, [standard, "-DROCKSIEVE_IN_TREE", "-isystem", str(source)], include,
                     f"the declarations of RocksDB {name}")
        sources = re.search(r"^rocksieve_SOURCES = (.*)$", (ROOT / "rocksieve.mk").read_text(),
                            re.MULTILINE)[1].split()
        for path in sources:
            if not path.startswith("plugin/"):
                continue  # knows nothing of RocksDB
            done = compile_(ROOT / path, standard, "-Wall", "-Wextra", "-Werror", include=include)
            check(done.returncode == 0, f"{path}: {done.stderr[-2000:]}")
    if not failures:
        print(f"headers: RocksDB {name} fits")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
