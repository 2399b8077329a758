# SPDX-License-Identifier: Apache-2.0
"""The counters of keys, of distinct keys, and the signatures of sets of docs/formats/toolbox.md, written
from the document alone."""

import math

from sketch_format import M64, bits, k_minimum_values, mix64, splitmix64, varint
from toolbox_format import (COUNT_MIN, HYPER_LOG_LOG, K_MINIMUM_VALUES, LSH_INDEX, MIN_HASH, TOP_K,
                            Reader, key_hash, string, u64, upper, write_envelope)


class CountMin:
    def __init__(self, w, d, seed, conservative):
        self.w, self.d, self.seed, self.conservative = w, d, seed, conservative
        self.total, self.rows = 0, [[0] * w for _ in range(d)]

    @classmethod
    def decode(cls, data):
        reader = Reader(COUNT_MIN, data)
        seed, conservative = reader.number(8), reader.number(1)
        sketch = cls(reader.varint(), reader.varint(), seed, conservative)
        sketch.total = reader.varint()
        sketch.rows = [[reader.varint() for _ in range(sketch.w)] for _ in range(sketch.d)]
        reader.finish()
        for row in sketch.rows:
            assert sum(row) <= sketch.total if conservative else sum(row) == sketch.total
        return sketch

    def places(self, key):
        h = key_hash(key, self.seed)
        return [upper(splitmix64(h, i), self.w) for i in range(self.d)]

    def count(self, key):
        return min(row[at] for row, at in zip(self.rows, self.places(key)))

    def add(self, key, count=1):
        enough = self.count(key) + count
        self.total += count
        for row, at in zip(self.rows, self.places(key)):
            row[at] = max(row[at], enough) if self.conservative else row[at] + count

    def encode(self):
        numbers = [self.w, self.d, self.total] + [cell for row in self.rows for cell in row]
        return write_envelope(COUNT_MIN, u64(self.seed) + bytes([self.conservative]) +
                              b"".join(map(varint, numbers)))


class TopK:
    def __init__(self, m, seed):
        self.m, self.seed, self.total = m, seed, 0
        self.items = {}  # (count, error) of each key

    @classmethod
    def decode(cls, data):
        reader = Reader(TOP_K, data)
        seed = reader.number(8)
        summary = cls(reader.varint(), seed)
        summary.total = reader.varint()
        for _ in range(reader.varint()):
            key = reader.string()
            summary.items[key] = reader.varint(), reader.varint()
        reader.finish()
        assert list(summary.items) == summary.order() and len(summary.items) <= summary.m
        assert sum(count for count, _ in summary.items.values()) <= summary.total
        return summary

    def order(self):
        return sorted(self.items, key=lambda key: (-self.items[key][0], key))

    def add(self, key, count=1):
        key = key.encode()
        self.total += count
        if key in self.items:
            old, error = self.items[key]
        elif len(self.items) < self.m:
            old = error = 0
        else:
            least = min(self.items, key=lambda k: (self.items[k][0], key_hash(k, self.seed)))
            old = error = self.items.pop(least)[0]
        self.items[key] = (old + count, error)

    def encode(self):
        out = u64(self.seed) + varint(self.m) + varint(self.total) + varint(len(self.items))
        return write_envelope(TOP_K, out + b"".join(
            string(key) + b"".join(map(varint, self.items[key])) for key in self.order()))


def hyper_log_log(keys, p, seed):
    registers = [0] * 2**p
    for h in (key_hash(key, seed) for key in keys):
        zeros = 64 - p - (h % 2**(64 - p)).bit_length()
        registers[h >> (64 - p)] = max(registers[h >> (64 - p)], zeros + 1)
    return write_envelope(HYPER_LOG_LOG, u64(seed) + bytes([p]) + bits((x, 6) for x in registers))


