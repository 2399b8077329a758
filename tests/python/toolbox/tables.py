# SPDX-License-Identifier: Apache-2.0
"""Cuckoo filters, cuckoo hash tables and hash compaction of docs/formats/toolbox.md, written from
the document alone."""

from envelope import Reader, key_hash, read_envelope, split_mix64, upper, varint, write_envelope

CUCKOO, CUCKOO_TABLE, HASH_COMPACTION = 5, 6, 7
SLOTS_PER_BUCKET = 4


def pack(values, width):
    whole = sum(value << i * width for i, value in enumerate(values))
    return whole.to_bytes((len(values) * width + 7) // 8, "little")


def unpack(data, count, width):
    whole = int.from_bytes(data, "little")
    assert len(data) == (count * width + 7) // 8 and whole >> count * width == 0
    return [whole >> i * width & (1 << width) - 1 for i in range(count)]


def head(count, width, seed):
    return count.to_bytes(8, "little") + bytes([width]) + seed.to_bytes(8, "little")


class CuckooFilter:
    """Its slots, bucket by bucket."""

    def __init__(self, data):
        reader = Reader(read_envelope(CUCKOO, data))
        self.m, self.f, self.seed = reader.number(8), reader.number(1), reader.number(8)
        self.slots = unpack(reader.bytes(len(reader.data) - reader.at), 4 * self.m, self.f)

    def other_bucket(self, bucket, fingerprint):
        return (upper(split_mix64(0, fingerprint), self.m) - bucket) % self.m

    def entry(self, key):
        """Fingerprint, and both buckets, the smaller one first."""
        h = key_hash(key, self.seed)
        fingerprint = 1 + ((h & 0xFFFFFFFF) * ((1 << self.f) - 1) >> 32)
        bucket = upper(h, self.m)
        return fingerprint, *sorted([bucket, self.other_bucket(bucket, fingerprint)])

    def entries(self):
        """What it holds, wherever it stands."""
        return sorted((fingerprint, *sorted([i // 4, self.other_bucket(i // 4, fingerprint)]))
                      for i, fingerprint in enumerate(self.slots) if fingerprint)


def cuckoo_table(keys, seed):
    keys = sorted({key.encode() for key in keys})
    return write_envelope(CUCKOO_TABLE, seed.to_bytes(8, "little") + varint(len(keys)) + b"".join(
        varint(len(key)) + key for key in keys))


def is_prime(n):
    return n >= 2 and all(n % i for i in range(2, int(n**0.5) + 1))


class HashCompaction:
    def __init__(self, m, w, seed):
        assert is_prime(m)
        self.m, self.w, self.seed, self.slots = m, w, seed, [0] * m

    def find(self, key):
        """Slot and value: that of the key, or an empty one."""
        h = key_hash(key, self.seed)
        slot, step = upper(h, self.m), 1 + upper(split_mix64(h, 1), self.m - 1)
        value = 1 + upper(split_mix64(h, 0), (1 << self.w) - 1)
        while self.slots[slot] not in (0, value):
            slot = (slot + step) % self.m
        return slot, value

    def add(self, key):
        slot, value = self.find(key)
        self.slots[slot] = value

    def may_contain(self, key):
        return self.slots[self.find(key)[0]] != 0

    def encode(self):
        return write_envelope(HASH_COMPACTION,
                           head(self.m, self.w, self.seed) + pack(self.slots, self.w))


def decode_hash_compaction(data):
    reader = Reader(read_envelope(HASH_COMPACTION, data))
    table = HashCompaction(reader.number(8), reader.number(1), reader.number(8))
    table.slots = unpack(reader.bytes(len(reader.data) - reader.at), table.m, table.w)
    assert 0 in table.slots
    return table
