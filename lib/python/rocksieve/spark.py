# SPDX-License-Identifier: Apache-2.0
"""Joins on Spark that ship filters instead of rows, and RocksDB databases as a source of data.

    rows = rocksieve.spark.semi_join(spark, ["/data/a0", "/data/a1"], ["/data/b0", "/data/b1"])
    rows.write.parquet("both")              # columns key, value: as any DataFrame

    rocksieve.spark.register(spark)
    frame = spark.read.format("rocksieve").option("shards", '["/data/a0", "/data/a1"]').load()

A side is a list of shards, which the executors find under these paths, or a DataFrame with a key column.
Each is read two or three times; what Spark does not read the same each time is to be persisted before.
docs/engines.md says how it works, what it saves, and when it does not pay.
"""

import contextlib
import functools
import json
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from . import engines
from ._c import Path
from .dynamic import DynamicFilter
from .engines import Built, Counts, Shard

Side = Union[DataFrame, Iterable[Union[Shard, Path]]]

_KEY = "rocksieve_key"  # what is joined on
_MANY_TASKS = 16  # whose filters are united by executors, not by the driver


def _schema(columns: Sequence[str]) -> str:
    return ", ".join(f"{column} binary" for column in columns)


def _batches(scan: Any) -> Iterator[pyarrow.RecordBatch]:
    yield from pyarrow.RecordBatchReader.from_stream(scan)


class _Rows(engines.Side):
    """A side of a join."""

    columns: List[str]

    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self.spark = spark

    def _merged(self, parts: Any, keys: int) -> Built:
        """Of an RDD of what engines.build() gives."""
        if parts.getNumPartitions() > _MANY_TASKS:
            built: Built = parts.treeReduce(engines.merge)
            return built
        # A DataFrame without rows may have no parts.
        return functools.reduce(engines.merge, parts.collect() or [engines.build([], keys)])

    def frame(self, keep: str = "maybe", only_key: bool = False) -> DataFrame:
        """The rows, with what they are joined on as _KEY, that the filter lets pass or drops."""
        raise NotImplementedError


