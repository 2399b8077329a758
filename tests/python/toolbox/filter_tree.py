# SPDX-License-Identifier: Apache-2.0
"""Nodes of filter trees of docs/formats/toolbox.md, written from the document alone."""

import bloom
from envelope import Reader, read_envelope, varint, write_envelope
from tables import cuckoo_table

FILTER_TREE = 15
HAS_PARENT, KNOWS_SIBLINGS, ALL_UNPUBLISHED = 1, 2, 4


def string(data):
    return varint(len(data)) + data


def encode(number, flags, parent, keys, below, neighbours, unpublished, options):
    """Below and neighbours: number -> keys; options of bloom.encode. Of siblings and children the
    filters are made here, and so is that of the subtree."""
    children, siblings = ({n: bloom.encode(k, *options) for n, k in side.items()}
                          for side in (below, neighbours))
    subtree = bloom.encode(keys + [key for child in below.values() for key in child], *options)
    out = varint(number) + bytes([flags])
    if flags & HAS_PARENT:
        out += varint(parent)
    out += string(subtree)
    for side in (children, siblings):
        out += varint(len(side)) + b"".join(varint(n) + string(side[n]) for n in sorted(side))
    out += string(cuckoo_table(keys, 0)) + varint(len(unpublished))
    return write_envelope(FILTER_TREE, out + b"".join(h.to_bytes(8, "little") for h in unpublished))


class NodeReader(Reader):
    def string(self):
        return self.bytes(self.varint())

    def filters(self):
        return {self.varint(): bloom.Decoded(self.string()) for _ in range(self.varint())}


class Decoded:
    def __init__(self, data):
        reader = NodeReader(read_envelope(FILTER_TREE, data))
        self.number, self.flags = reader.varint(), reader.number(1)
        self.parent = reader.varint() if self.flags & HAS_PARENT else None
        self.subtree = bloom.Decoded(reader.string())
        self.children, self.siblings = reader.filters(), reader.filters()
        keys = NodeReader(read_envelope(6, reader.string()))
        keys.number(8)
        self.keys = [keys.string().decode() for _ in range(keys.varint())]
        self.unpublished = [reader.number(8) for _ in range(reader.varint())]
        assert reader.finished() and keys.finished()
