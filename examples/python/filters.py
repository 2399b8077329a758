# SPDX-License-Identifier: Apache-2.0
"""A filter in Python, with the package rocksieve (python3-rocksieve).

    filters.py SPEC FILE < KEYS

builds a filter of the lines of FILE, and prints those lines of KEYS that are certainly not among them.
SPEC, for example, is rocksieve.ribbon:1%.
"""

import sys

import rocksieve


def main(spec, path):
    with open(path, "rb") as lines:
        known = rocksieve.Filter.build((line.rstrip(b"\n") for line in lines), spec)
    print(f"{known.nbytes} bytes", file=sys.stderr)
    for line in sys.stdin.buffer:
        if line.rstrip(b"\n") not in known:
            sys.stdout.buffer.write(line)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
