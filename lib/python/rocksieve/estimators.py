# SPDX-License-Identifier: Apache-2.0
"""Numbers of streams of keys, from far fewer bytes than they have."""

import ctypes
import weakref
from typing import Any, Callable, Iterable, List, NamedTuple, Tuple

from ._c import (Estimate, EstimateStruct, Key, OnTop, bytes_of, bytes_of_key, checked, filters, u64)


class Counted(NamedTuple):
    """A key that came at most `times`, and at least `times - excess`."""

    key: bytes
    times: int
    excess: int


class Estimator:
    """What is told by kind, and what `error` means:

    hyper-log-log      distinct(); its standard error, 0.0021 to 1
    k-minimum-values   the same, 0.001 to 1; similarity(), intersection(); exact for small sets
    count-min-sketch   count(), too large by at most that share of all, in 99 % of cases
    top-k              count() and top(), too large by at most that share of all
    min-hash           similarity(); its standard error, 0.0079 to 1

    What a kind cannot tell is a ValueError that names those that can. Any number of threads may ask at
    once, while none adds or merges."""

    def __init__(self, kind: str, error: float = 0.01, seed: int = 0) -> None:
        """Only estimators of equal kind, error and seed merge. ValueError, which says what is allowed;
        MemoryError."""
        self._own(checked(filters().rocksieve_estimator_create, kind.encode(), error,
                          u64(seed, "seed")))

    def _own(self, handle: Any) -> None:
        self._handle = handle
        self._library = filters()
        weakref.finalize(self, self._library.rocksieve_estimator_destroy, handle)

    @classmethod
    def from_bytes(cls, block: bytes) -> "Estimator":
        """Of what bytes(estimator) gave, on any machine. ValueError if it is damaged, or something
        else."""
        result = cls.__new__(cls)
        result._own(checked(filters().rocksieve_estimator_deserialize, bytes(block), len(block)))
        return result

    @property
    def kind(self) -> str:
        """As it was created."""
        return str(self._library.rocksieve_estimator_kind(self._handle).decode())

    def add(self, key: Key, count: int = 1) -> None:
        """The key came so often; kinds that do not count take it once."""
        key = bytes_of_key(key)
        checked(self._library.rocksieve_estimator_add, self._handle, key, len(key),
                u64(count, "count"))

    def update(self, keys: Iterable[Key]) -> None:
        """Adds each of them once."""
        for key in keys:
            self.add(key)

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

        def take(_: Any, key: int, length: int, count: int, excess: int) -> None:
            items.append(Counted(ctypes.string_at(key, length), count, excess))

        checked(self._library.rocksieve_estimator_top, self._handle, u64(most, "most"), OnTop(take),
                None)
        return items

    def similarity(self, other: "Estimator") -> Estimate:
        """The Jaccard similarity of the two sets of keys: those in both over those in either."""
        return self._estimate(self._library.rocksieve_estimator_similarity, self._handle,
                              other._handle)

    def intersection(self, other: "Estimator") -> Estimate:
        """How many distinct keys came to both."""
        return self._estimate(self._library.rocksieve_estimator_intersection, self._handle,
                              other._handle)

    def merge(self, other: "Estimator") -> None:
        """Now tells of both streams. ValueError unless both were created alike."""
        checked(self._library.rocksieve_estimator_merge, self._handle, other._handle)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self._library.rocksieve_estimator_memory_bytes(self._handle))

    def __bytes__(self) -> bytes:
        return bytes_of(self._library.rocksieve_estimator_serialize, self._handle)

    def __reduce__(self) -> Tuple[Any, Tuple[bytes]]:
        return Estimator.from_bytes, (bytes(self),)

    def __repr__(self) -> str:
        return f"<rocksieve.Estimator {self.kind}, {self.nbytes} bytes>"

    @staticmethod
    def _estimate(function: Callable[..., Any], *handles: Any) -> Estimate:
        found = EstimateStruct()
        checked(function, *handles, ctypes.byref(found))
        return Estimate(found.value, found.standard_error)
