#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of a join of large databases, in two processes over gRPC.

Makes two databases of random keys, half of them in common (about a minute for 10 million keys each),
serves one with `rocksieve serve`, and joins the other with it. The most memory that either process
had is what the kernel says (VmHWM). Exit code 1 if a count is not what it must be, or either process
took more than --most-mb.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ROCKSIEVE_BUILD") or ROOT / "build").resolve()
ROCKSIEVE = BUILD / "bin" / "rocksieve"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=20_000_000, help="of each side [20000000]")
    parser.add_argument("--op", default="count", help="as that of rocksieve join [count]")
    parser.add_argument("--most-mb", type=float, default=300, help="of each process [300]")
    parser.add_argument("--work-dir", help="where the databases are made [a temporary directory]")
    parser.add_argument("--json", help="write the figures to FILE")
    return parser.parse_args()


def load(database, numbers):
    """A database with a key for each number: 16 hexadecimal digits that look random, and are all
    different since the multiplier is odd."""
    loader = subprocess.Popen([ROCKSIEVE, "load", f"--db={database}", "--spec=rocksieve.ribbon:10",
                               "--input=-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    batch = []
    for number in numbers:
        batch.append("%016x\n" % (number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF))
        if len(batch) == 100_000:
            loader.stdin.write("".join(batch).encode())
            batch.clear()
    loader.stdin.write("".join(batch).encode())
    loader.stdin.close()
    if loader.wait() != 0:
        sys.exit(f"cannot load {database}")


def most_memory_mb(pid):
    """The most that a living process has had in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError("no VmHWM")


def run(arguments, directory):
    here, there = directory / "here", directory / "there"
    load(here, range(arguments.keys))
    load(there, range(arguments.keys // 2, arguments.keys // 2 + arguments.keys))
    socket = f"unix:{directory / 'socket'}"
    server = subprocess.Popen([ROCKSIEVE, "serve", f"--db={there}", f"--listen={socket}",
                               "--insecure", "--quiet"], stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        start = time.monotonic()
        client = subprocess.Popen(
            [ROCKSIEVE, "join", f"--db={here}", f"--remote={socket}", "--insecure",
             f"--op={arguments.op}", "--json",
             *([] if arguments.op == "count" else [f"--output={directory / 'rows'}"])],
            stdout=subprocess.PIPE, text=True)
        report = client.stdout.read()
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        server_mb = most_memory_mb(server.pid)
    finally:
        server.terminate()
        server.wait()
    if client.returncode != 0:
        sys.exit(f"the join failed with {client.returncode}")
    return json.loads(report), seconds, usage.ru_maxrss * 1024 / 1e6, server_mb


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="rocksieve-", dir=arguments.work_dir) as directory:
        report, seconds, client_mb, server_mb = run(arguments, pathlib.Path(directory))
    figures = {"keys_per_side": arguments.keys, "operation": arguments.op, "seconds": seconds,
               "asking_most_memory_mb": client_mb, "answering_most_memory_mb": server_mb,
               "report": report}
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n")
    print(f"{arguments.keys:,} x {arguments.keys:,} keys, half in common, {arguments.op}: "
          f"{seconds:.1f} s\nmost memory: client {client_mb:.0f} MB, server {server_mb:.0f} MB")
    matched = report["matched_keys"]
    if matched != arguments.keys - arguments.keys // 2:
        sys.exit(f"wrong: {matched:,} keys matched")
    if max(client_mb, server_mb) > arguments.most_mb:
        sys.exit(f"more than {arguments.most_mb:.0f} MB")


if __name__ == "__main__":
    main()
