# SPDX-License-Identifier: Apache-2.0
"""Bloom filters of all kinds of docs/formats/toolbox.md, written from the document alone."""

import math
import struct

from envelope import Reader, key_hash, read_envelope, split_mix64, upper, write_envelope

BLOOM, SCALABLE, COUNTING, PARTITIONED = 1, 2, 3, 4
DOUBLE, ENHANCED, INDEPENDENT = 0, 1, 2


def positions(h, m, k, hashing, partitioned):
    n = m // k if partitioned else m
    a, b = upper(split_mix64(h, 0), n), upper(split_mix64(h, 1), n)
    for i in range(k):
        if hashing == INDEPENDENT:
            at = upper(split_mix64(h, i), n)
        else:
            at = (a + i * b + (i**3 - i) // 6 * (hashing == ENHANCED)) % n
        yield i * n * partitioned + at


def options(m, k, hashing, seed):
    return m.to_bytes(8, "little") + bytes([k, hashing]) + seed.to_bytes(8, "little")


def encode(keys, m, k, hashing, seed, partitioned=False):
    bits = bytearray((m + 7) // 8)
    for key in keys:
        for at in positions(key_hash(key, seed), m, k, hashing, partitioned):
            bits[at // 8] |= 1 << at % 8
    kind = PARTITIONED if partitioned else BLOOM
    return write_envelope(kind, options(m, k, hashing, seed) + bytes(bits))


class Decoded:
    def __init__(self, data):
        self.partitioned = data[5] == PARTITIONED
        reader = Reader(read_envelope(PARTITIONED if self.partitioned else BLOOM, data))
        self.m, self.k, self.hashing = reader.number(8), reader.number(1), reader.number(1)
        self.seed = reader.number(8)
        self.bits = reader.bytes((self.m + 7) // 8)
        assert reader.finished()

    def may_contain(self, key):
        where = positions(key_hash(key, self.seed), self.m, self.k, self.hashing, self.partitioned)
        return all(self.bits[at // 8] >> at % 8 & 1 for at in where)


def encode_counting(keys, m, k, hashing, seed, w):
    counters = [0] * (m + (m * w % 8 != 0))
    for key in keys:
        for at in set(positions(key_hash(key, seed), m, k, hashing, False)):
            counters[at] = min(counters[at] + 1, 2**w - 1)
    if w == 4:
        counters = [low | high << 4 for low, high in zip(counters[::2], counters[1::2])]
    return write_envelope(COUNTING, options(m, k, hashing, seed) + bytes([w]) + bytes(counters))


class DecodedCounting:
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


class Layer:
    def __init__(self, m, k):
        self.m, self.k, self.bits = m, k, bytearray((m + 7) // 8)

    def where(self, h):
        return list(positions(h, self.m, self.k, INDEPENDENT, False))

    def has(self, h):
        return all(self.bits[at // 8] >> at % 8 & 1 for at in self.where(h))


class Scalable:
    def __init__(self, n, rate, growth, tightening, seed):
        self.n, self.rate, self.growth, self.tightening = n, rate, growth, tightening
        self.seed, self.layers = seed, []

    def layer_rate(self, i):
        return self.rate * (1 - self.tightening) * self.tightening**i

    def layer_sizes(self, i):
        n, p = self.n * self.growth**i, self.layer_rate(i)
        n = int(n + math.sqrt(n))
        low = min(max(int(-math.log2(p)), 1), 64)
        bits, k = min((-k * n / math.log1p(-p**(1 / k)), k) for k in (low, min(low + 1, 64)))
        return math.ceil(bits), k

    def may_contain(self, key):
        return any(layer.has(key_hash(key, self.seed)) for layer in self.layers)

    def add(self, key):
        if self.may_contain(key):
            return
        if self.layers:
            last, rate = self.layers[-1], self.layer_rate(len(self.layers) - 1)
            ones = sum(bin(byte).count("1") for byte in last.bits)
        if not self.layers or ones > int(rate**(1 / last.k) * last.m) - last.k:
            self.layers.append(Layer(*self.layer_sizes(len(self.layers))))
        for at in self.layers[-1].where(key_hash(key, self.seed)):
            self.layers[-1].bits[at // 8] |= 1 << at % 8

    def encode(self):
        payload = struct.pack("<QdBdQB", self.n, self.rate, self.growth, self.tightening,
                              self.seed, len(self.layers))
        for layer in self.layers:
            payload += struct.pack("<QB", layer.m, layer.k) + bytes(layer.bits)
        return write_envelope(SCALABLE, payload)


def decode_scalable(data):
    reader = Reader(read_envelope(SCALABLE, data))
    *options, layers = struct.unpack("<QdBdQB", reader.bytes(34))
    filter_ = Scalable(*options)
    for i in range(layers):
        layer = Layer(reader.number(8), reader.number(1))
        assert (layer.m, layer.k) == filter_.layer_sizes(i)
        layer.bits = reader.bytes((layer.m + 7) // 8)
        filter_.layers.append(layer)
    assert reader.finished()
    return filter_
