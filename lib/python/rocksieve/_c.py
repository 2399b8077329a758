# SPDX-License-Identifier: Apache-2.0
"""The functions of rocksieve/c.h: what they take and give, and their errors as exceptions."""

import ctypes
import functools
import os
import weakref
from typing import (Any, Callable, Dict, Iterable, Iterator, NamedTuple, Optional, Tuple, Type, TypeVar,
                    Union)

Key = Union[bytes, bytearray, memoryview, str]
Path = Union[str, "os.PathLike[str]"]

ABI = 1  # the number in the libraries' SONAMEs


class Estimate(NamedTuple):
    """A number and how far it is likely to be off: the truth lies within one standard error in about
    two cases of three, within three in nearly all. A standard error of 0: the value is exact."""

    value: float
    standard_error: float


class JoinError(RuntimeError):
    """A join, or a server of joins, that could not be made, or did not come to its end. What it gave
    before is right, and not all."""


_pointer, _text, _size, _bool = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_ubyte
_u64, _double = ctypes.c_uint64, ctypes.c_double
OnTop = ctypes.CFUNCTYPE(None, _pointer, _pointer, _size, _u64, _u64)
OnCut = ctypes.CFUNCTYPE(None, _pointer, _pointer, _size)
OnRow = ctypes.CFUNCTYPE(ctypes.c_int, _pointer, _bool, _pointer, _size, _pointer, _size)

# Name without "rocksieve_": result, arguments.
_FILTERS = {
    "builder_create": (_pointer, _text, _pointer),
    "builder_add": (None, _pointer, _text, _size),
    "builder_finish": (_pointer, _pointer, _pointer, _pointer),
    "builder_destroy": (None, _pointer),
    "filter_open": (_pointer, _text, _size, _pointer),
    "filter_may_contain": (_bool, _pointer, _text, _size),
    "filter_may_contain_range": (_bool, _pointer, _text, _size, _text, _size),
    "filter_key_count": (_u64, _pointer),
    "filter_false_positive_rate": (_double, _pointer),
    "filter_destroy": (None, _pointer),
    "dynamic_create": (_pointer, _text, _u64, _double, _u64, _pointer),
    "dynamic_kind": (_text, _pointer),
    "dynamic_add": (_bool, _pointer, _text, _size, _pointer),
    "dynamic_may_contain": (_bool, _pointer, _text, _size),
    "dynamic_remove": (_bool, _pointer, _text, _size, _pointer),
    "dynamic_count": (_u64, _pointer, _text, _size),
    "dynamic_merge": (_bool, _pointer, _pointer, _pointer),
    "dynamic_false_positive_rate": (_double, _pointer),
    "dynamic_memory_bytes": (_size, _pointer),
    "dynamic_serialize": (_pointer, _pointer, _pointer, _pointer),
    "dynamic_deserialize": (_pointer, _text, _size, _pointer),
    "dynamic_destroy": (None, _pointer),
    "builder_add_arrow": (_bool, _pointer, _pointer, _pointer, _text, _pointer),
    "filter_may_contain_arrow": (_bool, _pointer, _pointer, _pointer, _text, _pointer, _size, _pointer),
    "dynamic_add_arrow": (_bool, _pointer, _pointer, _pointer, _text, _pointer),
    "dynamic_may_contain_arrow": (_bool, _pointer, _pointer, _pointer, _text, _pointer, _size, _pointer),
    "arrow_capsule_destructor": (None, _pointer),
    "arrow_booleans": (_bool, _text, _size, _pointer, _pointer, _pointer),
    "estimator_create": (_pointer, _text, _double, _u64, _pointer),
    "estimator_kind": (_text, _pointer),
    "estimator_add": (_bool, _pointer, _text, _size, _u64, _pointer),
    "estimator_distinct": (_bool, _pointer, _pointer, _pointer),
    "estimator_count": (_bool, _pointer, _text, _size, _pointer, _pointer, _pointer),
    "estimator_top": (_bool, _pointer, _size, OnTop, _pointer, _pointer),
    "estimator_similarity": (_bool, _pointer, _pointer, _pointer, _pointer),
    "estimator_intersection": (_bool, _pointer, _pointer, _pointer, _pointer),
    "estimator_merge": (_bool, _pointer, _pointer, _pointer),
    "estimator_memory_bytes": (_size, _pointer),
    "estimator_serialize": (_pointer, _pointer, _pointer, _pointer),
    "estimator_deserialize": (_pointer, _text, _size, _pointer),
    "estimator_destroy": (None, _pointer),
}
_JOIN = {
    "join_create": (_pointer, _text, _pointer),
    "join_set": (_bool, _pointer, _text, _text, _pointer),
    "join_run": (_bool, _pointer, OnRow, _pointer, _pointer, _pointer),
    "join_cancel": (None, _pointer),
    "join_destroy": (None, _pointer),
    "scan_create": (_pointer, _pointer),
    "scan_set": (_bool, _pointer, _text, _text, _size, _pointer),
    "scan_filter": (_bool, _pointer, _text, _size, _pointer),
    "scan_open": (_bool, _pointer, _pointer, _pointer),
    "scan_cuts": (_bool, _pointer, _size, OnCut, _pointer, _pointer),
    "scan_counts": (None, _pointer, _pointer),
    "scan_destroy": (None, _pointer),
    "server_create": (_pointer, _pointer),
    "server_set": (_bool, _pointer, _text, _text, _pointer),
    "server_start": (_bool, _pointer, _pointer),
    "server_address": (_text, _pointer),
    "server_counts": (_bool, _pointer, _pointer, _pointer),
    "server_stop": (None, _pointer, _u64),
    "server_destroy": (None, _pointer),
}

