# SPDX-License-Identifier: Apache-2.0
"""The sketches of the join, written from docs/formats/sketches.md alone and not from the C++ code."""

import math
from fractions import Fraction

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
POLYNOMIALS = dict(zip(range(6, 21), [
    0x43, 0x89, 0x11D, 0x211, 0x409, 0x805, 0x1053, 0x201B, 0x4443, 0x8003, 0x1100B, 0x20009,
    0x40081, 0x80027, 0x100009]))


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & M64
    return x ^ (x >> 31)


def splitmix64(seed, index):
    return mix64(seed + (index + 1) * GOLDEN & M64)


def fold(a, b):
    return (a * b >> 64) ^ (a * b & M64)


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def bits(numbers):
    """(value, width) pairs as bytes, the lowest bit first."""
    all_bits = at = 0
    for value, width in numbers:
        all_bits |= (value & ((1 << width) - 1)) << at
        at += width
    return all_bits.to_bytes((at + 7) // 8, "little")


def hash_for_step(low, high, salt):
    return mix64(fold(low ^ splitmix64(salt, 0), high ^ splitmix64(salt, 1)) ^ low)


def set_sum(hashes, salt):
    total = 0
    for l, r in hashes:
        for i in range(4):
            l, r = r, l ^ fold(r ^ splitmix64(salt, 2 * i), splitmix64(salt, 2 * i + 1) | 1)
        total += l | r << 64
    return varint(len(hashes)) + (total & ((1 << 128) - 1)).to_bytes(16, "little")


def decode_flags(data, count):
    """For ones and lengths below 128."""
    ones = data[0]
    if ones in (0, count):
        return [int(ones > 0)] * count
    assert data[1] == len(data) - 2
    following = list(data[2:])
    p = min(max((2 * ones * 2**32 + count) // (2 * count), 1), 2**32 - 1)

    def next_byte():
        return following.pop(0) if following else 0

    span, code = 2**56 - 1, 0
    for _ in range(7):
        code = code << 8 | next_byte()
    flags = []
    for _ in range(count):
        part = (span >> 32) * p
        flags.append(int(code < part))
        if flags[-1]:
            span = part
        else:
            code -= part
            span -= part
        while span < 2**48:
            span <<= 8
            code = (code << 8 | next_byte()) % 2**56
    assert sum(flags) == ones
    return flags


def sorted_numbers(values, r, extras=None, extra_bits=0):
    if not values:
        return varint(0)
    numbers, previous = [], 0
    for i, value in enumerate(values):
        gap, previous = value - previous, value
        numbers += [((1 << (gap >> r)) - 1, (gap >> r) + 1), (gap, r)]
        if extras:
            numbers.append((extras[i], extra_bits))
    return varint(len(values)) + bytes([r]) + bits(numbers)


def difference_estimator(hashes, m, width):
    counters = [0] * m
    for h in hashes:
        counters[(h >> 32) * m >> 32] += 1 if h & 1 else -1
    return varint(m) + bytes([width]) + bits((c, width) for c in counters)


def k_minimum_values(hashes, k, shift, r):
    smallest = sorted({h >> shift for h in sorted(set(hashes))[:k]})
    return varint(k) + bytes([shift]) + sorted_numbers(smallest, r)


def rateless_symbols_of(identity, limit):
    """The symbols below `limit` that have the key."""
    i, state = 0, mix64(identity ^ 0x5EED0F7AB1E55E75) | 1
    while i < limit:
        yield i
        state = state * 0xDA942042E4DD58B5 & M64
        u = float((state >> 32) + 1)
        i = max(i + 1, math.ceil(math.sqrt((i + 1.0) * (i + 2.0) * 2.0**32 / u + 0.25) - 1.5))


def rateless_cells(hashes, count, id_bits=64, check_bits=8, count_bits=4):
    cells = [[0, 0, 0] for _ in range(count)]
    for h in hashes:
        identity = h & ((1 << id_bits) - 1)
        for i in rateless_symbols_of(identity, count):
            cells[i][0] += identity
            cells[i][1] += mix64((identity + 0x0C4EC40FA11AB1E5) & M64) >> 32
            cells[i][2] += 1
    return varint(0) + varint(count) + bits(
        pair for i, cell in enumerate(cells)
        for pair in zip(cell, (id_bits, check_bits + 8 * (i < 128), count_bits)))


def field_multiply(a, b, k):
    product = 0
    for i in range(k):
        if b >> i & 1:
            product ^= a << i
    for i in range(2 * k - 2, k - 1, -1):
        if product >> i & 1:
            product ^= POLYNOMIALS[k] << (i - k)
    return product


class PinSketch:
    def __init__(self, hashes, k, groups, raw, parity):
        self.k, self.groups, self.raw, self.parity = k, groups, raw, parity
        self.cells = [((h >> 32) * groups >> 32, 1 + ((h & 0xFFFFFFFF) * (2**k - 1) >> 32))
                      for h in hashes]
        self.sizes = {}  # of each level's batches

    def sum_at(self, level, group):
        total = 0
        for u, identity in self.cells:
            if u == group:
                power = identity
                for _ in range(2 * level - 2):
                    power = field_multiply(power, identity, self.k)
                total ^= power
        return total

    def batch(self, level, count):
        sizes = self.sizes.setdefault(level, [])
        b, first = len(sizes), (sizes + [count])[0]
        sizes.append(count)
        sums = [self.sum_at(level, u) for u in range(self.groups)]
        if count >= self.groups:
            return [(s, self.k) for s in sums]
        w = min(count, 128)
        if first > 128:
            w = min(w, math.ceil(Fraction(128 * count, first)))
        symbols = [0] * count
        for u, s in enumerate(sums):
            f = splitmix64(level, u)
            begin = f * (count - w + 1) >> 64
            for i in range(w):
                if i == 0 or splitmix64(f, 2 * b + (i >= 64)) >> (i % 64) & 1:
                    symbols[begin + i] ^= s
        return [(s, self.k) for s in symbols]

    def plan(self):
        return (bytes([self.k]) + varint(self.groups) + bytes([self.raw, len(self.parity)])
                + b"".join(map(varint, self.parity)))

    def sketch(self):
        numbers = [(self.sum_at(j, u), self.k)
                   for u in range(self.groups) for j in range(1, self.raw + 1)]
        for i, count in enumerate(self.parity):
            if count:
                numbers += self.batch(self.raw + 1 + i, count)
        for begin in range(0, self.groups, 64):
            check = 0
            for u, identity in self.cells:
                if begin <= u < begin + 64:
                    check ^= mix64((u << 32 | identity) + GOLDEN & M64) >> 32
            numbers.append((check, 32))
        return bits(numbers)

    def answer(self, request):
        return bits(pair for level, count in request for pair in self.batch(level, count))


class PositionSketch(PinSketch):
    """Of positions whose flag is 1."""

    def __init__(self, flags, k, groups, raw, mean, salt):
        super().__init__([], k, groups, raw, self.parity_of(groups, raw, mean))
        self.mean = mean
        for position, flag in enumerate(flags):
            block = position // groups
            begin = splitmix64(salt, block) * groups >> 64
            if flag:
                self.cells.append(((position + begin) % groups, 1 + block))

    @staticmethod
    def parity_of(groups, raw, mean):
        if groups < 4:
            return []
        weights = [1 << 24]
        for i in range(1, 256):
            weights.append(weights[-1] * mean // (16 * i))
        parity = []
        for level in range(raw + 1, 97):
            needing = 256 * groups * sum(weights[level:]) // sum(weights)
            if needing < 128:
                break
            parity.append(min(groups, (26 * needing // 25 + math.isqrt(256 * needing) + 1279) // 256))
        return parity

    def plan(self):
        return bytes([self.k]) + varint(self.groups) + bytes([self.raw]) + varint(self.mean)
