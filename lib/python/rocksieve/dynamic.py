# SPDX-License-Identifier: Apache-2.0
"""Filters that take their keys one by one."""

from typing import Any, Iterable, Optional, Union

from . import arrow
from ._c import Keeper, Key, bytes_of_key, checked, filters, name_bytes, u64


class DynamicFilter(Keeper):
    """A filter in memory that takes its keys one by one, and can be asked in between:

    bloom            never full: beyond the keys that it was made for, its rate rises
    scalable-bloom   keeps its rate for any number of keys, in more memory
    counting-bloom   knows how often a key was added, up to 15, and gives keys back
    cuckoo           gives keys back; refuses keys when full

    `key in filter` is False only if the key is not there. Any number of threads may ask at once, while
    none adds, removes or merges."""

    _NAME = "dynamic"

    def __init__(self, kind: str, keys: int, false_positive_rate: float = 0.01,
                 seed: int = 0) -> None:
        """Made for so many distinct keys (scalable-bloom: a guess) at that rate of false positives. A
        secret random seed keeps people from choosing keys that collide. ValueError, which says what is
        allowed; MemoryError."""
        self._own(checked(filters().rocksieve_dynamic_create, name_bytes(kind), u64(keys, "keys"),
                          false_positive_rate, u64(seed, "seed")))

    def add(self, key: Key) -> None:
        """ValueError, and nothing is changed, if a cuckoo filter has no room."""
        key = bytes_of_key(key)
        checked(self._library.rocksieve_dynamic_add, self._handle, key, len(key))

    def update(self, keys: Union[Iterable[Key], Any], column: Optional[str] = None) -> None:
        """Adds each of them once: as Filter.build() takes them. If there is no room for one, those before
        it are added."""
        if arrow.is_arrow(keys):
            arrow.add("rocksieve_dynamic_add_arrow", self._handle, keys, column)
        else:
            super().update(keys)

    def may_contain(self, keys: Any, column: Optional[str] = None) -> arrow.Booleans:
        """`key in filter` for each key, as Filter.may_contain() has it."""
        return arrow.answers("rocksieve_dynamic_may_contain_arrow", self._handle, keys, column)

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

    @property
    def false_positive_rate(self) -> float:
        """The rate at which other keys pass now, 0 to 1. Reads the whole filter."""
        return float(self._library.rocksieve_dynamic_false_positive_rate(self._handle))
