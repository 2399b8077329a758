#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpora of the fuzz targets: tests/fuzz/corpus/TARGET has an input in each line, "NAME HEX".

    tests/fuzz/corpus.py unpack TARGET DIRECTORY   writes each input into a file NAME
    tests/fuzz/corpus.py add TARGET DIRECTORY      takes over the files whose bytes are not there yet, each
                                             named by them
"""

import hashlib
import pathlib
import sys

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def read(target):
    """Inputs by their names."""
    path = CORPUS / target
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return {name: bytes.fromhex(data) for name, _, data in (line.partition(" ") for line in lines)}


def write(target, inputs):
    CORPUS.mkdir(exist_ok=True)
    text = "".join(f"{name} {data.hex()}\n" for name, data in sorted(inputs.items()))
    (CORPUS / target).write_text(text, encoding="ascii")


def unpack(target, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in read(target).items():
        (directory / name).write_bytes(data)


def add(target, directory):
    inputs = read(target)
    for path in directory.iterdir():
        data = path.read_bytes()
        if data not in inputs.values():
            inputs[hashlib.sha1(data).hexdigest()] = data
    write(target, inputs)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("unpack", "add"):
        sys.exit(__doc__)
    {"unpack": unpack, "add": add}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))
