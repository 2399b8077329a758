# SPDX-License-Identifier: Apache-2.0
"""Filters in Python, by rocksieve's C interface and ctypes: no build step, no package.

    filters.py LIBRARY SPEC FILE < KEYS

builds a filter of the lines of FILE, and prints those lines of KEYS that are certainly not among them.
LIBRARY is the path of librocksieve_filters.so; SPEC, for example, rocksieve.ribbon:1%.
"""

import ctypes
import sys


class Filters:
    """The functions of librocksieve_filters.so, which rocksieve/c.h describes."""

    def __init__(self, library):
        self.c = ctypes.CDLL(library)
        pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
        for name, result, *arguments in (
                ("builder_create", pointer, text, pointer),
                ("builder_add", None, pointer, text, size),
                ("builder_finish", pointer, pointer, pointer, pointer),
                ("builder_destroy", None, pointer),
                ("filter_open", pointer, text, size, pointer),
                ("filter_may_contain", ctypes.c_ubyte, pointer, text, size),
                ("filter_destroy", None, pointer)):
            function = getattr(self.c, f"rocksieve_{name}")
            function.restype, function.argtypes = result, arguments
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [pointer]

    def build(self, spec, keys):
        """The filter of the keys, which are bytes, as bytes. ValueError if the spec is wrong."""
        builder = self._checked(self.c.rocksieve_builder_create, spec.encode())
        try:
            for key in keys:
                self.c.rocksieve_builder_add(builder, key, len(key))
            size = ctypes.c_size_t()
            block = self._checked(self.c.rocksieve_builder_finish, builder, ctypes.byref(size))
            try:
                return ctypes.string_at(block, size.value)
            finally:
                self.free(block)
        finally:
            self.c.rocksieve_builder_destroy(builder)

    def open(self, block):
        """ValueError if these bytes are no filter, or a damaged one."""
        return Filter(self.c, self._checked(self.c.rocksieve_filter_open, block, len(block)))

    def _checked(self, function, *arguments):
        error = ctypes.c_void_p()
        result = function(*arguments, ctypes.byref(error))
        if result:
            return result
        try:
            raise ValueError(ctypes.string_at(error.value).decode() if error else "no memory")
        finally:
            self.free(error)


class Filter:
    """`key in filter` is False only if the key was not added."""

    def __init__(self, c, handle):
        self.c, self.handle = c, handle

    def __contains__(self, key):
        return bool(self.c.rocksieve_filter_may_contain(self.handle, key, len(key)))

    def __del__(self):
        self.c.rocksieve_filter_destroy(self.handle)


def main(library, spec, path):
    filters = Filters(library)
    with open(path, "rb") as lines:
        block = filters.build(spec, (line.rstrip(b"\n") for line in lines))
    known = filters.open(block)
    print(f"{len(block)} bytes", file=sys.stderr)
    for line in sys.stdin.buffer:
        if line.rstrip(b"\n") not in known:
            sys.stdout.buffer.write(line)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
