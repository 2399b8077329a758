#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lookups of RocksDB's own db_bench, with its built-in filters and with rocksieve's.

Every filter gets a database of its own with the same keys: one sorted run, and a few files of level
0 above it, so that a lookup asks several filters. The programs run in turns. Two settings: all data
in the block cache; and a block cache of a tenth of the data, so that blocks are read from the
operating system's cache, checked and copied.

Prints a table for each setting and writes all figures as JSON. Needs db_bench (rocksdb-tools).
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from processes import BUILD

WORKLOADS = {"readmissing": "missing", "readrandom": "present", "multireadrandom": "multiget"}
WARM_UP = "readrandom"  # comes first, so that the caches hold what they can
KEY_BYTES, VALUE_BYTES, BATCH = 16, 100, 32
NEWER_RUNS = 6  # files of level 0
BUILT_IN = "bloomfilter:10:false"

OPTIONS = """\
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1

[DBOptions]
  create_if_missing=true

[CFOptions "default"]
  write_buffer_size={write_buffer_bytes}
  target_file_size_base=67108864
  disable_auto_compactions=true
  level0_slowdown_writes_trigger=1000
  level0_stop_writes_trigger=1000
  compression=kNoCompression

[TableOptions/BlockBasedTable "default"]
  filter_policy={filter_policy}
"""


def data_bytes(keys):
    return keys * (KEY_BYTES + VALUE_BYTES)


