# SPDX-License-Identifier: Apache-2.0
"""Columns of Arrow, and databases as streams of Arrow, by the functions of rocksieve/c_arrow.h.

pyarrow, Polars, DuckDB and others give and take such objects by Arrow's PyCapsule interface
(https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html). None of them is needed.
"""

import ctypes
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._c import (JoinError, Key, OnCut, Path, bytes_of_key, checked, destroy_with, filters, joins,
                 name_bytes, setting_bytes, u64)


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


def _function(of: Any, *arguments: Any, result: Any = None) -> Any:
    return ctypes.CFUNCTYPE(result, ctypes.POINTER(of), *arguments)


_i64, _pointer, _text = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
_Schema._fields_ = [
    ("format", _text), ("name", _text), ("metadata", _pointer), ("flags", _i64), ("n_children", _i64),
    ("children", _pointer), ("dictionary", _pointer), ("release", _function(_Schema)),
    ("private_data", _pointer)]
_Array._fields_ = [
    ("length", _i64), ("null_count", _i64), ("offset", _i64), ("n_buffers", _i64), ("n_children", _i64),
    ("buffers", _pointer), ("children", _pointer), ("dictionary", _pointer), ("release", _function(_Array)),
    ("private_data", _pointer)]
_Stream._fields_ = [
    ("get_schema", _function(_Stream, ctypes.POINTER(_Schema), result=ctypes.c_int)),
    ("get_next", _function(_Stream, ctypes.POINTER(_Array), result=ctypes.c_int)),
    ("get_last_error", _function(_Stream, result=_text)), ("release", _function(_Stream)),
    ("private_data", _pointer)]

_NAMES = {_Schema: b"arrow_schema", _Array: b"arrow_array", _Stream: b"arrow_array_stream"}

_api = ctypes.pythonapi
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, _pointer, _text, _pointer)(("PyCapsule_New", _api))
_pointer_in = ctypes.PYFUNCTYPE(_pointer, ctypes.py_object, _text)(("PyCapsule_GetPointer", _api))
_malloc = ctypes.CDLL(None).malloc
_malloc.restype, _malloc.argtypes = _pointer, [ctypes.c_size_t]


def _release(struct: Any) -> None:
    if struct.release:
        struct.release(struct)


def _capsule(kind: Any) -> Tuple[Any, Any]:
    """A struct of nothing, and the capsule that owns it."""
    address = _malloc(ctypes.sizeof(kind))
    if not address:
        raise MemoryError
    ctypes.memset(address, 0, ctypes.sizeof(kind))
    # In C: it may be called while an exception is on its way.
    destructor = ctypes.cast(filters().rocksieve_arrow_capsule_destructor, _pointer)
    return kind.from_address(address), _new_capsule(address, _NAMES[kind], destructor)


def _inside(capsule: Any, kind: Any) -> Any:
    return kind.from_address(_pointer_in(capsule, _NAMES[kind]))


def is_arrow(keys: Any) -> bool:
    """Whether it has columns of Arrow."""
    return hasattr(keys, "__arrow_c_stream__") or hasattr(keys, "__arrow_c_array__")


def _chunks(column: Any) -> Iterator[Tuple[Any, Any]]:
    """Schemas and arrays, each valid until the next one."""
    if not hasattr(column, "__arrow_c_stream__"):
        if not hasattr(column, "__arrow_c_array__"):
            raise TypeError(f"{type(column).__name__} has no columns of Arrow: neither "
                            "__arrow_c_stream__ nor __arrow_c_array__")
        schema, array = column.__arrow_c_array__()
        yield _inside(schema, _Schema), _inside(array, _Array)
        return
    capsule = column.__arrow_c_stream__()
    stream = _inside(capsule, _Stream)
    if not stream.release:
        raise JoinError("the stream of Arrow was taken before: it can be read once")

    def take(function: Any, into: Any) -> None:
        if function(stream, into):
            said = stream.get_last_error(stream)
            raise JoinError(said.decode(errors="replace") if said else "the stream of Arrow ended early")

    schema, array = _Schema(), _Array()
    try:
        take(stream.get_schema, schema)
        while True:
            take(stream.get_next, array)
            if not array.release:
                return
            try:
                yield schema, array
            finally:
                _release(array)
    finally:
        _release(schema)
        _release(stream)


def add(function: str, handle: Any, keys: Any, column: Optional[str]) -> None:
    """Adds the keys of a column by a function of c_arrow.h."""
    for schema, array in _chunks(keys):
        checked(getattr(filters(), function), handle, ctypes.byref(schema), ctypes.byref(array),
                None if column is None else name_bytes(column))


