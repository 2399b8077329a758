# SPDX-License-Identifier: Apache-2.0
"""Filters of databases that other modules of Python open."""

import ctypes
import re
from typing import Optional

from . import _c


_FAMILIES = re.compile(r"rocksieve\.(auto|bloom|cuckoo|range|ribbon):.")


def load(instead_of: Optional[str] = None) -> None:
    """Makes the names of rocksieve's filters known to the RocksDB in an extension module, such as
    pyrex, for its option strings and OPTIONS files.

    instead_of is a filter, such as "rocksieve.ribbon:10", for modules that have no way to name one: each
    Bloom or Ribbon filter that they make becomes that one. load() comes before such a module is imported
    then; otherwise before or after. What is wrong with the amount, stderr says when the filter is made.

    ValueError if instead_of is no filter. RuntimeError, and why, if the RocksDB cannot be served: it is of
    a release without a build, instead_of comes too late, or there are several. One that hides its symbols,
    as that of rocksdict, is not seen, and works on as it was.
    """
    if instead_of is not None and not _FAMILIES.match(instead_of):
        raise ValueError(f"{instead_of!r} is no filter, such as rocksieve.ribbon:10")
    library = _c.library("librocksieve.so", "librocksieve", mode=ctypes.RTLD_GLOBAL)
    error = ctypes.c_void_p()
    if instead_of is None:
        done = library.rocksieve_load(None, ctypes.byref(error)) & 255
    else:
        done = library.rocksieve_load_instead_of(_c.name_bytes(instead_of), ctypes.byref(error)) & 255
    text = "" if done else _c.taken_text(error)
    # One that comes later is noticed.
    if text and not text.endswith("there is no RocksDB in this process"):
        raise RuntimeError(text)
