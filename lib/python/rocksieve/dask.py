# SPDX-License-Identifier: Apache-2.0
"""Joins on Dask that ship filters instead of rows: those of rocksieve.spark, for lists of shards.

    rows = rocksieve.dask.semi_join(client, ["/data/a0", "/data/a1"], ["/data/b0", "/data/b1"])
    rows.compute()                          # a Dask DataFrame with columns key, value

Workers find the shards under these paths. docs/engines.md says how it works.
"""

import contextlib
from typing import Any, Iterable, List, Optional, Sequence, Union

import dask
import dask.dataframe
import pandas
import pyarrow

from . import engines
from ._c import Path
from .engines import Built, Counts, Shard

Shards = Iterable[Union[Shard, Path]]

_KEY = "rocksieve_key"  # what is joined on
_COLUMNS = ["key", "value"]


def _read(numbered: Any, asked: Optional[Sequence[bytes]], keep: str, columns: List[str],
          on: Optional[str], digest: Optional[int]) -> pandas.DataFrame:
    scan = engines.probe(numbered, None if asked is None else asked[0], keep,
                         columns=[engines.key_column(on), *columns], on=on, digest=digest)
    frame = pyarrow.table(scan).to_pandas()
    frame.columns = [_KEY, *columns]
    return frame.astype(object)


class _Shards(engines.Side):
    def __init__(self, client: Any, shards: Shards, on: Optional[str]) -> None:
        super().__init__()
        self.client, self.on = client, on
        self.shards = engines.shards_of(shards)
        if not self.shards:
            raise ValueError("a side has no shards")

    def size(self) -> int:
        databases = engines.databases_of(self.shards)
        return sum(self.client.gather(self.client.map(engines.estimate, databases, pure=False)))

    def parts(self, keys: int, asked: Any, whole: bool) -> Built:
        submit = self.client.submit

        def build(numbered: Any, block: Optional[Sequence[bytes]]) -> Built:
            return engines.build([numbered], keys, self_on, None if block is None else block[0],
                                 whole)

        self_on = self.on
        parts = [submit(build, numbered, asked, pure=False) for numbered in enumerate(self.shards)]
        while len(parts) > 1:  # a tree of unions
            parts = [submit(engines.merge, *parts[i:i + 2], pure=False) if i + 1 < len(parts) else
                     parts[i] for i in range(0, len(parts), 2)]
        built: Built = parts[0].result()
        return built

    def frame(self, keep: str = "maybe", columns: Sequence[str] = ()) -> Any:
        """The rows that the filter lets pass or drops, with what they are joined on as _KEY."""
        names = [_KEY, *columns]
        delayed = [dask.delayed(_read, pure=False)(shard, self.asked, keep, list(columns), self.on,
                                                   self.digests.get(number))
                   for number, shard in enumerate(self.shards)]
        meta = pandas.DataFrame({name: pandas.Series([], dtype=object) for name in names})
        with dask.config.set({"dataframe.convert-string": False}):
            return dask.dataframe.from_delayed(delayed, meta=meta, verify_meta=False)


class _Join:
    def __init__(self, client: Any, left: Shards, right: Shards, left_on: Optional[str],
                 right_on: Optional[str], once: bool = True) -> None:
        self.left, self.right = _Shards(client, left, left_on), _Shards(client, right, right_on)

        def share(block: bytes) -> Any:
            # In a list, whose length says little: Dask would take bytes themselves apart.
            return client.scatter([[block]], broadcast=True)[0]

        self.has_filters = engines.plan(self.left, self.right, share,
                                        lambda what: contextlib.nullcontext(), once)

    def matched(self, side: _Shards, other: _Shards, columns: Sequence[str] = _COLUMNS) -> Any:
        """Rows that may match, with a column `there`: whether they do."""
        keys = other.frame().dropna().drop_duplicates()
        keys["there"] = True
        rows = side.frame(columns=columns).merge(keys, on=_KEY, how="left")
        rows["there"] = rows["there"].notnull() & rows[_KEY].notnull()
        return rows

    def only(self, side: _Shards, other: _Shards) -> Any:
        rows = self.matched(side, other)
        rows = rows[~rows["there"]][_COLUMNS]
        if not self.has_filters:
            return rows
        return dask.dataframe.concat([rows, side.frame("absent", _COLUMNS)[_COLUMNS]])


def semi_join(client: Any, left: Shards, right: Shards, *, left_on: Optional[str] = None,
              right_on: Optional[str] = None) -> Any:
    """The rows of `left` whose keys are on the right. left_on and right_on: what is joined on, instead of
    the key (docs/join_keys.md)."""
    join = _Join(client, left, right, left_on, right_on)
    rows = join.matched(join.left, join.right)
    return rows[rows["there"]][_COLUMNS]


def anti_join(client: Any, left: Shards, right: Shards, *, left_on: Optional[str] = None,
              right_on: Optional[str] = None) -> Any:
    """The rows of `left` whose keys are not on the right, those without a key among them."""
    join = _Join(client, left, right, left_on, right_on)
    return join.only(join.left, join.right)


def symmetric_difference(client: Any, left: Shards, right: Shards, *, left_on: Optional[str] = None,
                         right_on: Optional[str] = None) -> Any:
    """The rows of either side whose keys the other one does not have, with a column `side`."""
    join = _Join(client, left, right, left_on, right_on, once=False)
    here, there = join.only(join.left, join.right), join.only(join.right, join.left)
    return dask.dataframe.concat([here.assign(side="left"), there.assign(side="right")])


def count(client: Any, left: Shards, right: Shards, *, left_on: Optional[str] = None,
          right_on: Optional[str] = None) -> Counts:
    """How many rows match."""
    join = _Join(client, left, right, left_on, right_on, once=False)
    numbers = []
    for side, other in ((join.left, join.right), (join.right, join.left)):
        there = join.matched(side, other, columns=[])["there"]
        matched, rows = (int(number) for number in dask.compute(there.sum(), there.count()))
        numbers += [matched, (side.rows if join.has_filters and side.rows is not None else rows) - matched]
    return Counts(*numbers)
