# SPDX-License-Identifier: Apache-2.0
"""Cuckoo filters and tables of keys of docs/formats/toolbox.md, written from the document alone."""

from envelope import Reader, key_hash, read_envelope, split_mix64, upper, varint, write_envelope

CUCKOO, CUCKOO_TABLE = 5, 6
SLOTS_PER_BUCKET = 4


def unpack(data, count, width):
    whole = int.from_bytes(data, "little")
    assert len(data) == (count * width + 7) // 8 and whole >> count * width == 0
    return [whole >> i * width & (1 << width) - 1 for i in range(count)]


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
