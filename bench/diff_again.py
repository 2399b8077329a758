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

import argparse
import functools
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import tempfile

from diff_costs import BUILD, ROCKSIEVE


@functools.cache
def address():
    """The same for all comparisons: states are kept for each server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def key_of(number):
    """Looks random; all are different, since the multiplier is odd."""
    return number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


def load(database, rows):
    process = subprocess.Popen([ROCKSIEVE, "load", f"--db={database}", "--spec=rocksieve.ribbon:10",
                                "--input=-", "--compact"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
    for begin in range(0, rows, 100_000):
        process.stdin.write(b"".join(b"%016x\t%032x\n" % (key_of(n), key_of(n ^ 1))
                                     for n in range(begin, min(rows, begin + 100_000))))
    process.stdin.close()
    assert process.wait() == 0


def keep_journal(database):
    file = max(database.glob("OPTIONS-*"))
    file.write_text(file.read_text().replace("[DBOptions]\n",
                                             "[DBOptions]\n  listeners={rocksieve.journal}\n"))


def ldb(database, *arguments, lines=None):
    subprocess.run(["ldb", f"--db={database}", "--try_load_options", "--auto_compaction=false",
                    *map(str, arguments)], input=lines,
                   env=dict(os.environ, LD_PRELOAD=str(BUILD / "lib" / "librocksieve.so")),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def change(database, rows, count, seed, value):
    dice = random.Random(seed)
    numbers = [dice.randrange(rows) for _ in range(count)]
    written, deleted, ingested = numbers[:count * 9 // 10], numbers[-20:], numbers[-count // 20:-20]
    ldb(database, "load", lines=b"".join(b"%016x ==> %s\n" % (key_of(n), value) for n in written))
    for number in deleted:
        ldb(database, "delete", f"{key_of(number):016x}")
    begin = key_of(dice.randrange(rows))
    ldb(database, "deleterange", f"{begin:016x}", f"{begin + (20 << 64) // rows:016x}")
    file = database.with_suffix(".sst")
    ldb(database, "write_extern_sst", file,
        lines=b"".join(b"%016x ==> %s\n" % (key, value) for key in sorted({key_of(n) for n in ingested})))
    ldb(database, "ingest_extern_sst", file)
    file.unlink()


def used(process):
    """Seconds of processor time, and bytes read."""
    proc = pathlib.Path(f"/proc/{process.pid}")
    user, system = map(int, (proc / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
    read = int(re.search(r"rchar: (\d+)", (proc / "io").read_text())[1])
    return (user + system) / os.sysconf("SC_CLK_TCK"), read


def compare(directory, *flags):
    """Seconds, bytes read, the report."""
    server = subprocess.Popen([ROCKSIEVE, "serve", f"--db={directory / 'there'}", "--listen=" + address(),
                               "--insecure", "--quiet", f"--states={directory / 'there.states'}"],
                              stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        seconds, read = used(server)
        client = subprocess.Popen([ROCKSIEVE, "diff", f"--db={directory / 'here'}",
                                   "--remote=" + address(), "--insecure", "--summary", "--json", *flags],
                                  stdout=subprocess.PIPE)
        report = json.load(client.stdout)["column_families"][0]
        os.waitid(os.P_PID, client.pid, os.WEXITED | os.WNOWAIT)
        mine, theirs = used(client), used(server)
        client.wait()
    finally:
        server.terminate()
        server.wait()
    return mine[0] + theirs[0] - seconds, mine[1] + theirs[1] - read, report


def print_line(name, costs, first, changed):
    seconds, read, report = costs
    wire = report["wire_sent_bytes"] + report["wire_received_bytes"]
    differ = sum(report[f"{kind}_rows"] for kind in ("local_only", "remote_only", "changed"))
    if report["why_full"] and first[2] is not report:
        name += ": all again"
    print(f"{name:34}  {seconds:7.2f}  {100 * seconds / first[0]:5.1f}  {read / 1e6:7.1f}  "
          f"{100 * read / first[1]:5.1f}  {wire:9,}  {wire / changed if changed else 0:8.1f}  {differ:,}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000, help="of each side [20000000]")
    parser.add_argument("--journal", action="store_true", help="of both databases, is kept")
    flags = parser.parse_args()
    rows = flags.rows
    with tempfile.TemporaryDirectory(prefix="rocksieve-diff-", dir="/var/tmp") as name:
        directory = pathlib.Path(name)
        sides = [directory / "here", directory / "there"]
        load(sides[0], rows)
        if flags.journal:
            keep_journal(sides[0])
        subprocess.run(["cp", "-r", *sides], check=True)
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
            ldb(side, "compact", "--from=40", "--to=50")
        again("a sixteenth compacted", 0)
        for side in sides:
            change(side, rows, count, 4, b"and all compacted")
            ldb(side, "compact")
        again("0.1 % changed, all compacted", count)


if __name__ == "__main__":
    main()