class Booleans:
    """An answer for each key of a column, as an array of Arrow: pyarrow.array(answers) and
    polars.Series(answers) take it."""

    def __init__(self, bits: bytearray, length: int) -> None:
        self._bits, self._length = bits, length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, i: int) -> bool:
        i = range(self._length)[i]
        return bool(self._bits[i // 8] >> i % 8 & 1)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Tuple[Any, Any]:
        (schema, schema_capsule), (array, array_capsule) = _capsule(_Schema), _capsule(_Array)
        checked(filters().rocksieve_arrow_booleans, bytes(self._bits), self._length,
                ctypes.byref(schema), ctypes.byref(array))
        return schema_capsule, array_capsule


def answers(function: str, handle: Any, keys: Any, column: Optional[str]) -> Booleans:
    """Of a function of c_arrow.h, for each key of a column."""
    bits, length = bytearray(), 0
    for schema, array in _chunks(keys):
        bits.extend(bytes((length + array.length + 7) // 8 - len(bits)))
        place = (ctypes.c_char * len(bits)).from_buffer(bits)
        checked(getattr(filters(), function), handle, ctypes.byref(schema), ctypes.byref(array),
                None if column is None else name_bytes(column), place, length)
        del place
        length += array.length
    return Booleans(bits, length)


class ScanCounts(NamedTuple):
    """Rows that were read, and those of them that filters let pass; a digest of the join keys of all rows
    that were read, with `on` also of which row has which, in any order: other keys have another one, but
    for one in 2^64; and the rows that there are, whatever part is scanned, as far as files say it."""

    rows_read: int
    rows_given: int
    digest: int
    rows_estimated: int


class Scan:
    """The rows of a database, for whoever takes streams of Arrow: pyarrow.table(scan),
    polars.DataFrame(scan), or `FROM scan` in DuckDB. Each time it is read, it shows the rows as they are
    then. An error in its course is that of the reader, and names the database; batches before it are
    right, and not all."""

    def __init__(self, settings: Sequence[Tuple[str, bytes]], blocks: Sequence[bytes]) -> None:
        self._made_of = settings, blocks
        self._library = joins()
        self._handle = checked(self._library.rocksieve_scan_create, raises=JoinError)
        destroy_with(self, self._library.rocksieve_scan_destroy, self._handle)
        for name, value in settings:
            checked(self._library.rocksieve_scan_set, self._handle, name.encode(), value, len(value),
                    raises=JoinError)
        for block in blocks:
            checked(self._library.rocksieve_scan_filter, self._handle, block, len(block))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        stream, capsule = _capsule(_Stream)
        checked(self._library.rocksieve_scan_open, self._handle, ctypes.byref(stream), raises=JoinError)
        return capsule

    def cuts(self, parts: int) -> List[bytes]:
        """Rising keys, at which parts of the rows begin, all but the first: at most so many parts, of about
        equal size, as far as files say it without being read. Few files, few parts."""
        found: List[bytes] = []
        # What fails there is one cut less, and so one larger part.
        take = OnCut(lambda _, key, length: found.append(ctypes.string_at(key, length)))
        checked(self._library.rocksieve_scan_cuts, self._handle, u64(parts, "parts"), take, None,
                raises=JoinError)
        return found

    def __reduce__(self) -> Tuple[Any, Any]:
        return Scan, self._made_of

    @property
    def counts(self) -> ScanCounts:
        """Of the stream that began last: all of it when it has ended."""
        counts = (ctypes.c_uint64 * len(ScanCounts._fields))()  # rocksieve_scan_counts_t
        self._library.rocksieve_scan_counts(self._handle, ctypes.byref(counts))
        return ScanCounts(*counts)


def scan(db: Optional[Path] = None, columns: Sequence[str] = ("key", "value"), *,
         sorted_text: Optional[Path] = None, column_family: Optional[str] = None,
         begin: Optional[Key] = None, end: Optional[Key] = None, prefix: Optional[Key] = None,
         on: Optional[str] = None, filters: Sequence[Any] = (), keep: str = "maybe",
         expect: Optional[int] = None, most_rows: Optional[int] = None,
         batch_rows: Optional[int] = None, batch_bytes: Optional[int] = None) -> Scan:
    """The rows of a database as a stream of Arrow, in the order of their keys.

    db          the directory of a RocksDB database, which may be in use, and is only read; or
    sorted_text a file of sorted keys, or of keys, TAB and value
    columns     "key", "value" and "join_key", which is what `on` gives, or null; all are binary
    begin, end  the rows from the key `begin` on, up to but without `end`; or
    prefix      the rows whose keys begin with it
    on          what filters are asked for, such as "value.json(/customer/id)", instead of the key
    filters     Filter or DynamicFilter, or their bytes, asked before a row becomes a row
    keep        "maybe": rows whose join key one of the filters may contain; "absent": the others, those
                with a null among them. Without filters, all rows
    expect      counts.digest of an earlier scan: if keys are others now, the stream ends with an error
    most_rows   that are read, from the first one on
    batch_rows, batch_bytes
                after which a batch ends: 65,536 rows, 8 MiB of keys and values, if they are not said

    JoinError for a setting that is wrong; ValueError for what is no filter. What the database has to say
    comes when it is read."""
    given = {"db": db, "sorted-text": sorted_text, "column-family": column_family, "on": on,
             "columns": ",".join(columns), "keep": keep, "expect": expect, "most-rows": most_rows,
             "batch-rows": batch_rows, "batch-bytes": batch_bytes}
    keys = {"begin": begin, "end": end, "prefix": prefix}
    if prefix is not None and (begin is not None or end is not None):
        raise JoinError("a scan takes a prefix, or begin and end")
    if isinstance(filters, (bytes, bytearray)) or not hasattr(filters, "__iter__"):
        raise TypeError("filters are a list of filters, or of their bytes")
    settings = [(name, setting_bytes(value)) for name, value in given.items() if value is not None]
    settings += [(name, bytes_of_key(key)) for name, key in keys.items() if key is not None]
    return Scan(settings, [bytes(block) for block in filters])
