# SPDX-License-Identifier: Apache-2.0
"""Joins on Spark, with two executors that are processes of their own, beside joins of Python's sets: every
operation, sides of all kinds, faults. What is shipped is really serialized."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from pyspark.sql import SparkSession

import rocksieve.spark
import shards
from shards import FIELD, Sides, damage, field, ldb, load, whole_key

os.environ["PYSPARK_PYTHON"] = sys.executable


def start(**settings):
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4",
                        "spark.ui.showConsoleProgress": "false", **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows_of(frame):
    return sorted((bytes(row.key), bytes(row.value)) for row in frame.collect())


class Joins(shards.Joins, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spark = cls.engine = start()
        cls.few = Sides(6000, 3000, 60)

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()

    joins = rocksieve.spark
    rows_of = staticmethod(rows_of)

    @staticmethod
    def of_side(frame, side):
        return frame.where(f"side = '{side}'")

    def test_data_frames(self):
        frame = self.spark.createDataFrame(
            [(bytearray(key), bytearray(value)) for key, value in self.few.rows["right"]],
            "key binary, value binary")
        self.check(self.few, self.few.left, frame, right_on="key")
        self.check(self.few, frame.sparkSession.createDataFrame(
            [(bytearray(key), bytearray(value)) for key, value in self.few.rows["left"]],
            "key binary, value binary"), self.few.right, left_on="key")
        # So many parts that executors unite their filters; or none.
        found = rocksieve.spark.semi_join(self.spark, self.few.left, frame.repartition(20), right_on="key")
        self.assertEqual(self.few.matches("left", whole_key)[0], rows_of(found))
        self.assertEqual(0, rocksieve.spark.semi_join(
            self.spark, self.few.left, frame.where("false"), right_on="key").count())
        with tempfile.TemporaryDirectory() as directory:
            def more_each_time(batches):
                for batch in batches:
                    tempfile.mkstemp(dir=directory)
                    yield batch.slice(0, len(os.listdir(directory)))
            changing = frame.mapInArrow(more_each_time, frame.schema)
            with self.assertRaisesRegex(RuntimeError, "rows, and then .*: persist it"):
                rocksieve.spark.count(self.spark, changing, self.few.left, left_on="key")
        numbers = self.spark.createDataFrame([("1", 1), (None, 2), ("x", 3)], "name string, number int")
        found = rocksieve.spark.anti_join(self.spark, numbers, self.few.right, left_on="name",
                                          right_on=FIELD)
        self.assertEqual([("1", 1), (None, 2), ("x", 3)], sorted(map(tuple, found.collect()),
                                                                 key=lambda row: row[1]))
        with self.assertRaisesRegex(ValueError, "right_on names the key column"):
            rocksieve.spark.semi_join(self.spark, self.few.left, frame)
        with self.assertRaisesRegex(ValueError, "no shards"):
            rocksieve.spark.semi_join(self.spark, [], frame, right_on="key")

    def test_the_source_of_data(self):
        rocksieve.spark.register(self.spark)
        read = lambda **options: self.spark.read.format("rocksieve").options(**options)
        frame = read(shards=json.dumps(self.few.left)).load()
        self.assertEqual(sorted(self.few.rows["left"]), rows_of(frame))
        self.assertEqual(len(self.few.left), frame.rdd.getNumPartitions())
        one = self.few.left[0]
        parts = [{"db": one, "end": "80"}, {"db": one, "begin": "80"}]
        self.assertEqual(rows_of(read().load(one)), rows_of(read(shards=json.dumps(parts)).load()))
        some = sorted(self.few.rows["left"])[:3000]
        for i in range(3):  # two table files and a log
            shards.load(self.few.directory / "three", some[1000 * i:1000 * (i + 1)])
        frame = read(parts="8").load(str(self.few.directory / "three"))
        self.assertEqual((some, 2), (rows_of(frame), frame.rdd.getNumPartitions()))
        keys = read(columns="key,join_key", on=FIELD, shards=json.dumps(self.few.left)).load()
        self.assertEqual({(key, field((key, value))) for key, value in self.few.rows["left"]},
                         {(bytes(row.key), row.join_key and bytes(row.join_key))
                          for row in keys.collect()})
        for options, says in (({}, "name the databases"), ({"shards": '"a"'}, "is a JSON list"),
                              ({"shards": "[{}]"}, "has {}: a shard is a path"),
                              ({"shards": '[{"db": "a", "begin": "zz"}]'}, "hexadecimal digits"),
                              ({"path": one, "parts": "x"}, "parts is a number, not x")):
            with self.assertRaisesRegex(Exception, says):
                read(**options).load().count()

    def test_where_filters_pay_and_where_not(self):
        many = Sides(3000, 3000, 2700)
        for sides, pays in ((self.few, True), (many, False)):
            join = rocksieve.spark._Join(self.spark, sides.left, sides.right, None, None)
            self.assertEqual(pays, join.has_filters)

    def test_the_interface_says_what_goes_on(self):
        rocksieve.spark.count(self.spark, self.few.left, self.few.right)
        jobs = self.spark.sparkContext._jsc.sc().statusStore().jobsList(None)
        said = {jobs.apply(i).description().toString() for i in range(jobs.size())}
        self.assertIn("Some(rocksieve: a filter of the smaller side)", said)
        self.assertIn("Some(rocksieve: rows that match)", said)

    # Faults.

    def test_a_damaged_table_or_none_is_an_error_that_names_the_shard(self):
        sides = Sides(6000, 3000, 10)
        damage(sides.left[1])
        for left, right in ((sides.left, sides.right), (sides.right, sides.left)):
            with self.assertRaisesRegex(Exception, f"{sides.left[1]}: .*sst"):
                rocksieve.spark.anti_join(self.spark, left, right).collect()
        with self.assertRaisesRegex(Exception, "/nowhere: there is no directory"):
            rocksieve.spark.semi_join(self.spark, sides.left, ["/nowhere"])

    def test_keys_that_change_in_between_are_an_error_that_names_the_shard(self):
        for side in ("left", "right"):
            sides = Sides(6000, 3000, 10)
            found = rocksieve.spark.anti_join(self.spark, sides.left, sides.right)
            shard = sides.shards[side][2]
            load(shard, [(b"new", b"")])
            with self.assertRaisesRegex(Exception, f"{shard}: its keys are not those of an earlier scan"):
                found.collect()

    def test_shards_that_are_compacted(self):
        sides = Sides(6000, 3000, 30)
        ended = threading.Event()

        def compact():
            while not ended.is_set():
                for shard in sides.left + sides.right:
                    ldb(shard, "compact")
        thread = threading.Thread(target=compact)
        thread.start()
        try:
            for _ in range(3):
                self.check(sides, sides.left, sides.right)
        finally:
            ended.set()
            thread.join()

    def test_an_executor_is_killed(self):
        matched, only = self.few.matches("left", whole_key)

        def executors():
            return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and
                    b"CoarseGrainedExecutorBackend" in command_of(pid) and
                    b"local-cluster" not in command_of(pid)]

        def command_of(pid):
            with contextlib.suppress(OSError):
                return pathlib.Path("/proc", pid, "cmdline").read_bytes()
            return b""

        killed = 0
        for delay in (0.3, 1, 2):
            def kill():
                nonlocal killed
                time.sleep(delay)
                with contextlib.suppress(IndexError, ProcessLookupError):
                    os.kill(executors()[0], signal.SIGKILL)
                    killed += 1
            thread = threading.Thread(target=kill)
            thread.start()
            found = rows_of(rocksieve.spark.anti_join(self.spark, self.few.left, self.few.right))
            thread.join()
            self.assertEqual(only, found)
        self.assertGreater(killed, 1)


FULL_DISK = """
import sys
import spark_test, rocksieve.spark
directory, *shards = sys.argv[1:]
spark = spark_test.start(**{"spark.local.dir": directory, "spark.sql.autoBroadcastJoinThreshold": "-1"})
left, right = shards[:len(shards) // 2], shards[len(shards) // 2:]
try:
    print("rows", rocksieve.spark.semi_join(spark, left, right).count())
except Exception as error:
    print("error", error)
"""


class FullDisk(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "mounts a small file system")
    def test_it_is_an_error_or_all_rows(self):
        sides = Sides(6000, 6000, 5500)
        matched, _ = sides.matches("left", whole_key)
        for kilobytes, expected in ((200, "error .*No space left"), (100_000, f"rows {len(matched)}$")):
            with tempfile.TemporaryDirectory() as directory:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", directory],
                               check=True)
                try:
                    finished = subprocess.run(
                        [sys.executable, "-c", FULL_DISK, directory, *sides.left, *sides.right], text=True,
                        env={**os.environ, "SPARK_LOCAL_DIRS": directory}, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, timeout=300)
                    self.assertRegex(finished.stdout, f"(?ms){expected}")
                finally:
                    subprocess.run(["umount", "-l", directory], check=True)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
