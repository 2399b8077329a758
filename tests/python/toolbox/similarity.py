# SPDX-License-Identifier: Apache-2.0
"""MinHash signatures and LSH indexes of docs/formats/toolbox.md, written from the document alone."""

from envelope import (M64, Reader, key_hash, mix64, read_envelope, split_mix64, upper, varint,
                   write_envelope)

MIN_HASH, LSH_INDEX = 13, 14
ONE_PERMUTATION, INDEPENDENT = 1, 2
NONE = M64


def places(keys, m, method, seed):
    values = [NONE] * m
    for h in (key_hash(key, seed) for key in keys):
        for i in range(m):
            value = min(h if method == ONE_PERMUTATION else split_mix64(h, i), NONE - 1)
            if method == INDEPENDENT or i == upper(value, m):
                values[i] = min(values[i], value)
    return values


def options(m, method, seed):
    return seed.to_bytes(8, "little") + bytes([method]) + varint(m)


def words(values):
    return b"".join(value.to_bytes(8, "little") for value in values)


def min_hash(keys, m, method, seed):
    return write_envelope(MIN_HASH, options(m, method, seed) + words(places(keys, m, method, seed)))


def lsh_index(sets, m, method, seed, bands, rows):
    """`sets` are the keys of each number."""
    out = options(m, method, seed) + varint(bands) + varint(rows) + varint(len(sets))
    for number, keys in sorted(sets.items()):
        out += varint(number) + words(places(keys, m, method, seed))
    return write_envelope(LSH_INDEX, out)


def borrowed(values, seed):
    """With a value in each place."""
    m, used = len(values), [j for j, value in enumerate(values) if value != NONE]
    out = []
    for i, value in enumerate(values):
        order = (mix64(seed) + i) & M64
        attempts = (upper(split_mix64(order, t), m) for t in range(256))
        if value == NONE:
            j = next((j for j in attempts if values[j] != NONE), None)
            if j is None:
                j = min(used, key=lambda k: split_mix64(order, 256 + k))
            value = values[j]
        out.append(value)
    return out


class MinHash:
    def __init__(self, data):
        reader = Reader(read_envelope(MIN_HASH, data))
        self.seed, self.method, m = reader.number(8), reader.number(1), reader.varint()
        self.places = [reader.number(8) for _ in range(m)]
        assert reader.finished() and self.method in (ONE_PERMUTATION, INDEPENDENT)


class LshIndex:
    def __init__(self, data):
        reader = Reader(read_envelope(LSH_INDEX, data))
        self.seed, self.method, m = reader.number(8), reader.number(1), reader.varint()
        self.bands, self.rows = reader.varint(), reader.varint()
        assert self.bands * self.rows <= m
        self.sets = {}
        for _ in range(reader.varint()):
            number = reader.varint()
            assert not self.sets or number > max(self.sets)
            self.sets[number] = [reader.number(8) for _ in range(m)]
        assert reader.finished()

    def candidate_pairs(self):
        full = {number: borrowed(values, self.seed) for number, values in self.sets.items()}

        def band(number, b):
            return full[number][b * self.rows:(b + 1) * self.rows]

        return [(x, y) for x in full for y in full
                if x < y and any(band(x, b) == band(y, b) for b in range(self.bands))]
