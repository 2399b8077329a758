# SPDX-License-Identifier: Apache-2.0
"""Filters of databases that other modules of Python open."""

import ctypes
import os
from typing import Optional

from . import _c


def load(instead_of: Optional[str] = None) -> None:
    """Makes the names of rocksieve's filters known to the RocksDB in an extension module, such as
    pyrex, for its option strings and OPTIONS files.

    instead_of is a filter, such as "rocksieve.ribbon:10", for modules that have no way to name one: each
    Bloom or Ribbon filter that they make becomes that one. load() comes before such a module is imported
    then; otherwise before or after.

    RuntimeError, and why, if the RocksDB cannot be served: it hides its symbols (rocksdict does, and
    nothing is seen of it: it works on as it was), is of a release without a build, or there are several.
    """
    if instead_of is not None:
        os.environ["ROCKSIEVE_INSTEAD_OF"] = instead_of
    library = _c.library("librocksieve.so", "librocksieve", mode=ctypes.RTLD_GLOBAL)
    library.rocksieve_load.restype = ctypes.c_ubyte
    error = ctypes.c_void_p()
    if library.rocksieve_load(None, ctypes.byref(error)):
        _c.serves_rocksdb = True
        return
    text = _c.taken_text(error)
    if not text.endswith("there is no RocksDB in this process"):  # one that comes later is noticed
        raise RuntimeError(text)
    _c.serves_rocksdb = True