class Database:
    """A database with one filter policy, below `directory`."""

    def __init__(self, directory, policy, keys):
        self.policy, self.keys = policy, keys
        self.path = directory / policy.replace(":", "_").replace("%", "p")
        self.path.mkdir()
        self.options = self.path / "OPTIONS.ini"
        # What is written in the end fills NEWER_RUNS write buffers; a memtable takes about 1.4
        # times the bytes of its entries.
        newer = data_bytes(keys) // 4
        self.options.write_text(OPTIONS.format(
            filter_policy=policy, write_buffer_bytes=max(65536, int(1.4 * newer / NEWER_RUNS))))

    def bench(self, benchmarks, *flags):
        command = ["db_bench", f"--db={self.path / 'db'}", f"--options_file={self.options}",
                   f"--benchmarks={benchmarks}", f"--num={self.keys}",
                   f"--key_size={KEY_BYTES}", f"--value_size={VALUE_BYTES}", *flags]
        plugin = BUILD / "lib" / "librocksieve.so"
        finished = subprocess.run(command, env=dict(os.environ, LC_ALL="C", LD_PRELOAD=str(plugin)),
                                  capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            sys.exit(f"end_to_end: {' '.join(command)} failed:\n{finished.stderr[-2000:]}")
        return finished.stdout

    def fill(self):
        self.bench("filluniquerandom,compact", "--seed=1", "--disable_wal")
        self.bench("overwrite,flush", "--seed=2", "--disable_wal", "--use_existing_db",
                   f"--writes={self.keys // 4}")

    def read(self, benchmarks, seed, reads, cache_bytes, *flags):
        return self.bench(benchmarks, "--use_existing_db", f"--seed={seed}", f"--reads={reads}",
                          f"--batch_size={BATCH}", "--multiread_batched",
                          f"--cache_size={cache_bytes}", *flags)

    def operations_per_second(self, seed, reads, cache_bytes):
        """By workload."""
        out = self.read(",".join([WARM_UP, *WORKLOADS]), seed, reads, cache_bytes)
        return {name: float(re.findall(rf"^{name}\s*:.* (\d+) ops/sec", out, re.MULTILINE)[-1])
                for name in WORKLOADS}

    def blocks_per_lookup(self, workload, seed, reads, cache_bytes):
        """Data blocks that a lookup touches, and those of them that were not in the block cache."""
        def counts(benchmarks):
            out = self.read(benchmarks, seed, reads, cache_bytes, "--statistics")
            hits, misses = (int(re.search(rf"^rocksdb\.block\.cache\.data\.{name} COUNT : (\d+)$",
                                          out, re.MULTILINE)[1]) for name in ("hit", "miss"))
            return hits + misses, misses

        before, after = counts(WARM_UP), counts(f"{WARM_UP},{workload}")
        return tuple((b - a) / reads for a, b in zip(before, after))


def say(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(databases, setting, cache_bytes, arguments):
    """A row for each workload and filter."""
    speeds = {(database.policy, name): [] for database in databases for name in WORKLOADS}
    for round_number in range(arguments.rounds):
        for database in databases:
            say(f"{setting}: round {round_number + 1} of {arguments.rounds}, {database.policy}")
            found = database.operations_per_second(100 + round_number, arguments.reads, cache_bytes)
            for name, speed in found.items():
                speeds[database.policy, name].append(speed)
    rows = []
    for name, workload in WORKLOADS.items():
        first = speeds[databases[0].policy, name]
        for database in databases:
            say(f"{setting}: counting blocks, {database.policy}")
            touched, read = database.blocks_per_lookup(name, 99, arguments.reads, cache_bytes)
            own = speeds[database.policy, name]
            rows.append({
                "setting": setting, "workload": workload, "filter": database.policy,
                "operations_per_second_median": statistics.median(own),
                "operations_per_second_min": min(own), "operations_per_second_max": max(own),
                # Of the same round, so that what else the machine did hits both.
                "speed_over_first": statistics.median(b / a for a, b in zip(first, own)),
                "data_blocks_per_lookup": touched, "data_blocks_read_per_lookup": read})
    say("")
    return rows


def print_table(title, explanation, rows):
    print(f"\n{title}\n{explanation}\n")
    print(f"{'lookups':<9} {'filter':<24} {'thousand/s':>10} {'least':>7} {'most':>7} "
          f"{'ratio':>6} {'blocks':>7} {'read':>6}")
    for before, row in zip([None, *rows], rows):
        if before and before["workload"] != row["workload"]:
            print()
        median, least, most = (row[f"operations_per_second_{kind}"] / 1000
                               for kind in ("median", "min", "max"))
        print(f"{row['workload']:<9} {row['filter']:<24} {median:>10.0f} {least:>7.0f} {most:>7.0f} "
              f"{row['speed_over_first']:>6.2f} {row['data_blocks_per_lookup']:>7.3f} "
              f"{row['data_blocks_read_per_lookup']:>6.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--specs", default=f"{BUILT_IN},rocksieve.bloom:10,rocksieve.ribbon:10",
                        help="filter policies, as in an OPTIONS file; all are compared with the "
                             "first (%(default)s)")
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--reads", type=int, default=640_000, help="lookups of a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the keys, 3 rounds")
    parser.add_argument("--directory", help="where the databases go; a temporary one by default")
    parser.add_argument("--json", default=str(BUILD / "end_to_end.json"))
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.keys, arguments.reads, arguments.rounds = 200_000, 64_000, 3
    if shutil.which("db_bench") is None:
        sys.exit("end_to_end: db_bench is missing; install the package rocksdb-tools")

    with tempfile.TemporaryDirectory(dir=arguments.directory, prefix="rocksieve-bench-") as path:
        databases = []
        for policy in arguments.specs.split(","):
            say(f"filling a database with {policy}")
            databases.append(Database(pathlib.Path(path), policy, arguments.keys))
            databases[-1].fill()
        data = data_bytes(arguments.keys)
        columns = ("Thousands of lookups per second: median, least and most of the rounds; the "
                   "ratio to the first\nfilter of the same round, median. Blocks: data blocks "
                   "touched per lookup. Read: those that were not\nin the block cache.")
        in_memory = measure(databases, "in memory", 4 * data, arguments)
        print_table("LOOKUPS IN MEMORY",
                    f"{arguments.keys:,} keys in one run and {NEWER_RUNS} newer files; all in the "
                    f"block cache.\n{columns}", in_memory)
        small_cache = measure(databases, "small cache", data // 10, arguments)
        print_table("LOOKUPS WITH A SMALL BLOCK CACHE",
                    f"The same with a block cache of a tenth of the data, {data // 10:,} bytes.",
                    small_cache)
    report = {"keys": arguments.keys, "reads": arguments.reads, "rounds": arguments.rounds,
              "rows": in_memory + small_cache}
    pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(f"\nAll figures: {os.path.relpath(arguments.json)}")


if __name__ == "__main__":
    main()
