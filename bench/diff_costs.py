#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comparisons of databases cost, with `rocksieve diff --summary` and `rocksieve serve`.

Bytes on the wire, all messages of both directions, for each row that differs: rows that are missing
here, or there, or whose values are changed, of --rows rows with keys of 16 bytes and values of 32.
Then the processor time of comparing two that are equal, by bench/join/diff_cpu.cc: side by side, and
with a server, of both sides; and what that is beyond RocksDB's own iterators over both. Then two
checkpoints of one database, whose table files are 4 MiB, and what `rocksieve diff` reads of them, over
the bytes of the files that they do not share. Takes three
minutes for a million rows.
"""

import json
import pathlib
import shutil
import subprocess
import tempfile

from processes import (BUILD, bytes_read, finished, key_of, ldb, load, parser_of, rows_that_differ, serving,
                       wire_bytes)


def rows_of(count, changed=(), missing=()):
    """Lines, by numbers."""
    changed, missing = set(changed), set(missing)
    for number in range(count):
        if number in missing:
            continue
        key = key_of(number)
        value = key ^ 1 if number in changed else key
        yield b"%016x\t%032x\n" % (key, value * 0xD1342543DE82EF95)


def compare(here, there):
    """The report with a server."""
    with serving(there, "127.0.0.1:0") as (_, address), \
            finished("diff", f"--db={here}", f"--remote={address}", "--insecure", "--summary",
                     "--json") as (_, output):
        return json.loads(output)["column_families"][0]


def bytes_table(rows, base, directory):
    print("bytes on the wire for each row that differs")
    print(f"{'rows':>8}  {'here only':>9}  {'there only':>10}  {'changed':>8}  changed over here only")
    for differ in (rows // 10000, rows // 1000, rows // 100):
        numbers = range(3, rows, rows // differ)
        costs = []
        for which in ("missing", "changed"):
            other = load(directory / f"{which}{differ}", rows_of(rows, **{which: numbers}), "--compact")
            sides = [(base, other), (other, base)] if which == "missing" else [(base, other)]
            for here, there in sides:
                report = compare(here, there)
                found = rows_that_differ(report)
                assert found == len(numbers), report
                costs.append(wire_bytes(report) / found)
            shutil.rmtree(other)
        print(f"{differ:8,}  {costs[0]:9.1f}  {costs[1]:10.1f}  {costs[2]:8.1f}  "
              f"{costs[2] / costs[0]:.2f}")


def time_table(base, directory):
    copy = directory / "copy"
    shutil.copytree(base, copy)
    out = subprocess.run([BUILD / "bin" / "diff_cpu", base, copy], stdout=subprocess.PIPE, check=True)
    cost = json.loads(out.stdout)
    print("\nprocessor time for each row of both sides, which are equal, ns: all, and beyond the scans")
    for name, way in (("RocksDB's own scans", "scans"), ("diff, two directories", "directories"),
                      ("diff, with a server", "server")):
        ns = cost[f"{way}_ns"]
        beyond = "" if way == "scans" else f"  {ns - cost['scans_ns']:5.0f}"
        print(f"{name:24}  {ns:5.0f}{beyond}")


def small_ldb(database, *arguments, lines=None):
    ldb(database, "--bloom_bits=10", "--file_size=4194304", "--compression_type=no", *arguments, lines=lines)


def checkpoint(database, directory):
    small_ldb(database, "checkpoint", f"--checkpoint_dir={directory}")
    return directory


def put(database, numbers, fill):
    small_ldb(database, "load", "--create_if_missing",
              lines=(b"%016x ==> %s\n" % (key_of(number), fill * 100) for number in numbers))
    return database


def unshared_bytes(here, there):
    def files(directory):
        return {path.stat().st_ino: path.stat().st_size for path in directory.glob("*.sst")}
    mine, theirs = files(here), files(there)
    return sum(size for inode, size in (mine | theirs).items()
               if (inode in mine) != (inode in theirs))


def checkpoints_table(rows, directory):
    small_ldb(put(directory / "first", range(rows), b"a"), "compact")
    first = checkpoint(directory / "first", directory / "monday")
    eighth = [number for number in range(rows) if key_of(number) >> 61 == 3]
    cases = [
        ("1 % new rows", range(rows, rows + rows // 100), []),
        ("1 % changed, compacted where they are", eighth[::len(eighth) * 100 // rows + 1],
         ["compact", "--from=5", "--to=8"]),
        ("1 % changed in all places, not compacted", range(0, rows, 100), []),
    ]
    print("\ntwo checkpoints of one database, MB read; all files would be",
          f"{2 * sum(path.stat().st_size for path in first.glob('*.sst')) / 1e6:.0f}")
    print(f"{'':40}  {'unshared':>8}  {'read':>6}  {'over':>5}  rows that differ")
    for name, numbers, compaction in cases:
        work = checkpoint(first, directory / "work")
        put(work, numbers, b"b")
        if compaction:
            small_ldb(work, *compaction)
        second = checkpoint(work, directory / "tuesday")
        # By all of a comparison, OPTIONS and MANIFEST included.
        with finished("diff", first, second, "--summary", "--json") as (process, output):
            read = bytes_read(process)
        differ = rows_that_differ(json.loads(output)["column_families"][0])
        unshared = unshared_bytes(first, second)
        print(f"{name:40}  {unshared / 1e6:8.1f}  {read / 1e6:6.1f}  {read / unshared:5.2f}  {differ:,}")
        for path in (work, second):
            shutil.rmtree(path)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each side [1000000]")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory(prefix="rocksieve-diff-") as name:
        directory = pathlib.Path(name)
        base = load(directory / "base", rows_of(rows), "--compact")
        bytes_table(rows, base, directory)
        time_table(base, directory)
        checkpoints_table(rows, directory)


if __name__ == "__main__":
    main()
