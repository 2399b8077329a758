#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a second comparison costs with `rocksieve diff --state`, over the first one.

--rows rows with keys of 16 bytes and values of 32 on each side. Between comparisons, 0.1 % of them
are changed at random: nine tenths written, some deleted, some ingested as a file, and 20 deleted as a
range; by `ldb`, once the same on both sides, once half of them on each side. Then a sixteenth of both
databases is compacted; and then all of them, after 0.1 % was changed. With --journal, `ldb` keeps the
journal of both databases (listeners={rocksieve.journal} in their OPTIONS). Processor time and bytes
read are those of `rocksieve diff --summary` and `rocksieve serve` together. Takes 6 minutes and 8 GB of
/var/tmp for 20 million rows.
"""

import functools
import json
import os
import pathlib
import random
import shutil
import socket
import tempfile

from processes import (BUILD, bytes_read, finished, key_of, ldb, load, parser_of, rows_that_differ, serving,
                       wire_bytes)


@functools.cache
def address():
    """The same for all comparisons: states are kept for each server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def keep_journal(database):
    file = max(database.glob("OPTIONS-*"))
    file.write_text(file.read_text().replace("[DBOptions]\n",
                                             "[DBOptions]\n  listeners={rocksieve.journal}\n"))


def ldb_again(database, *arguments, lines=None):
    ldb(database, "--try_load_options", "--auto_compaction=false", *arguments, lines=lines,
        env=dict(os.environ, LD_PRELOAD=str(BUILD / "lib" / "librocksieve.so")))


def change(database, rows, count, seed, value):
    dice = random.Random(seed)
    numbers = [dice.randrange(rows) for _ in range(count)]
    written, deleted, ingested = numbers[:count * 9 // 10], numbers[-20:], numbers[-max(count // 20, 40):-20]
    ldb_again(database, "load", lines=(b"%016x ==> %s\n" % (key_of(n), value) for n in written))
    for number in deleted:
        ldb_again(database, "delete", f"{key_of(number):016x}")
    begin = key_of(dice.randrange(rows))
    ldb_again(database, "deleterange", f"{begin:016x}", f"{begin + (20 << 64) // rows:016x}")
    file = database.with_suffix(".sst")
    ldb_again(database, "write_extern_sst", file,
              lines=(b"%016x ==> %s\n" % (key, value) for key in sorted({key_of(n) for n in ingested})))
    ldb_again(database, "ingest_extern_sst", file)
    file.unlink()


def used(process):
    """Seconds of processor time, and bytes read."""
    stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    user, system = map(int, stat.rsplit(")", 1)[1].split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK"), bytes_read(process)


def compare(directory, *flags):
    """Seconds, bytes read, the report."""
    with serving(directory / "there", address(), f"--states={directory / 'there.states'}") as (server, _):
        seconds, read = used(server)
        with finished("diff", f"--db={directory / 'here'}", "--remote=" + address(), "--insecure",
                      "--summary", "--json", *flags) as (client, output):
            mine, theirs = used(client), used(server)
    return (mine[0] + theirs[0] - seconds, mine[1] + theirs[1] - read,
            json.loads(output)["column_families"][0])


def print_line(name, costs, first, changed):
    seconds, read, report = costs
    wire, differ = wire_bytes(report), rows_that_differ(report)
    if report["why_full"] and first[2] is not report:
        name += ": all again"
    print(f"{name:34}  {seconds:7.2f}  {100 * seconds / first[0]:5.1f}  {read / 1e6:7.1f}  "
          f"{100 * read / first[1]:5.1f}  {wire:9,}  {wire / changed if changed else 0:8.1f}  {differ:,}",
          flush=True)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="of each side [20000000]")
    parser.add_argument("--journal", action="store_true", help="of both databases, is kept")
    flags = parser.parse_args()
    rows = flags.rows
    with tempfile.TemporaryDirectory(prefix="rocksieve-diff-", dir="/var/tmp") as name:
        directory = pathlib.Path(name)
        sides = [directory / "here", directory / "there"]
        load(sides[0], (b"%016x\t%032x\n" % (key_of(n), key_of(n ^ 1)) for n in range(rows)), "--compact")
        if flags.journal:
            keep_journal(sides[0])
        shutil.copytree(*sides)
        state = f"--state={directory / 'here.states'}"
        count = rows // 1000
        print(f"{rows:,} rows on each side{', with a journal' * flags.journal}; % of the first comparison")
        print(f"{'':34}  {'CPU, s':>7}  {'%':>5}  {'MB read':>7}  {'%':>5}  {'wire':>9}  "
              "per changed  rows that differ")
        first = compare(directory, state)
        print_line("first", first, first, 0)

        def again(name, changed):
            costs = compare(directory, state)
            full = compare(directory)[2]
            for kind in ("local_only", "remote_only", "changed"):
                assert full[f"{kind}_rows"] == costs[2][f"{kind}_rows"], (full, costs[2])
            print_line(name, costs, first, changed)

        again("nothing changed", 0)
        for side in sides:
            change(side, rows, count, 1, b"the same on both sides")
        again("0.1 % changed alike", count)
        for seed, side in enumerate(sides):
            change(side, rows, count // 2, 2 + seed, b"on one side")
        again("0.05 % changed on each side", count)
        again("nothing changed, these differ", 0)
        for side in sides:
            ldb_again(side, "compact", "--from=40", "--to=50")
        again("a sixteenth compacted", 0)
        for side in sides:
            change(side, rows, count, 4, b"and all compacted")
            ldb_again(side, "compact")
        again("0.1 % changed, all compacted", count)


if __name__ == "__main__":
    main()
