# SPDX-License-Identifier: Apache-2.0
"""Numbers of streams of keys, from far fewer bytes than they have."""

import ctypes
from typing import Any, Callable, List, NamedTuple

from ._c import Estimate, Keeper, Key, OnTop, bytes_of_key, checked, filters, name_bytes, u64


class Counted(NamedTuple):
    """A key that came at most `times`, and at least `times - excess`."""

    key: bytes
    times: int
    excess: int


class Estimator(Keeper):
    """What is told by kind, and what `error` means:

    hyper-log-log      distinct(); its standard error, from 0.0021, below 1
    k-minimum-values   the same, from 0.001, below 1; similarity(), intersection(); exact for small sets
    count-min-sketch   count(), too large by at most that share of all, in 99 % of cases
    top-k              count() and top(), too large by at most that share of all
    min-hash           similarity(); its standard error, from 0.0079, below 1

    What a kind cannot tell is a ValueError that names those that can. Any number of threads may ask at
    once, while none adds or merges."""

    _NAME = "estimator"

    def __init__(self, kind: str, error: float = 0.01, seed: int = 0) -> None:
        """Only estimators of equal kind, error and seed merge; of k-minimum-values the errors may differ,
        and the larger one holds from then on. ValueError, which says what is allowed; MemoryError."""
        self._own(checked(filters().rocksieve_estimator_create, name_bytes(kind), error,
                          u64(seed, "seed")))

    def add(self, key: Key, count: int = 1) -> None:
        """The key came so often; kinds that do not count take it once."""
        key = bytes_of_key(key)
        checked(self._library.rocksieve_estimator_add, self._handle, key, len(key),
                u64(count, "count"))

    def distinct(self) -> Estimate:
        """How many distinct keys came."""
        return self._estimate(self._library.rocksieve_estimator_distinct, self._handle)

    def count(self, key: Key) -> Counted:
        """How often the key came."""
        key = bytes_of_key(key)
        count, excess = ctypes.c_uint64(), ctypes.c_uint64()
        checked(self._library.rocksieve_estimator_count, self._handle, key, len(key),
                ctypes.byref(count), ctypes.byref(excess))
        return Counted(key, count.value, excess.value)

    def top(self, most: int = 10) -> List[Counted]:
        """The most frequent keys, at most so many, the most frequent first."""
        items: List[Counted] = []
        problems: List[BaseException] = []

        def take(_: Any, key: int, length: int, count: int, excess: int) -> None:
            try:
                items.append(Counted(ctypes.string_at(key, length), count, excess))
            except BaseException as problem:  # Of any kind: it would be lost in C.
                problems.append(problem)

        checked(self._library.rocksieve_estimator_top, self._handle, u64(most, "most"), OnTop(take),
                None)
        for problem in problems:
            raise problem
        return items

    def similarity(self, other: "Estimator") -> Estimate:
        """The Jaccard similarity of the two sets of keys: those in both over those in either."""
        return self._estimate(self._library.rocksieve_estimator_similarity, self._handle,
                              self._handle_of(other))

    def intersection(self, other: "Estimator") -> Estimate:
        """How many distinct keys came to both."""
        return self._estimate(self._library.rocksieve_estimator_intersection, self._handle,
                              self._handle_of(other))

    @staticmethod
    def _estimate(function: Callable[..., Any], *handles: Any) -> Estimate:
        found = (ctypes.c_double * len(Estimate._fields))()  # rocksieve_estimate_t
        checked(function, *handles, ctypes.byref(found))
        return Estimate(*found)