# A wheel brings its libraries.
_bundled = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
_directory: Optional[str] = _bundled if os.path.isdir(_bundled) else None


def use_libraries_of(directory: Path) -> None:
    """Takes the libraries of a directory, such as build/lib, instead of those that the system's linker
    finds. Before anything else of this package is used: RuntimeError if that has begun."""
    global _directory
    if filters.cache_info().currsize or joins.cache_info().currsize:
        raise RuntimeError("use_libraries_of() comes before anything else of rocksieve is used")
    _directory = os.fspath(directory)


def library(name: str, package: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """The library NAME.1."""
    file = f"{name}.{ABI}"
    try:
        return ctypes.CDLL(os.path.join(_directory, file) if _directory else file, mode)
    except OSError as error:
        raise ImportError(f"{error}: install the package {package}{ABI}, name the directory of its "
                          "libraries by rocksieve.use_libraries_of(), or put it into "
                          "LD_LIBRARY_PATH") from None


def _load(name: str, package: str, functions: Dict[str, Tuple[Any, ...]]) -> ctypes.CDLL:
    loaded = library(f"librocksieve_{name}.so", package)
    for function_name, (result, *arguments) in functions.items():
        function = getattr(loaded, f"rocksieve_{function_name}")
        function.restype, function.argtypes = result, arguments
    return loaded


@functools.lru_cache(maxsize=None)
def filters() -> Any:
    """librocksieve_filters.so."""
    return _load("filters", "librocksieve", _FILTERS)


@functools.lru_cache(maxsize=None)
def joins() -> Any:
    """librocksieve_join.so."""
    return _load("join", "librocksieve-join", _JOIN)


_libc = ctypes.CDLL(None)
_libc.free.argtypes = [_pointer]
_libc.free.restype = None


def taken_text(error: ctypes.c_void_p) -> str:
    """The text of a char* that is to be freed, which it is."""
    if not error.value:
        return "no memory"
    text = ctypes.string_at(error.value).decode(errors="replace")
    _libc.free(error)
    return text


def checked(function: Any, *arguments: Any,
            raises: Type[Exception] = ValueError) -> Any:
    """Calls a function whose last argument is char** error. Raises if it sets one."""
    error = ctypes.c_void_p()
    result = function(*arguments, ctypes.byref(error))
    if error.value:
        text = taken_text(error)
        raise MemoryError(text) if text == "no memory" else raises(text)
    # There was no memory for the error. False is an answer of one function alone.
    failed = result is None if function.restype is _pointer else not result
    if failed and function.restype is not None and "remove" not in function.__name__:
        raise MemoryError
    return result


def destroy_with(owner: Any, function: Any, handle: Any) -> None:
    """Destroys the handle when its owner is gone. Not when the interpreter ends, while threads and
    others' last functions may still use it."""
    weakref.finalize(owner, function, handle).atexit = False


def bytes_of(function: Callable[..., Any], handle: Any) -> bytes:
    """What a function gives that takes size_t* size and char** error, and that is to be freed."""
    size = ctypes.c_size_t()
    block = checked(function, handle, ctypes.byref(size))
    try:
        return ctypes.string_at(block, size.value)
    finally:
        _libc.free(block)


def bytes_of_key(key: Key) -> bytes:
    """A key as the library takes it. TypeError for numbers, and whatever else has no bytes of its own."""
    if isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return key.encode()
    try:
        view = memoryview(key)
    except TypeError:
        view = None
    if view is None or view.ndim != 1 or view.itemsize != 1:
        raise TypeError(f"a key is bytes or str, not {type(key).__name__}: {key!r}")
    return bytes(view)


def each_key(keys: Iterable[Key]) -> Iterator[bytes]:
    """Of an iterable, as the library takes them."""
    if isinstance(keys, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"keys are a list, or something like it, and this is one key: {keys!r}")
    return map(bytes_of_key, keys)


def name_bytes(name: str) -> bytes:
    """A name, or a spec, as the library takes it. ValueError if it would be cut."""
    if "\0" in name:
        raise ValueError(f"{name!r} has a byte 0, which no name has")
    return name.encode()


def u64(number: int, name: str) -> int:
    """The number, as ctypes would not cut it. ValueError if that is not so."""
    if not 0 <= number < 2**64:
        raise ValueError(f"{name} is {number}, but must be 0 to 2^64 - 1")
    return number


def setting_bytes(value: Any) -> bytes:
    """A setting as the library takes it."""
    if isinstance(value, (str, bytes, os.PathLike)):
        value = os.fsencode(value)
        if b"\0" in value:
            raise JoinError(f"{value!r} has a byte 0, which no setting has")
        return bytes(value)
    return str(value).lower().encode()


def set_all(function: Callable[..., Any], handle: Any, settings: Dict[str, Any]) -> None:
    """Sets by their names what is not None: "_" stands for "-", a sequence for each of its items."""
    for name, value in settings.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is not None:
                checked(function, handle, name.replace("_", "-").encode(), setting_bytes(item),
                        raises=JoinError)


_Self = TypeVar("_Self", bound="Keeper")


class Keeper:
    """An object of the library that takes keys: its functions are rocksieve_{_NAME}_..."""

    _NAME = ""

    def _own(self, handle: Any) -> None:
        self._handle = handle
        self._library = filters()
        destroy_with(self, self._function("destroy"), handle)

    @classmethod
    def _function(cls, name: str) -> Any:
        return getattr(filters(), f"rocksieve_{cls._NAME}_{name}")

    @classmethod
    def from_bytes(cls: Type[_Self], block: bytes) -> _Self:
        """Of what bytes() of one gave, on any machine. ValueError if it is damaged, or something else."""
        result = cls.__new__(cls)
        result._own(checked(cls._function("deserialize"), bytes(block), len(block)))
        return result

    def _handle_of(self, other: Any) -> Any:
        if type(other) is not type(self):
            raise ValueError(f"{other!r} is no {type(self).__name__}")
        return other._handle

    @property
    def kind(self) -> str:
        """As it was created."""
        return str(self._function("kind")(self._handle).decode())

    def add(self, key: Key) -> None:
        """Adds the key once."""
        raise NotImplementedError

    def update(self, keys: Iterable[Key]) -> None:
        """Adds each of them once."""
        for key in each_key(keys):
            self.add(key)

    def merge(self: _Self, other: _Self) -> None:
        """Adds all that is in the other one. ValueError unless both were created alike."""
        checked(self._function("merge"), self._handle, self._handle_of(other))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self._function("memory_bytes")(self._handle))

    def __bytes__(self) -> bytes:
        return bytes_of(self._function("serialize"), self._handle)

    def __reduce__(self) -> Tuple[Any, Tuple[bytes]]:
        return type(self).from_bytes, (bytes(self),)

    def __repr__(self) -> str:
        return f"<rocksieve.{type(self).__name__} {self.kind}, {self.nbytes} bytes>"
