# SPDX-License-Identifier: Apache-2.0
"""Filters, estimators and exact joins of rocksieve, by its C interface and ctypes.

    import rocksieve

    seen = rocksieve.Filter.build(keys, "rocksieve.ribbon:1%")
    seen.save("seen.filter")
    new = [key for key in others if key not in rocksieve.Filter.load("seen.filter")]

    rows = rocksieve.join("intersection", db="/data/orders", remote="customers.example:7420")
    frame = pandas.DataFrame(rows)          # columns key, value, is_local

Filter          all keys are known: a static filter, as bytes or as a file
DynamicFilter   keys come one by one, and may go again
Estimator       distinct keys, frequent keys, similarity of sets, in little memory
join, count     which rows a database here and those of servers have in common, or not
scan            the rows of a database as a stream of Arrow, those that filters let pass
Server          answers joins with the rows of a database here
load            filters of rocksieve in databases that another module of Python opens

Keys are bytes, or str, which stands for its UTF-8 bytes. A wheel brings its libraries; otherwise they are
those of Debian's packages librocksieve1 and librocksieve-join1; use_libraries_of() names another place.
"""

from ._c import Estimate, JoinError, use_libraries_of
from .arrow import Booleans, Scan, ScanCounts, scan
from .dynamic import DynamicFilter
from .estimators import Counted, Estimator
from .filters import Filter
from .joins import Counts, Row, Rows, count, join
from .rocksdb import load
from .server import Server, ServerCounts

__version__ = "1.0.0"
__all__ = ["Booleans", "Counted", "Counts", "DynamicFilter", "Estimate", "Estimator", "Filter", "JoinError",
           "Row", "Rows", "Scan", "ScanCounts", "Server", "ServerCounts", "count", "join", "load", "scan",
           "use_libraries_of"]
