# SPDX-License-Identifier: Apache-2.0
"""A join in Python, by rocksieve's C interface and ctypes: no build step, no package.

    join.py LIBRARY OPERATION DATABASE REMOTE [NAME=VALUE]...

prints the rows of the result as lines of key, TAB and value. LIBRARY is the path of
librocksieve_join.so; OPERATION intersection, difference, local-only or symmetric; REMOTE the address of a
`rocksieve serve`. Further settings are the flags of `rocksieve join`: insecure=true, ca=FILE, ...
"""

import collections
import ctypes
import sys

Row = collections.namedtuple("Row", "is_local key value")


class Counts(ctypes.Structure):
    """rocksieve_join_counts_t."""

    _fields_ = [(name, ctypes.c_uint64) for name in (
        "matched_keys", "local_only_keys", "remote_only_keys", "rows_received", "bytes_sent",
        "bytes_received")]


OnRow = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ubyte, ctypes.c_void_p,
                          ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)


class Joins:
    """The functions of librocksieve_join.so, which rocksieve/c.h describes."""

    def __init__(self, library):
        self.c = ctypes.CDLL(library)
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        for name, result, *arguments in (
                ("create", pointer, text, pointer),
                ("set", ctypes.c_ubyte, pointer, text, text, pointer),
                ("run", ctypes.c_ubyte, pointer, OnRow, pointer, pointer, pointer),
                ("cancel", None, pointer),
                ("destroy", None, pointer)):
            function = getattr(self.c, f"rocksieve_join_{name}")
            function.restype, function.argtypes = result, arguments
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [pointer]

    def run(self, operation, on_row=lambda row: None, **settings):
        """Joins, gives each row of the result to on_row, and returns the Counts. An exception of on_row
        ends the join, and is raised. RuntimeError if the join fails. Of the settings' names, "_" stands
        for "-"."""
        join = self._checked(self.c.rocksieve_join_create, operation.encode())
        raised = []

        def give(_, is_local, key, key_length, value, value_length):
            try:
                on_row(Row(bool(is_local), ctypes.string_at(key, key_length),
                           ctypes.string_at(value, value_length)))
                return 0
            except BaseException as exception:  # Ctrl-C too
                raised.append(exception)
                return 1

        try:
            for name, value in settings.items():
                self._checked(self.c.rocksieve_join_set, join, name.replace("_", "-").encode(),
                              str(value).encode())
            counts = Counts()
            try:
                self._checked(self.c.rocksieve_join_run, join, OnRow(give), None,
                              ctypes.byref(counts))
            except RuntimeError:
                if raised:
                    raise raised[0] from None
                raise
            return counts
        finally:
            self.c.rocksieve_join_destroy(join)

    def _checked(self, function, *arguments):
        error = ctypes.c_void_p()
        result = function(*arguments, ctypes.byref(error))
        if result:
            return result
        try:
            raise RuntimeError(ctypes.string_at(error.value).decode() if error else "no memory")
        finally:
            self.free(error)


def main(library, operation, database, remote, *settings):
    def show(row):
        sys.stdout.buffer.write(row.key + b"\t" + row.value + b"\n")

    further = dict(setting.split("=", 1) for setting in settings)
    counts = Joins(library).run(operation, show, db=database, remote=remote, **further)
    print(f"{counts.matched_keys} keys in both, {counts.local_only_keys} only here, "
          f"{counts.remote_only_keys} only there; {counts.bytes_sent + counts.bytes_received} bytes",
          file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
