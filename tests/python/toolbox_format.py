# SPDX-License-Identifier: Apache-2.0
"""The filters, tables and filter trees of docs/formats/toolbox.md, and what all of its types share,
written from the document alone."""

import math
import struct

from sketch_format import splitmix64, varint
from xxh3 import xxh3_64

(BLOOM, SCALABLE_BLOOM, COUNTING_BLOOM, PARTITIONED_BLOOM, CUCKOO, CUCKOO_TABLE, _, COUNT_MIN, TOP_K, _,
 HYPER_LOG_LOG, K_MINIMUM_VALUES, MIN_HASH, LSH_INDEX, FILTER_TREE) = range(1, 16)


def key_hash(key, seed=0):
    return xxh3_64(key.encode() if isinstance(key, str) else key, seed)


def upper(x, n):
    """H(x, n)"""
    return x * n >> 64


def u64(x):
    return x.to_bytes(8, "little")


def write_envelope(kind, payload):
    head = b"RSTB" + bytes([1, kind]) + u64(len(payload)) + payload
    return head + u64(key_hash(head))


class Reader:
    def __init__(self, kind, data):
        assert data[:6] == b"RSTB" + bytes([1, kind]) and data[6:14] == u64(len(data) - 22)
        assert data[-8:] == u64(key_hash(data[:-8]))
        self.data, self.at = data[14:-8], 0

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

    def string(self):
        return self.bytes(self.varint())

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def finish(self):
        assert self.at == len(self.data)


# Bloom filters.

DOUBLE, ENHANCED, INDEPENDENT = 0, 1, 2


