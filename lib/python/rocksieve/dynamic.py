# SPDX-License-Identifier: Apache-2.0
"""Filters that take their keys one by one."""

import weakref
from typing import Any, Iterable, Tuple

from ._c import Key, bytes_of, bytes_of_key, checked, filters, u64


class DynamicFilter:
    """A filter in memory that takes its keys one by one, and can be asked in between:

    bloom            never full: beyond the keys that it was made for, its rate rises
    scalable-bloom   keeps its rate for any number of keys, in more memory
    counting-bloom   knows how often a key was added, up to 15, and gives keys back
    cuckoo           gives keys back; refuses keys when full

    `key in filter` is False only if the key is not there. Any number of threads may ask at once, while
    none adds, removes or merges."""

    def __init__(self, kind: str, keys: int, false_positive_rate: float = 0.01,
                 seed: int = 0) -> None:
        """Made for so many distinct keys (scalable-bloom: a guess) at that rate of false positives. A
        secret random seed keeps people from choosing keys that collide. ValueError, which says what is
        allowed; MemoryError."""
        self._own(checked(filters().rocksieve_dynamic_create, kind.encode(), u64(keys, "keys"),
                          false_positive_rate, u64(seed, "seed")))

    def _own(self, handle: Any) -> None:
        self._handle = handle
        self._library = filters()
        weakref.finalize(self, self._library.rocksieve_dynamic_destroy, handle)

    @classmethod
    def from_bytes(cls, block: bytes) -> "DynamicFilter":
        """Of what bytes(filter) gave, on any machine. ValueError if it is damaged, or something else."""
        result = cls.__new__(cls)
        result._own(checked(filters().rocksieve_dynamic_deserialize, bytes(block), len(block)))
        return result

    @property
    def kind(self) -> str:
        """As it was created."""
        return str(self._library.rocksieve_dynamic_kind(self._handle).decode())

    def add(self, key: Key) -> None:
        """ValueError, and nothing is changed, if a cuckoo filter has no room."""
        key = bytes_of_key(key)
        checked(self._library.rocksieve_dynamic_add, self._handle, key, len(key))

    def update(self, keys: Iterable[Key]) -> None:
        """Adds all of them."""
        for key in keys:
            self.add(key)

    def remove(self, key: Key) -> bool:
        """Takes back what was added once. False if it certainly was not there. ValueError if this kind
        gives nothing back. Removing what was never added may lose another key."""
        key = bytes_of_key(key)
        return bool(checked(self._library.rocksieve_dynamic_remove, self._handle, key, len(key)))

    def __contains__(self, key: Key) -> bool:
        key = bytes_of_key(key)
        return bool(self._library.rocksieve_dynamic_may_contain(self._handle, key, len(key)))

    def count(self, key: Key) -> int:
        """At least how often the key is there, as far as the kind can count."""
        key = bytes_of_key(key)
        return int(self._library.rocksieve_dynamic_count(self._handle, key, len(key)))

    def merge(self, other: "DynamicFilter") -> None:
        """Adds all that is in the other one. ValueError unless both were created alike."""
        checked(self._library.rocksieve_dynamic_merge, self._handle, other._handle)

    @property
    def false_positive_rate(self) -> float:
        """The rate at which other keys pass now, 0 to 1. Reads the whole filter."""
        return float(self._library.rocksieve_dynamic_false_positive_rate(self._handle))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self._library.rocksieve_dynamic_memory_bytes(self._handle))

    def __bytes__(self) -> bytes:
        return bytes_of(self._library.rocksieve_dynamic_serialize, self._handle)

    def __reduce__(self) -> Tuple[Any, Tuple[bytes]]:
        return DynamicFilter.from_bytes, (bytes(self),)

    def __repr__(self) -> str:
        return f"<rocksieve.DynamicFilter {self.kind}, {self.nbytes} bytes>"
