# SPDX-License-Identifier: Apache-2.0
"""What all types of docs/formats/toolbox.md share, written from the document alone."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import xxh3  # noqa: E402
from golden_files import golden_text, read_golden, write_golden  # noqa: E402
from sketch_format import M64, mix64, varint  # noqa: E402, F401
from sketch_format import splitmix64 as split_mix64  # noqa: E402, F401

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/formats/toolbox.md").read_text(encoding="utf-8")


def key_hash(key, seed=0):
    return xxh3.xxh3_64(key.encode() if isinstance(key, str) else key, seed)


def upper(x, n):
    """H(x, n)"""
    return x * n >> 64


def write_envelope(kind, payload):
    head = b"RSTB" + bytes([1, kind]) + len(payload).to_bytes(8, "little") + payload
    return head + key_hash(head).to_bytes(8, "little")


def read_envelope(kind, data):
    assert data[:4] == b"RSTB" and data[4] == 1 and data[5] == kind
    assert len(data) == 22 + int.from_bytes(data[6:14], "little")
    assert key_hash(data[:-8]) == int.from_bytes(data[-8:], "little")
    return data[14:-8]


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, count):
        taken = self.data[self.at:self.at + count]
        assert len(taken) == count
        self.at += count
        return taken

    def number(self, count):
        return int.from_bytes(self.bytes(count), "little")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def finished(self):
        return self.at == len(self.data)


def golden(name):
    return read_golden("toolbox")[name]


def expect_golden(test, name, data):
    """These bytes are in tests/golden/toolbox.json, with which a unit test in C++ compares as well.
    With ROCKSIEVE_WRITE_GOLDEN in the environment they are written there instead."""
    if "ROCKSIEVE_WRITE_GOLDEN" in os.environ:
        all_bytes = read_golden("toolbox") | {name: data}
        write_golden("toolbox", golden_text(({"name": each}, all_bytes[each])
                                            for each in sorted(all_bytes)))
    test.assertEqual(golden(name).hex(), data.hex())


def expect_in_page(test, data):
    """These bytes stand in docs/formats/toolbox.md."""
    test.assertTrue(f"`{data.hex(' ').upper()}`" in PAGE,
                    f"not in docs/formats/toolbox.md: `{data.hex(' ').upper()}`")
