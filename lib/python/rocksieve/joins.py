# SPDX-License-Identifier: Apache-2.0
"""Exact joins of a database here with those of servers (`rocksieve serve`)."""

import ctypes
import queue
import threading
import time
import weakref
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Type, Union

from ._c import JoinError, OnRow, Path, checked, joins, set_all, setting_bytes

_ROWS_TOGETHER, _BATCHES_WAITING = 256, 16
_UNKNOWN = 2**64 - 1  # ROCKSIEVE_UNKNOWN_COUNT
_LATEST_SECONDS = 0.1  # that a row waits for others, while rows come

Setting = Union[str, int, bool, Path, None]


class Row(NamedTuple):
    """A row of a result. str instead of bytes if the join was given an encoding."""

    key: Union[bytes, str]
    value: Union[bytes, str]
    is_local: bool  # of the database here; else of a server


class Counts(NamedTuple):
    """Distinct keys, rows that were received, and bytes of messages. Of several servers, only count()
    knows how many keys matched, or are here alone; else these two are None."""

    matched_keys: Optional[int]
    local_only_keys: Optional[int]
    remote_only_keys: int
    rows_received: int
    bytes_sent: int
    bytes_received: int


class _Ended(Exception):
    """Nobody wants the rest."""


class _Run:
    """A join in a thread of its own. What it gives waits in a queue that is not long: the join waits for
    those who take it. Holds no reference to the Rows that own it."""

    def __init__(self, operation: str, settings: Dict[str, Any],
                 encoding: Optional[str]) -> None:
        self._library = joins()
        self._encoding = encoding
        self._join = checked(self._library.rocksieve_join_create, setting_bytes(operation),
                             raises=JoinError)
        self.batches: "queue.Queue[Union[List[Row], BaseException, Counts]]" = queue.Queue(
            _BATCHES_WAITING)
        self._rows: List[Row] = []
        self._given = time.monotonic()
        self._ended = threading.Event()
        self._problem: Optional[BaseException] = None
        self._destroys_itself = False
        try:
            set_all(self._library.rocksieve_join_set, self._join, settings)
        except BaseException:
            self._library.rocksieve_join_destroy(self._join)
            raise
        self._thread = threading.Thread(target=self._work, name="rocksieve join", daemon=True)
        self._thread.start()

    def next_batch(self) -> "Union[List[Row], BaseException, Counts]":
        """Waits for rows, for what ended the join, or for the counts that follow the last row."""
        while True:
            try:
                # Not for ever: a signal that another thread got is handled between the waits.
                return self.batches.get(timeout=_LATEST_SECONDS)
            except queue.Empty:
                if self._ended.is_set():  # by a signal's handler, in this thread
                    return JoinError("the join was ended")

    def end(self) -> None:
        """Ends it, wherever it is, and waits for that."""
        self._ended.set()
        if threading.current_thread() is self._thread:  # which has collected an unwanted Rows
            self._library.rocksieve_join_cancel(self._join)
            self._destroys_itself = True
            return
        if self._thread.is_alive():
            self._library.rocksieve_join_cancel(self._join)
            self._thread.join()
        if self._join is not None:
            self._library.rocksieve_join_destroy(self._join)
            self._join = None

    def _put(self, item: Any) -> None:
        while not self._ended.is_set():
            try:
                self.batches.put(item, timeout=_LATEST_SECONDS)
                return
            except queue.Full:
                pass
        raise _Ended

    def _put_rows(self) -> None:
        self._given = time.monotonic()
        if self._rows:
            rows, self._rows = self._rows, []
            self._put(rows)

    def _take(self, _: Any, is_local: int, key: int, key_length: int, value: int,
              value_length: int) -> int:
        try:
            key_bytes, value_bytes = ctypes.string_at(key, key_length), ctypes.string_at(
                value, value_length)
            if self._encoding is None:
                self._rows.append(Row(key_bytes, value_bytes, bool(is_local)))
            else:
                self._rows.append(Row(key_bytes.decode(self._encoding),
                                      value_bytes.decode(self._encoding), bool(is_local)))
            if (len(self._rows) >= _ROWS_TOGETHER or
                    time.monotonic() - self._given > _LATEST_SECONDS):
                self._put_rows()
            return 0
        except BaseException as problem:  # Of any kind: it must not get into C.
            self._problem = problem
            return 1

    def _work(self) -> None:
        counts = (ctypes.c_uint64 * len(Counts._fields))()  # rocksieve_join_counts_t
        try:
            try:
                checked(self._library.rocksieve_join_run, self._join, OnRow(self._take), None,
                        ctypes.byref(counts), raises=JoinError)
            except JoinError:
                if self._problem is not None:
                    raise self._problem from None
                raise
            finally:
                if not isinstance(self._problem, _Ended):
                    self._put_rows()
            self._put(Counts(*(None if n == _UNKNOWN else n for n in counts)))  # type: ignore
        except _Ended:
            pass
        except BaseException as problem:
            try:
                self._put(problem)
            except _Ended:
                pass
        if self._destroys_itself:
            self._library.rocksieve_join_destroy(self._join)


