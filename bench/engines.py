#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What semi-joins of shards cost on Spark: its plain join, its join with its own runtime Bloom filter, and
rocksieve.spark.semi_join(), in turns on the same data.

Two sides of --rows random keys of 16 bytes with values of 100, over --shards databases each, at each of
--overlaps, percent of the keys that both have; two executors on this machine. All three read the shards by
rocksieve's source of data, and write what they find to nowhere. Spark's filter gets what it needs to be
used: no thresholds, a size of the sides, a predicate that seems to drop rows, room for all keys. Bytes
shuffled are Spark's own counters; beside them, what tasks gave the driver and rocksieve's filters that it
gave both executors (Spark's own filter it does not tell); memory is the highest sum of what the executors
and their Pythons hold (proportional set size), every half second of the first run. Takes half an hour
and 6 GB of /var/tmp for 5 million rows.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from processes import ROOT, load, parser_of

RUNS = 5  # in one session: memory is that of the first, which warms it up, and time that of the best
KINDS = ("plain", "spark's filter", "rocksieve")
POOL = random.Random(1).randbytes(1 << 24).hex().encode()


def in_environment():
    """Goes on in the virtual environment that ./run test --engines makes."""
    sys.path.insert(0, str(ROOT / "tests" / "suites"))
    import languages
    languages.WORK.mkdir(parents=True, exist_ok=True)
    python = languages.engines_environment()
    os.execv(python, [python, *sys.argv])


def key_of(number):
    """All are different, since the multiplier is odd; 16 bytes."""
    return b"%016x" % (number * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)


def make_side(directory, numbers, shards):
    """Databases of keys, by their last digit; values cannot be compressed but for being hexadecimal."""
    directory.mkdir()
    parts = [[] for _ in range(shards)]
    for number in numbers:
        key = key_of(number)
        parts[int(key[-1:], 16) % shards].append(key)
    places = []
    for number, keys in enumerate(parts):
        keys.sort()
        dice = random.Random(number)
        lines = (b"%s\t%s\n" % (key, POOL[place:place + 100]) for key in keys
                 for place in (dice.randrange(len(POOL) - 100),))
        places.append(str(load(directory / str(number), lines)))
    return places


class Memory(threading.Thread):
    """The most that the executors of this machine and their children held."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most_bytes, self.ended = 0, False
        self.start()

    def run(self):
        while not self.ended:
            total = 0
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    command = (process / "cmdline").read_bytes()
                    if b"CoarseGrainedExecutorBackend" in command or b"pyspark/daemon" in command or (
                            b"pyspark.daemon" in command):
                        rollup = (process / "smaps_rollup").read_text()
                        total += int(rollup.split("\nPss:")[1].split()[0]) * 1024
                except (OSError, IndexError):
                    pass
            self.most_bytes = max(self.most_bytes, total)
            time.sleep(0.5)


def measure(kind, left, right, rows):
    """In a process of its own."""
    from pyspark.sql import Observation, SparkSession
    from pyspark.sql import functions as sql
    import rocksieve.spark
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,2048]").config(
        "spark.executor.memory", "2g").config("spark.ui.showConsoleProgress", "false").config(
            "spark.sql.defaultSizeInBytes", str(rows * 116))
    if kind == "spark's filter":
        prefix = "spark.sql.optimizer.runtime.bloomFilter"
        for name, value in (("enabled", "true"), ("creationSideThreshold", "100g"),
                            ("applicationSideScanSizeThreshold", "0"), ("expectedNumItems", str(rows)),
                            ("maxNumItems", str(4 * rows)), ("numBits", str(10 * rows)),
                            ("maxNumBits", str(64 * rows))):
            builder = builder.config(f"{prefix}.{name}", value)
    else:
        builder = builder.config("spark.sql.optimizer.runtime.bloomFilter.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rocksieve.spark.register(spark)
    spark.range(0, 4, 1, 4).mapInArrow(lambda batches: batches, "id long").collect()  # Pythons have begun
    context = spark.sparkContext
    shipped = [0]  # by broadcasts, to both executors
    broadcast = context.broadcast

    def counting(block):
        shipped[0] += 2 * len(block)
        return broadcast(block)
    context.broadcast = counting
    frame = lambda shards: spark.read.format("rocksieve").option("shards", json.dumps(shards)).load()
    memory = Memory()
    seconds = []
    for _ in range(RUNS):
        began = time.monotonic()
        if kind == "rocksieve":
            found = rocksieve.spark.semi_join(spark, left, right)
        else:
            keys = frame(right).select("key")
            if kind != "plain":
                keys = keys.where("key > X''")
            found = frame(left).join(keys, "key", "left_semi")
            plan = found._jdf.queryExecution().optimizedPlan().toString()
            assert ("might_contain" in plan) == (kind != "plain"), plan
        seen = Observation()
        found = found.observe(seen, sql.count(sql.lit(1)).alias("rows"))
        found.write.format("noop").mode("overwrite").save()
        seconds.append(time.monotonic() - began)
        memory.ended = True  # who looks at memory all the time takes time
    stages = json.load(urllib.request.urlopen(
        f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"))
    each = lambda name: sum(stage[name] for stage in stages) / RUNS
    print(json.dumps({"rows": seen.get["rows"], "seconds": min(seconds), "memory_bytes": memory.most_bytes,
                      "shuffled_bytes": each("shuffleWriteBytes"),
                      "filter_bytes": shipped[0] / RUNS + each("resultSize")}))
    spark.stop()


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--overlaps", default="0.1,1,10,50,90", help="percent [%(default)s]")
    parser.add_argument("--one", help="what a process of its own measures")
    arguments = parser.parse_args()
    if arguments.one:
        return measure(**json.loads(arguments.one))
    try:
        import pyspark  # noqa: F401
        import rocksieve.spark  # noqa: F401
    except ImportError:
        in_environment()
    print(f"{arguments.rows:,} rows on each side, {arguments.shards} shards each. Bytes are those that Spark "
          "shuffles.\n\noverlap                    seconds       MB shuffled   MB of results   MB of memory   rows found\n"
          "                                                        and filters")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        directory = pathlib.Path(directory)
        left = make_side(directory / "left", range(arguments.rows), arguments.shards)
        for percent in map(float, arguments.overlaps.split(",")):
            both = round(arguments.rows * percent / 100)
            right = make_side(directory / f"right{percent}",
                              range(arguments.rows - both, 2 * arguments.rows - both), arguments.shards)
            plain = None
            for kind in KINDS:
                words = json.dumps({"kind": kind, "left": left, "right": right, "rows": arguments.rows})
                finished = subprocess.run([sys.executable, __file__, "--one", words], text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                if finished.returncode != 0:
                    sys.exit(f"{kind} failed:\n{finished.stderr[-4000:]}")
                found = json.loads(finished.stdout.splitlines()[-1])
                assert found["rows"] == both, (kind, found, both)
                plain = plain or found
                ratio = lambda name: found[name] / plain[name]
                print(f"{percent:6g} %  {kind:14} {found['seconds']:7.1f} {ratio('seconds'):5.2f}  "
                      f"{found['shuffled_bytes'] / 1e6:9.1f} {ratio('shuffled_bytes'):6.3f}  "
                      f"{found['filter_bytes'] / 1e6:14.1f}  "
                      f"{found['memory_bytes'] / 1e6:7,.0f} {ratio('memory_bytes'):5.2f}  "
                      f"{found['rows']:11,}", flush=True)
            for place in right:
                subprocess.run(["rm", "-r", place], check=True)


if __name__ == "__main__":
    main()
