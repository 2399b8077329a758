"""Scalable Bloom filters of docs/formats/toolbox.md, written from the document alone."""

import math
import struct

from bloom import INDEPENDENT, positions
from envelope import Reader, key_hash, read_envelope, write_envelope

SCALABLE = 2


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


def decode(data):
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
