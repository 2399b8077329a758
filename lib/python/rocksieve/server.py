# SPDX-License-Identifier: Apache-2.0
"""A server of joins in this process."""

import ctypes
import weakref
from typing import Any, NamedTuple, Optional, Sequence, Type, Union

from ._c import JoinError, Path, checked, joins, set_all
from .joins import Setting


class ServerCounts(NamedTuple):
    """Since the start: sessions under way, those that ended as they should, that failed, and that were
    refused; rows and bytes of messages of sessions that have ended."""

    sessions: int
    done: int
    failed: int
    refused: int
    rows_sent: int
    bytes_sent: int
    bytes_received: int


class Server:
    """Answers joins with the rows of a database, which may be in use elsewhere and is only read, until
    stop() or the end of a `with` block. Its sessions have threads of their own, which do not wait for
    Python. For a service, `rocksieve serve` has more: a log, metrics, reloading."""

    def __init__(self, *, db: Path, listen: str = "127.0.0.1:0",
                 column_family: Union[str, Sequence[str], None] = None, **settings: Setting) -> None:
        """Serves from now on. `listen` with port 0 takes any that is free. Settings are the flags of
        `rocksieve serve`, with "_" for "-": ca, cert, key, insecure=True, token_file, sessions, memory,
        ... JoinError says what is wrong."""
        self._library = joins()
        self._handle = checked(self._library.rocksieve_server_create, raises=JoinError)
        self._destroy = weakref.finalize(self, self._library.rocksieve_server_destroy, self._handle)
        set_all(self._library.rocksieve_server_set, self._handle,
                {"db": db, "listen": listen, "column-family": column_family, **settings})
        checked(self._library.rocksieve_server_start, self._handle, raises=JoinError)

    @property
    def address(self) -> str:
        """Where it listens, with the port: what join(remote=...) takes."""
        return str(self._library.rocksieve_server_address(self._handle).decode())

    @property
    def counts(self) -> ServerCounts:
        """What it did so far."""
        counts = (ctypes.c_uint64 * len(ServerCounts._fields))()  # rocksieve_server_counts_t
        checked(self._library.rocksieve_server_counts, self._handle, ctypes.byref(counts),
                raises=JoinError)
        return ServerCounts(*counts)

    def __reduce__(self) -> Any:
        raise TypeError("a server cannot be copied")

    def stop(self, grace_seconds: float = 0) -> None:
        """Takes no new sessions, lets those that are under way go on for so long, and cuts them off
        then."""
        self._library.rocksieve_server_stop(self._handle, max(0, round(1000 * grace_seconds)))

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Any) -> None:
        self.stop()
