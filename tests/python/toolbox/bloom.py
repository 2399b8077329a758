"""Bloom filters of docs/formats/toolbox.md, written from the document alone."""

from envelope import Reader, key_hash, read_envelope, split_mix64, upper, write_envelope

BLOOM, PARTITIONED = 1, 4
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
