# SPDX-License-Identifier: Apache-2.0
"""Joins of shards by filters, for engines that run functions on many machines: Spark, Dask, others.

    build(shards, keys)          on workers: one filter of the join keys of some shards
    merge(a, b)                  anywhere: the filter of what both have
    probe(shard, filter, keep)   on workers: the rows that may match, or those that cannot

plan() says which filter each side is asked, by an engine's Side.

Results are exact by construction: a filter loses no key, so what it drops matches nothing, and what it
lets pass is joined by the engine. docs/engines.md says how they go together, and how an engine is added.
"""

import os
from typing import (Any, Callable, ContextManager, Dict, Iterable, List, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from ._c import Path
from .arrow import Scan, scan
from .dynamic import DynamicFilter

RATE = 0.01  # of false positives
SAMPLE_ROWS = 20_000  # of each part, which tell whether filters pay
PLAIN_SHARE = 0.5  # of a side's rows that pass: from there on they do not


class Shard(NamedTuple):
    """A database, which workers find under this path, or its rows from the key `begin` on, up to but
    without `end`."""

    db: str
    column_family: Optional[str] = None
    begin: Optional[bytes] = None
    end: Optional[bytes] = None

    def scan(self, columns: Sequence[str], **settings: Any) -> Scan:
        """As rocksieve.scan() does it."""
        return scan(self.db, columns, column_family=self.column_family, begin=self.begin, end=self.end,
                    **settings)

    def split(self, parts: int) -> "List[Shard]":
        """At most so many ranges of its keys, of about equal size as far as its files say: few of a
        database of few files. Whoever calls it finds the path, too."""
        begins = [self.begin, *self.scan(["key"]).cuts(parts)]
        return [self._replace(begin=begin, end=end)
                for begin, end in zip(begins, [*begins[1:], self.end])]


def shards_of(places: Iterable[Union[Shard, Path]]) -> List[Shard]:
    """Of paths, or of shards."""
    if isinstance(places, (str, bytes, os.PathLike, Shard)):
        raise TypeError(f"a side is a list of shards, and this is one: {places!r}")
    return [place if isinstance(place, Shard) else Shard(os.fsdecode(place)) for place in places]


def key_column(on: Optional[str]) -> str:
    """The column of a scan that is joined on."""
    return "key" if on is None else "join_key"


def databases_of(shards: List[Shard]) -> List[Shard]:
    """One of each database, however many ranges of its keys there are."""
    return list({(shard.db, shard.column_family): shard for shard in shards}.values())


def estimate(shard: Shard) -> int:
    """Rows of its database, about; only its files' metadata are read."""
    opened = shard.scan(["key"])
    opened.__arrow_c_stream__()
    return opened.counts.rows_estimated


class Built(NamedTuple):
    """A filter of some rows, how many there are, how many passed the filter that they were asked, and for
    each shard, by its number, the digest of its keys; and whether all were read: where most of a part's
    first rows pass, filters may not pay, and the rest of that part is left out."""

    block: bytes
    rows: int
    passed: int
    digests: Dict[int, int]
    complete: bool

    @property
    def pays(self) -> bool:
        """Whether as few rows passed as makes filters worth it."""
        return self.passed <= PLAIN_SHARE * self.rows


def build(shards: Iterable[Tuple[int, Shard]], keys: int, on: Optional[str] = None,
          asked: Optional[bytes] = None, whole: bool = True, rate: float = RATE) -> Built:
    """A filter of the join keys of numbered shards, of those that pass the filter `asked`, if there is
    one; unless it has to be `whole`, of few rows where most of a shard's first ones pass. `keys` and
    `rate` are its shape: those of filters that are merged must be equal."""
    made = DynamicFilter("bloom", max(1, keys), rate)
    total = Built(b"", 0, 0, {}, True)
    for number, shard in shards:
        for most_rows in (None,) if whole else (SAMPLE_ROWS, None):
            opened = shard.scan([key_column(on)], on=on, filters=[] if asked is None else [asked],
                                most_rows=most_rows)
            made.update(opened)
            counts = opened.counts
            part = Built(b"", counts.rows_read, counts.rows_given, {number: counts.digest},
                         most_rows is None)
            if not part.pays:
                break
        total = _sum(total, part)
    return total._replace(block=bytes(made))


def _sum(a: Built, b: Built) -> Built:
    return Built(b"", a.rows + b.rows, a.passed + b.passed, {**a.digests, **b.digests},
                 a.complete and b.complete)


def merge(a: Built, b: Built) -> Built:
    """Of what both have."""
    united = DynamicFilter.from_bytes(a.block)
    united.merge(DynamicFilter.from_bytes(b.block))
    return _sum(a, b)._replace(block=bytes(united))


def probe(shard: Shard, block: Optional[bytes] = None, keep: str = "maybe", *,
          columns: Sequence[str] = ("key", "value"), on: Optional[str] = None,
          digest: Optional[int] = None, **settings: Any) -> Scan:
    """The rows of a shard whose join key the filter may contain ("maybe"), or does not ("absent"); all of
    them without a filter. With the digest that build() gave, a shard whose keys have changed since is an
    error: the filter of the other side would be that of other keys."""
    return shard.scan(columns, on=on, filters=[] if block is None else [block], keep=keep, expect=digest,
                      **settings)


class Counts(NamedTuple):
    """Rows of each side whose keys the other one has, or does not have."""

    left_matched: int
    left_only: int
    right_matched: int
    right_only: int


class Side:
    """The rows of one side, as an engine has them. An engine's own sides say how the first two work."""

    def __init__(self) -> None:
        self.digests: Dict[int, int] = {}  # of its shards
        self.rows: Optional[int] = None  # once they were counted
        self.asked: Any = None  # the filter whose rows may match, as share() gave it

    def size(self) -> int:
        """Rows, about."""
        raise NotImplementedError

    def parts(self, keys: int, asked: Any, whole: bool) -> Built:
        """What build() gives of each part, merged. `asked` is what share() gave."""
        raise NotImplementedError

    def build(self, keys: int, asked: Any = None, whole: bool = True) -> Built:
        """A filter of all rows, or of few that show that filters do not pay."""
        built = self.parts(keys, asked, whole)
        if built.pays and not built.complete:
            built = self.parts(keys, asked, True)
        if built.complete:
            if self.rows not in (None, built.rows):
                raise RuntimeError(f"a side had {self.rows} rows, and then {built.rows}: persist it")
            self.digests, self.rows = built.digests, built.rows
        return built


def plan(left: Side, right: Side, share: Callable[[bytes], Any],
         doing: Callable[[str], ContextManager[Any]], once: bool = True) -> bool:
    """Sets the filter that each side is asked; False, and none, where filters do not pay. Then each side
    is read as it is at that time, if it is read once; else its keys must stay those that they are now.

    The larger side is asked for the keys of the smaller one, and that one for the keys of what passes.
    share() gives workers a filter; doing() tells people what goes on."""
    with doing("sizes of both sides"):
        small, large = sorted((left, right), key=lambda side: side.size())
        keys = small.size()
    with doing("a filter of the smaller side"):
        of_small = share(small.build(keys).block)
    with doing("a filter of what passes of the larger side"):
        built = large.build(keys, of_small, whole=False)
    if built.pays:
        large.asked, small.asked = of_small, share(built.block)
        return True
    if once:
        small.digests, large.digests = {}, {}
    elif not large.digests:
        large.build(1)
    return False
