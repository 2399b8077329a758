"""Counting Bloom filters of docs/formats/toolbox.md, written from the document alone."""

from bloom import options, positions
from envelope import Reader, key_hash, read_envelope, write_envelope

COUNTING = 3


def encode(keys, m, k, hashing, seed, w):
    counters = [0] * (m + (m * w % 8 != 0))
    for key in keys:
        for at in set(positions(key_hash(key, seed), m, k, hashing, False)):
            counters[at] = min(counters[at] + 1, 2**w - 1)
    if w == 4:
        counters = [low | high << 4 for low, high in zip(counters[::2], counters[1::2])]
    return write_envelope(COUNTING, options(m, k, hashing, seed) + bytes([w]) + bytes(counters))


class Decoded:
    def __init__(self, data):
        reader = Reader(read_envelope(COUNTING, data))
        self.m, self.k, self.hashing = reader.number(8), reader.number(1), reader.number(1)
        self.seed, self.w = reader.number(8), reader.number(1)
        data = reader.bytes((self.m * self.w + 7) // 8)
        assert reader.finished()
        self.counters = (data if self.w == 8 else
                         [half for byte in data for half in (byte & 15, byte >> 4)])

    def count(self, key):
        where = positions(key_hash(key, self.seed), self.m, self.k, self.hashing, False)
        return min(self.counters[at] for at in where)