def decode_hyper_log_log(data):
    reader = Reader(HYPER_LOG_LOG, data)
    reader.number(8)
    p = reader.number(1)
    packed = reader.number(2**p * 6 // 8)
    reader.finish()
    registers = [packed >> 6 * i & 63 for i in range(2**p)]
    assert max(registers) <= 65 - p
    return registers


def rice_parameter(values):
    """That with the fewest bits; of equally good ones, the one nearest to the width of the gap."""
    gaps = [b - a for a, b in zip([0] + values, values)]
    width = max(values[-1] // len(values), 1).bit_length() - 1 if values else 0
    return min(range(64),
               key=lambda r: (sum((gap >> r) + 1 + r for gap in gaps), abs(r - width)))


def kmv(keys, k, seed, shift=0):
    hashes = [key_hash(key, seed) for key in keys]
    smallest = sorted({h >> shift for h in sorted(set(hashes))[:k]})
    payload = k_minimum_values(hashes, k, shift, rice_parameter(smallest))
    return write_envelope(K_MINIMUM_VALUES, u64(seed) + payload)


def decode_kmv(data):
    """k, and the hashes."""
    reader = Reader(K_MINIMUM_VALUES, data)
    reader.number(8)
    k, shift, count = reader.varint(), reader.number(1), reader.varint()
    r = reader.number(1) if count else 0
    rest = reader.rest()
    packed, at, value, hashes = int.from_bytes(rest, "little"), 0, 0, []
    for _ in range(count):
        quotient = 0
        while packed >> at & 1:
            quotient, at = quotient + 1, at + 1
        value += quotient << r | packed >> at + 1 & 2**r - 1
        at += 1 + r
        hashes.append(value << shift)
    assert len(rest) == math.ceil(at / 8) and packed >> at == 0 and count <= k
    return k, hashes


ONE_PERMUTATION, INDEPENDENT = 1, 2
NONE = M64


def places(keys, m, method, seed):
    values = [NONE] * m
    for h in (key_hash(key, seed) for key in keys):
        for i in range(m):
            value = min(h if method == ONE_PERMUTATION else splitmix64(h, i), NONE - 1)
            if method == INDEPENDENT or i == upper(value, m):
                values[i] = min(values[i], value)
    return values


def words(values):
    return b"".join(map(u64, values))


def min_hash(keys, m, method, seed):
    return write_envelope(MIN_HASH, u64(seed) + bytes([method]) + varint(m) +
                          words(places(keys, m, method, seed)))


def lsh_index(sets, m, method, seed, bands, rows):
    """`sets` are the keys of each number."""
    out = u64(seed) + bytes([method]) + b"".join(map(varint, (m, bands, rows, len(sets))))
    for number, keys in sorted(sets.items()):
        out += varint(number) + words(places(keys, m, method, seed))
    return write_envelope(LSH_INDEX, out)


def borrowed(values, seed):
    """With a value in each place."""
    m, used = len(values), [j for j, value in enumerate(values) if value != NONE]
    out = []
    for i, value in enumerate(values):
        order = (mix64(seed) + i) & M64
        attempts = (upper(splitmix64(order, t), m) for t in range(256))
        if value == NONE:
            j = next((j for j in attempts if values[j] != NONE), None)
            if j is None:
                j = min(used, key=lambda k: splitmix64(order, 256 + k))
            value = values[j]
        out.append(value)
    return out


def decode_min_hash(data):
    reader = Reader(MIN_HASH, data)
    reader.number(8)
    assert reader.number(1) in (ONE_PERMUTATION, INDEPENDENT)
    values = [reader.number(8) for _ in range(reader.varint())]
    reader.finish()
    return values


def candidate_pairs(data):
    """Of an LSH index."""
    reader = Reader(LSH_INDEX, data)
    seed, _, m = reader.number(8), reader.number(1), reader.varint()
    bands, rows = reader.varint(), reader.varint()
    assert bands * rows <= m
    full = {reader.varint(): borrowed([reader.number(8) for _ in range(m)], seed)
            for _ in range(reader.varint())}
    reader.finish()
    assert list(full) == sorted(full)
    return [(x, y) for x in full for y in full
            if x < y and any(full[x][at:at + rows] == full[y][at:at + rows]
                             for at in range(0, bands * rows, rows))]