class Rows(Iterator[Row]):
    """The rows of a result, in the order of what is joined on, as they come: pandas.DataFrame(rows) and
    csv.writer().writerows(rows) take them. A join that fails raises JoinError after the rows that it
    gave, which are right, but not all. close(), or the end of a `with` block, ends the join early. One
    thread at a time."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._close = weakref.finalize(self, run.end)
        self._rows: Iterator[Row] = iter(())
        self._counts: Optional[Counts] = None

    def __iter__(self) -> "Rows":
        return self

    def __next__(self) -> Row:
        while True:
            for row in self._rows:
                return row
            if not self._close.alive:
                raise StopIteration
            batch = self._run.next_batch()
            if isinstance(batch, list):
                self._rows = iter(batch)
                continue
            self._close()
            if isinstance(batch, Counts):
                self._counts = batch
                raise StopIteration
            assert isinstance(batch, BaseException)
            raise batch

    def close(self) -> None:
        """Ends the join if it has not come to its end."""
        self._rows = iter(())
        self._close()

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Any) -> None:
        self.close()

    @property
    def counts(self) -> Counts:
        """What was joined. RuntimeError unless all rows were taken."""
        if self._counts is None:
            raise RuntimeError("the counts are known when all rows were taken")
        return self._counts


def join(operation: str, *, remote: Union[str, Sequence[str]], db: Optional[Path] = None,
         sorted_text: Optional[Path] = None, encoding: Optional[str] = None,
         **settings: Setting) -> Rows:
    """Begins an exact join of the rows here with those of servers, and gives the rows of its result.

    operation   "intersection": the servers' rows whose keys are here; "difference": those whose keys are
                not; "local-only": the rows whose keys are here alone; "symmetric": both of these;
                "count": none, only the counts
    db          the directory of a RocksDB database, which may be in use, and is only read; or
    sorted_text a file of sorted keys, or of keys, TAB and value
    remote      addresses of servers, such as "customers.example:7420"; several have a part of the rows
                each
    encoding    of keys and values, which are bytes without
    settings    the flags of `rocksieve join`, with "_" for "-": ca, cert, key, insecure=True,
                token_file, column_family, left_on, right_on, begin, end, memory, timeout, ...

    JoinError for a setting that is wrong; other errors come with the rows."""
    if not isinstance(remote, str):
        remote = ",".join(remote)
    return Rows(_Run(operation, {"db": db, "sorted-text": sorted_text, "remote": remote, **settings},
                     encoding))


def count(*, remote: Union[str, Sequence[str]], **settings: Setting) -> Counts:
    """How many keys are in both, here alone, and there alone: as join("count", ...), to its end."""
    with join("count", remote=remote, **settings) as rows:  # type: ignore[arg-type]
        for _ in rows:
            pass
        return rows.counts
