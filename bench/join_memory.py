#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of a join of large databases, in two processes over gRPC.

Makes two databases of random keys, half of them in common (about a minute for 10 million keys each),
serves one with `rocksieve serve`, and joins the other with it. The most memory that either process
had is what the kernel says (VmHWM). Exit code 1 if a count is not what it must be, or either process
took more than --most-mb.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from processes import ROCKSIEVE, key_of, load, parser_of, serving


def run(arguments, directory):
    here, there = directory / "here", directory / "there"
    for database, first in ((here, 0), (there, arguments.keys // 2)):
        load(database, (b"%016x\n" % key_of(n) for n in range(first, first + arguments.keys)))
    with serving(there, f"unix:{directory / 'socket'}") as (server, address):
        start = time.monotonic()
        client = subprocess.Popen(
            [ROCKSIEVE, "join", f"--db={here}", f"--remote={address}", "--insecure",
             f"--op={arguments.op}", "--json",
             *([] if arguments.op == "count" else [f"--output={directory / 'rows'}"])],
            stdout=subprocess.PIPE, text=True)
        report = client.stdout.read()
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
            server_mb = int(re.search(r"^VmHWM:\s+(\d+)", status.read(), re.MULTILINE)[1]) * 1024 / 1e6
    if client.returncode != 0:
        sys.exit(f"the join failed with {client.returncode}")
    return json.loads(report), seconds, usage.ru_maxrss * 1024 / 1e6, server_mb


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--keys", type=int, default=20_000_000, help="of each side [20000000]")
    parser.add_argument("--op", default="count", help="as that of rocksieve join [count]")
    parser.add_argument("--most-mb", type=float, default=300, help="of each process [300]")
    parser.add_argument("--work-dir", help="where the databases are made [a temporary directory]")
    parser.add_argument("--json", help="write the figures to FILE")
    arguments = parser.parse_args()
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