def positions(h, m, k, hashing, partitioned=False):
    n = m // k if partitioned else m
    a, b = upper(splitmix64(h, 0), n), upper(splitmix64(h, 1), n)
    for i in range(k):
        if hashing == INDEPENDENT:
            at = upper(splitmix64(h, i), n)
        else:
            at = (a + i * b + (i**3 - i) // 6 * (hashing == ENHANCED)) % n
        yield i * n * partitioned + at


def set_bits(bits, where):
    for at in where:
        bits[at // 8] |= 1 << at % 8


def has_bits(bits, where):
    return all(bits[at // 8] >> at % 8 & 1 for at in where)


def bloom(keys, m, k, hashing, seed, partitioned=False):
    bits = bytearray((m + 7) // 8)
    for key in keys:
        set_bits(bits, positions(key_hash(key, seed), m, k, hashing, partitioned))
    return write_envelope(PARTITIONED_BLOOM if partitioned else BLOOM,
                          struct.pack("<QBBQ", m, k, hashing, seed) + bits)


class Bloom:
    def __init__(self, data):
        reader = Reader(data[5], data)
        m, k, hashing, self.seed = struct.unpack("<QBBQ", reader.bytes(18))
        self.options = m, k, hashing, {BLOOM: False, PARTITIONED_BLOOM: True}[data[5]]
        self.bits = reader.bytes((m + 7) // 8)
        reader.finish()

    def may_contain(self, key):
        return has_bits(self.bits, positions(key_hash(key, self.seed), *self.options))


def counting_bloom(keys, m, k, hashing, seed, w):
    counters = [0] * (m + (m * w % 8 != 0))
    for key in keys:
        for at in set(positions(key_hash(key, seed), m, k, hashing)):
            counters[at] = min(counters[at] + 1, 2**w - 1)
    if w == 4:
        counters = [low | high << 4 for low, high in zip(counters[::2], counters[1::2])]
    return write_envelope(COUNTING_BLOOM,
                          struct.pack("<QBBQB", m, k, hashing, seed, w) + bytes(counters))


class CountingBloom:
    def __init__(self, data):
        reader = Reader(COUNTING_BLOOM, data)
        *self.options, self.seed, w = struct.unpack("<QBBQB", reader.bytes(19))
        data = reader.bytes((self.options[0] * w + 7) // 8)
        reader.finish()
        self.counters = data if w == 8 else [half for byte in data for half in (byte & 15, byte >> 4)]

    def count(self, key):
        return min(self.counters[at] for at in positions(key_hash(key, self.seed), *self.options))


class ScalableBloom:
    def __init__(self, n, rate, growth, tightening, seed):
        self.options = n, rate, growth, tightening, seed
        self.layers = []  # (m, k, bits)

    @classmethod
    def decode(cls, data):
        reader = Reader(SCALABLE_BLOOM, data)
        *options, layers = struct.unpack("<QdBdQB", reader.bytes(34))
        made = cls(*options)
        for i in range(layers):
            m, k = reader.number(8), reader.number(1)
            assert (m, k) == made.layer_sizes(i)
            made.layers.append((m, k, reader.bytes((m + 7) // 8)))
        reader.finish()
        return made

    def layer_rate(self, i):
        _, rate, _, tightening, _ = self.options
        return rate * (1 - tightening) * tightening**i

    def layer_sizes(self, i):
        n, _, growth, _, _ = self.options
        n, p = n * growth**i, self.layer_rate(i)
        n = int(n + math.sqrt(n))
        low = min(max(int(-math.log2(p)), 1), 64)
        bits, k = min((-k * n / math.log1p(-p**(1 / k)), k) for k in (low, min(low + 1, 64)))
        return math.ceil(bits), k

    def where(self, key, layer):
        return positions(key_hash(key, self.options[-1]), *layer[:2], INDEPENDENT)

    def may_contain(self, key):
        return any(has_bits(layer[2], self.where(key, layer)) for layer in self.layers)

    def add(self, key):
        if self.may_contain(key):
            return
        if self.layers:
            m, k, bits = self.layers[-1]
            ones, rate = sum(map(int.bit_count, bits)), self.layer_rate(len(self.layers) - 1)
        if not self.layers or ones > int(rate**(1 / k) * m) - k:
            m, k = self.layer_sizes(len(self.layers))
            self.layers.append((m, k, bytearray((m + 7) // 8)))
        set_bits(self.layers[-1][2], self.where(key, self.layers[-1]))

    def encode(self):
        return write_envelope(SCALABLE_BLOOM, b"".join(
            [struct.pack("<QdBdQB", *self.options, len(self.layers)),
             *(struct.pack("<QB", m, k) + bits for m, k, bits in self.layers)]))


# Cuckoo filters and tables of keys.

class CuckooFilter:
    """Its slots, bucket by bucket."""

    def __init__(self, data):
        reader = Reader(CUCKOO, data)
        self.m, self.f, self.seed = struct.unpack("<QBQ", reader.bytes(17))
        packed, count = reader.rest(), 4 * self.m
        whole = int.from_bytes(packed, "little")
        assert len(packed) == (count * self.f + 7) // 8 and whole >> count * self.f == 0
        self.slots = [whole >> i * self.f & (1 << self.f) - 1 for i in range(count)]

    def other_bucket(self, bucket, fingerprint):
        return (upper(splitmix64(0, fingerprint), self.m) - bucket) % self.m

    def entry_at(self, bucket, fingerprint):
        """Fingerprint, and both buckets, the smaller one first."""
        return fingerprint, *sorted([bucket, self.other_bucket(bucket, fingerprint)])

    def entry(self, key):
        h = key_hash(key, self.seed)
        return self.entry_at(upper(h, self.m), 1 + ((h & 0xFFFFFFFF) * ((1 << self.f) - 1) >> 32))

    def entries(self):
        """What it holds, wherever it stands."""
        return sorted(self.entry_at(i // 4, fingerprint)
                      for i, fingerprint in enumerate(self.slots) if fingerprint)


def string(data):
    return varint(len(data)) + data


def cuckoo_table(keys, seed):
    keys = sorted({key.encode() for key in keys})
    return write_envelope(CUCKOO_TABLE, u64(seed) + varint(len(keys)) + b"".join(map(string, keys)))


# Nodes of filter trees.

HAS_PARENT, KNOWS_SIBLINGS, ALL_UNPUBLISHED = 1, 2, 4


def filter_tree_node(number, flags, parent, keys, below, neighbours, unpublished, options):
    """Below and neighbours: number -> keys; options of bloom(). Of siblings and children the filters
    are made here, and so is that of the subtree."""
    out = varint(number) + bytes([flags]) + (varint(parent) if flags & HAS_PARENT else b"")
    out += string(bloom(keys + [key for child in below.values() for key in child], *options))
    for side in (below, neighbours):
        out += varint(len(side)) + b"".join(
            varint(n) + string(bloom(keys_of, *options)) for n, keys_of in sorted(side.items()))
    out += string(cuckoo_table(keys, 0)) + varint(len(unpublished))
    return write_envelope(FILTER_TREE, out + b"".join(map(u64, unpublished)))


class FilterTreeNode:
    def __init__(self, data):
        reader = Reader(FILTER_TREE, data)
        self.number, flags = reader.varint(), reader.number(1)
        self.parent = reader.varint() if flags & HAS_PARENT else None
        self.subtree = Bloom(reader.string())
        self.children, self.siblings = (
            {reader.varint(): Bloom(reader.string()) for _ in range(reader.varint())} for _ in range(2))
        table = Reader(CUCKOO_TABLE, reader.string())
        table.number(8)
        self.keys = [table.string().decode() for _ in range(table.varint())]
        self.unpublished = [reader.number(8) for _ in range(reader.varint())]
        reader.finish()
        table.finish()
