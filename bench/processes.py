# SPDX-License-Identifier: Apache-2.0
"""What benchmarks of joins and comparisons share: databases of keys that look random, servers, and what
processes took of the machine."""

import argparse
import contextlib
import itertools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ROCKSIEVE_BUILD") or ROOT / "build").resolve()
ROCKSIEVE = BUILD / "bin" / "rocksieve"


def key_of(number):
    """Looks random; all are different, since the multiplier is odd."""
    return number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


def load(database, lines, *flags):
    """A database of an iterable of lines."""
    loader = subprocess.Popen([ROCKSIEVE, "load", f"--db={database}", "--spec=rocksieve.ribbon:10",
                               "--input=-", *flags], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lines = iter(lines)
    while chunk := b"".join(itertools.islice(lines, 100_000)):
        loader.stdin.write(chunk)
    loader.stdin.close()
    assert loader.wait() == 0, f"cannot load {database}"
    return database


def ldb(database, *arguments, lines=None, **options):
    """By RocksDB's own command."""
    subprocess.run(["ldb", f"--db={database}", *map(str, arguments)],
                   input=None if lines is None else b"".join(lines),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **options)


@contextlib.contextmanager
def serving(database, listen, *flags):
    """The process of a server, and its address."""
    server = subprocess.Popen([ROCKSIEVE, "serve", f"--db={database}", f"--listen={listen}", "--insecure",
                               "--quiet", *flags], stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        port = line.rsplit(":", 1)[1].strip()
        yield server, listen if listen.startswith("unix:") else f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def finished(*command):
    """A process that has ended, but is still there to be asked what it took; and its output."""
    process = subprocess.Popen([ROCKSIEVE, *command], stdout=subprocess.PIPE)
    output = process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process, output
    process.wait()


def bytes_read(process):
    """By all of its calls, what is in the page cache included."""
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{process.pid}/io").read_text())[1])


def rows_that_differ(report):
    """Of all kinds."""
    return sum(report[f"{kind}_rows"] for kind in ("local_only", "remote_only", "changed"))


def wire_bytes(report):
    """Of both directions."""
    return report["wire_sent_bytes"] + report["wire_received_bytes"]


def parser_of(description):
    """For a program whose description is its documentation."""
    return argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