class _Shards(_Rows):
    def __init__(self, spark: SparkSession, shards: List[Shard], on: Optional[str]) -> None:
        super().__init__(spark)
        if not shards:
            raise ValueError("a side has no shards")
        self.shards, self.on = shards, on
        self.columns = ["key", "value"]
        self.estimate: Optional[int] = None  # of its rows

    def _tasks(self, of: Sequence[Any]) -> int:
        # One for each core, not for each shard: they are short, and each filter that they build is as
        # large as the one that all become.
        return min(len(of), self.spark.sparkContext.defaultParallelism)

    def _each(self, of: Sequence[Any]) -> Any:
        return self.spark.sparkContext.parallelize(of, self._tasks(of))

    def size(self) -> int:
        assert self.estimate is not None
        return self.estimate

    @staticmethod
    def estimate_all(sides: "List[_Shards]") -> None:
        """Of several sides in one job."""
        databases = [(i, shard) for i, side in enumerate(sides)
                     for shard in engines.databases_of(side.shards)]
        found = sides[0]._each(databases).mapValues(engines.estimate).collect()
        for i, side in enumerate(sides):
            side.estimate = sum(rows for number, rows in found if number == i)

    def parts(self, keys: int, asked: Any, whole: bool) -> Built:
        on = self.on

        def build(numbered: Iterable[Any]) -> Iterator[Built]:
            yield engines.build(numbered, keys, on, None if asked is None else asked.value, whole)

        return self._merged(self._each(list(enumerate(self.shards))).mapPartitions(build), keys)

    def frame(self, keep: str = "maybe", only_key: bool = False) -> DataFrame:
        shards, on, digests, asked = self.shards, self.on, self.digests, self.asked
        columns = [engines.key_column(on)]
        if not only_key:
            columns = self.columns + [column for column in columns if column not in self.columns]
        names = [_KEY] if only_key else self.columns + [_KEY]

        def read(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for number in (i for batch in batches for i in batch.column(0).to_pylist()):
                scan = engines.probe(shards[number], None if asked is None else asked.value, keep,
                                     columns=columns, on=on, digest=digests.get(number))
                for batch in _batches(scan):
                    arrays = list(batch.columns)
                    if len(arrays) < len(names):
                        arrays.append(arrays[0])  # joined on the key
                    yield pyarrow.RecordBatch.from_arrays(arrays, names)

        rows = self.spark.range(0, len(shards), 1, self._tasks(shards)).mapInArrow(read, _schema(names))
        # Spark takes those that it joins for as few as the numbers, and would send all of them to each
        # executor.
        return rows.hint("merge") if keep == "maybe" else rows


class _Frame(_Rows):
    def __init__(self, frame: DataFrame, key: str) -> None:
        super().__init__(frame.sparkSession)
        self.columns = frame.columns
        if _KEY in self.columns:
            raise ValueError(f"a side has a column {_KEY}, which the join needs: rename it")
        self.source = frame.withColumn(_KEY, frame[key].cast("binary"))

    def size(self) -> int:
        if self.rows is None:
            self.rows = self.source.count()
        return self.rows

    def parts(self, keys: int, asked: Any, whole: bool) -> Built:
        def build(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            made = DynamicFilter("bloom", max(1, keys), engines.RATE)
            filter_asked = None if asked is None else DynamicFilter.from_bytes(asked.value)
            total = Built(b"", 0, 0, {}, True)
            for batch in batches:
                column = batch.column(0)
                if filter_asked is not None:
                    column = column.filter(pyarrow.array(filter_asked.may_contain(column)))
                made.update(column)
                total = total._replace(rows=total.rows + len(batch), passed=total.passed + len(column))
                if not whole and total.rows >= engines.SAMPLE_ROWS and not total.pays:
                    total = total._replace(complete=False)
                    break
            yield pyarrow.RecordBatch.from_pydict({
                "block": [bytes(made)], "rows": [total.rows], "passed": [total.passed],
                "complete": [total.complete]})

        return self._merged(self.source.select(_KEY).mapInArrow(
            build, "block binary, rows long, passed long, complete boolean").rdd.map(
                lambda row: Built(bytes(row.block), row.rows, row.passed, {}, row.complete)), keys)

    def frame(self, keep: str = "maybe", only_key: bool = False) -> DataFrame:
        rows = self.source.select(_KEY) if only_key else self.source
        asked = self.asked
        if asked is None:
            return rows

        def drop(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            opened = DynamicFilter.from_bytes(asked.value)
            for batch in batches:
                passes = pyarrow.array(opened.may_contain(batch, _KEY))
                yield batch.filter(passes if keep == "maybe" else pyarrow.compute.invert(passes))

        return rows.mapInArrow(drop, rows.schema)


def _side(spark: SparkSession, side: Side, on: Optional[str], name: str) -> _Rows:
    if isinstance(side, DataFrame):
        if on is None:
            raise ValueError(f"{name}_on names the key column of a DataFrame")
        return _Frame(side, on)
    return _Shards(spark, engines.shards_of(side), on)


@contextlib.contextmanager
def _doing(spark: SparkSession, what: str) -> Iterator[None]:
    """Spark's own interface shows what its jobs are for."""
    context = spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"rocksieve: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)


class _Join:
    """Two sides, and the filter that each is asked."""

    def __init__(self, spark: SparkSession, left: Side, right: Side, left_on: Optional[str],
                 right_on: Optional[str]) -> None:
        self.left = _side(spark, left, left_on, "left")
        self.right = _side(spark, right, right_on, "right")
        doing = functools.partial(_doing, spark)
        of_shards = [side for side in (self.left, self.right) if isinstance(side, _Shards)]
        if of_shards:
            with doing("rows of shards"):
                _Shards.estimate_all(of_shards)
        self.has_filters = engines.plan(self.left, self.right, spark.sparkContext.broadcast,
                                        doing)

    def absent(self, side: _Rows) -> List[DataFrame]:
        """The rows that certainly match nothing, if there are filters."""
        return [side.frame("absent")] if self.has_filters else []


def semi_join(spark: SparkSession, left: Side, right: Side, *, left_on: Optional[str] = None,
              right_on: Optional[str] = None) -> DataFrame:
    """The rows of `left` whose keys are on the right, as in SQL's EXISTS.

    left_on, right_on  of shards, what is joined on, such as "value.json(/customer/id)", instead of the
                       key (docs/join_keys.md); of a DataFrame, the name of its key column, which is cast
                       to binary

    The filters are built before it returns, the rows when the result is used. A shard that cannot be read,
    or whose keys change in between, is an error of the job, which names it."""
    join = _Join(spark, left, right, left_on, right_on)
    keys = join.right.frame(only_key=True)
    return join.left.frame().join(keys, _KEY, "left_semi").drop(_KEY)


def anti_join(spark: SparkSession, left: Side, right: Side, *, left_on: Optional[str] = None,
              right_on: Optional[str] = None) -> DataFrame:
    """The rows of `left` whose keys are not on the right, those without a key among them, as in SQL's NOT
    EXISTS. As semi_join()."""
    join = _Join(spark, left, right, left_on, right_on)
    keys = join.right.frame(only_key=True)
    rows = join.left.frame().join(keys, _KEY, "left_anti")
    return functools.reduce(DataFrame.unionByName, join.absent(join.left), rows).drop(_KEY)


def symmetric_difference(spark: SparkSession, left: Side, right: Side, *,
                         left_on: Optional[str] = None,
                         right_on: Optional[str] = None) -> DataFrame:
    """The rows of either side whose keys the other one does not have, with a column `side`, "left" or
    "right". Both sides have the same columns. As semi_join()."""
    join = _Join(spark, left, right, left_on, right_on)
    if set(join.left.columns) != set(join.right.columns):
        raise ValueError(f"the sides have other columns: {join.left.columns}, {join.right.columns}")
    if "side" in join.left.columns:
        raise ValueError("the sides have a column side, as the result has: rename it")
    here, there = (side.frame().withColumn("side", sql.lit(name))
                   for side, name in ((join.left, "left"), (join.right, "right")))
    is_here = there["side"].isNull()
    rows = here.join(there, here[_KEY] == there[_KEY], "full_outer").where(
        is_here | here["side"].isNull()).select([
            sql.when(is_here, here[name]).otherwise(there[name]).alias(name)
            for name in [*join.left.columns, "side"]])
    for side, name in ((join.left, "left"), (join.right, "right")):
        for absent in join.absent(side):
            rows = rows.unionByName(absent.withColumn("side", sql.lit(name)).drop(_KEY))
    return rows


def count(spark: SparkSession, left: Side, right: Side, *, left_on: Optional[str] = None,
          right_on: Optional[str] = None) -> Counts:
    """How many rows match. As semi_join()."""
    join = _Join(spark, left, right, left_on, right_on)
    here, there = (side.frame(only_key=True).groupBy(_KEY).agg(sql.count("*").alias(name))
                   for side, name in ((join.left, "left"), (join.right, "right")))
    matched = here["left"].isNotNull() & there["right"].isNotNull()
    sums = [sql.sum(number) for column in (here["left"], there["right"])
            for number in (sql.when(matched, column), column)]
    with _doing(spark, "rows that match"):
        found = here.join(there, here[_KEY] == there[_KEY], "full_outer").agg(*sums).first()
    assert found is not None
    left_matched, left_all, right_matched, right_all = (number or 0 for number in found)
    if join.has_filters:
        assert join.left.rows is not None and join.right.rows is not None
        left_all, right_all = join.left.rows, join.right.rows
    return Counts(left_matched, left_all - left_matched, right_matched, right_all - right_matched)


class _Partition(InputPartition):
    def __init__(self, shard: Shard) -> None:
        super().__init__(tuple(shard))


class _Reader(DataSourceReader):
    def __init__(self, shards: List[Shard], columns: List[str], on: Optional[str]) -> None:
        self.shards, self.columns, self.on = shards, columns, on

    def partitions(self) -> Sequence[InputPartition]:
        return [_Partition(shard) for shard in self.shards]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        shard = Shard(*partition.value)
        return _batches(engines.probe(shard, columns=self.columns, on=self.on))


class RocksieveSource(DataSource):
    """spark.read.format("rocksieve"), a partition for each shard. Options:

    path           of one database, or
    shards         of several, as JSON: paths, or objects with db, column_family, begin and end, whose
                   bytes are hexadecimal
    parts          into how many partitions each shard is split, at most; the driver finds the paths, too
    columns        "key,value" by default; further, "join_key", of
    on             an expression (docs/join_keys.md)"""

    @classmethod
    def name(cls) -> str:
        return "rocksieve"

    def _columns(self) -> List[str]:
        return str(self.options.get("columns", "key,value")).split(",")

    def schema(self) -> str:
        return _schema(self._columns())

    def reader(self, schema: Any) -> DataSourceReader:
        places = json.loads(self.options.get("shards", "[]"))
        if not isinstance(places, list):
            raise ValueError(f"the option shards is a JSON list, not {self.options['shards']}")
        places += [self.options["path"]] if "path" in self.options else []
        if not places:
            raise ValueError("name the databases: load(path), or the option shards")
        shards = [_shard(place) for place in places]
        parts = self.options.get("parts", "1")
        if not parts.isdecimal():
            raise ValueError(f"the option parts is a number, not {parts}")
        if int(parts) != 1:
            shards = [part for shard in shards for part in shard.split(int(parts))]
        return _Reader(shards, self._columns(), self.options.get("on"))


def _shard(place: Union[str, Dict[str, str]]) -> Shard:
    if isinstance(place, str):
        return Shard(place)
    try:
        ends = {end: bytes.fromhex(place[end]) for end in ("begin", "end") if end in place}
        return Shard(**{**place, **ends})  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"the option shards has {json.dumps(place)}: a shard is a path, or an object with "
                         "db and, if wanted, column_family, begin and end in hexadecimal digits") from None


def register(spark: SparkSession) -> None:
    """Makes the source known to spark.read.format("rocksieve")."""
    spark.dataSource.register(RocksieveSource)
