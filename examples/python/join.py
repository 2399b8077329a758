# SPDX-License-Identifier: Apache-2.0
"""A join in Python, with the package rocksieve (python3-rocksieve).

    join.py OPERATION DATABASE REMOTE [NAME=VALUE]...

prints the rows of the result as lines of key, TAB and value. OPERATION is intersection, difference,
local-only or symmetric; REMOTE the address of a `rocksieve serve`. Further settings are the flags of
`rocksieve join`: insecure=true, ca=FILE, ...
"""

import sys

import rocksieve


def main(operation, database, remote, *settings):
    further = dict(setting.split("=", 1) for setting in settings)
    rows = rocksieve.join(operation, db=database, remote=remote, **further)
    for row in rows:
        sys.stdout.buffer.write(row.key + b"\t" + row.value + b"\n")
    counts = rows.counts  # of several servers, not all are known
    print(f"{counts.matched_keys} keys in both, {counts.local_only_keys} only here, "
          f"{counts.remote_only_keys} only there; {counts.bytes_sent + counts.bytes_received} bytes",
          file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
