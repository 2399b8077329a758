# SPDX-License-Identifier: Apache-2.0
"""Static filters: built once from all keys, then only asked."""

import os
import secrets
from typing import Any, Iterable, Optional, Tuple, Type, Union

from . import arrow
from ._c import (Key, Path, bytes_of, bytes_of_key, checked, destroy_with, each_key, filters,
                 name_bytes)


class Filter:
    """A filter of keys that were all known when it was built. `key in filter` is False only if the key
    was not among them; for others it is True at the rate `false_positive_rate`. Immutable, and safe to
    ask from any number of threads at once."""

    def __init__(self, block: Union[bytes, bytearray, memoryview]) -> None:
        """Of the bytes that bytes(filter) gave, that a file of `rocksieve filter build` has, or a filter
        block of an SST file. ValueError if they are no filter, damaged, or of a later version: then any
        key may have been added."""
        self._block = bytes(block)
        library = filters()
        self._handle = checked(library.rocksieve_filter_open, self._block, len(self._block))
        destroy_with(self, library.rocksieve_filter_destroy, self._handle)
        self._may_contain = library.rocksieve_filter_may_contain

    @classmethod
    def build(cls, keys: Union[Iterable[Key], Any], spec: str = "rocksieve.ribbon:1%",
              column: Optional[str] = None) -> "Filter":
        """The filter of these keys, in any order and with duplicates: of an iterable, or, without the
        interpreter, of an array, a column or a stream of Arrow, such as scan() gives; `column` names one
        of several. Nulls are no keys. The spec says of which family, and how large, or how good:
        docs/choosing.md, rocksieve-specs(7). ValueError if it is wrong. Takes 8 bytes of memory for each
        key, 21 at the end."""
        library = filters()
        builder = checked(library.rocksieve_builder_create, name_bytes(spec))
        try:
            if arrow.is_arrow(keys):
                arrow.add("rocksieve_builder_add_arrow", builder, keys, column)
                keys = ()
            add = library.rocksieve_builder_add
            for key in each_key(keys):
                add(builder, key, len(key))
            return cls(bytes_of(library.rocksieve_builder_finish, builder))
        finally:
            library.rocksieve_builder_destroy(builder)

    @classmethod
    def load(cls, path: Path) -> "Filter":
        """From a file. OSError, or ValueError as of Filter()."""
        with open(path, "rb") as file:
            block = file.read()
        try:
            return cls(block)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def save(self, path: Path) -> None:
        """As a file, which `rocksieve filter query` takes too. It gets its name, in place of a file that
        has it, when it is complete."""
        directory, name = os.path.split(os.path.abspath(path))
        temporary = os.path.join(directory, f".{name}.{secrets.token_hex(8)}")
        file = open(temporary, "xb")
        try:
            with file:
                file.write(self._block)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def __contains__(self, key: Key) -> bool:
        key = bytes_of_key(key)
        return bool(self._may_contain(self._handle, key, len(key)))

    def may_contain(self, keys: Any, column: Optional[str] = None) -> arrow.Booleans:
        """`key in filter` for each key of an array, a column or a stream of Arrow, without the
        interpreter. False for nulls."""
        return arrow.answers("rocksieve_filter_may_contain_arrow", self._handle, keys, column)

    def may_contain_range(self, begin: Key, end: Key) -> bool:
        """False only if no key was added that lies in [begin, end), in the order of bytes. Only filters
        of rocksieve.range ever say so."""
        begin, end = bytes_of_key(begin), bytes_of_key(end)
        return bool(filters().rocksieve_filter_may_contain_range(self._handle, begin, len(begin), end,
                                                                 len(end)))

    @property
    def key_count(self) -> int:
        """Keys that were added, adjacent duplicates counted once."""
        return int(filters().rocksieve_filter_key_count(self._handle))

    @property
    def false_positive_rate(self) -> float:
        """The rate at which keys that were not added pass, 0 to 1, as the filter promises it."""
        return float(filters().rocksieve_filter_false_positive_rate(self._handle))

    @property
    def nbytes(self) -> int:
        """The size of the filter."""
        return len(self._block)

    def __bytes__(self) -> bytes:
        return self._block

    def __reduce__(self) -> Tuple[Type["Filter"], Tuple[bytes]]:
        return Filter, (self._block,)

    def __repr__(self) -> str:
        return f"<rocksieve.Filter of {self.key_count} keys, {self.nbytes} bytes>"
