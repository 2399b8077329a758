# SPDX-License-Identifier: Apache-2.0
"""Count-min sketches and top-k summaries of docs/formats/toolbox.md, written from the document
alone."""

from envelope import Reader, key_hash, read_envelope, split_mix64, upper, varint, write_envelope

COUNT_MIN, TOP_K = 8, 9


class CountMin:
    def __init__(self, w, d, seed, conservative):
        self.w, self.d, self.seed, self.conservative = w, d, seed, conservative
        self.total, self.rows = 0, [[0] * w for _ in range(d)]

    @classmethod
    def decode(cls, data):
        reader = Reader(read_envelope(COUNT_MIN, data))
        seed, conservative = reader.number(8), reader.number(1)
        sketch = cls(reader.varint(), reader.varint(), seed, conservative)
        sketch.total = reader.varint()
        sketch.rows = [[reader.varint() for _ in range(sketch.w)] for _ in range(sketch.d)]
        assert reader.finished() and conservative in (0, 1)
        for row in sketch.rows:
            assert sum(row) <= sketch.total if conservative else sum(row) == sketch.total
        return sketch

    def places(self, key):
        h = key_hash(key, self.seed)
        return [upper(split_mix64(h, i), self.w) for i in range(self.d)]

    def count(self, key):
        return min(row[at] for row, at in zip(self.rows, self.places(key)))

    def add(self, key, count=1):
        enough = self.count(key) + count
        self.total += count
        for row, at in zip(self.rows, self.places(key)):
            row[at] = max(row[at], enough) if self.conservative else row[at] + count

    def encode(self):
        head = self.seed.to_bytes(8, "little") + bytes([self.conservative])
        numbers = [self.w, self.d, self.total] + [cell for row in self.rows for cell in row]
        return write_envelope(COUNT_MIN, head + b"".join(map(varint, numbers)))


class TopK:
    def __init__(self, m, seed):
        self.m, self.seed, self.total = m, seed, 0
        self.items = {}  # (count, error) of each key

    @classmethod
    def decode(cls, data):
        reader = Reader(read_envelope(TOP_K, data))
        seed = reader.number(8)
        summary = cls(reader.varint(), seed)
        summary.total = reader.varint()
        order = []
        for _ in range(reader.varint()):
            key = reader.bytes(reader.varint())
            count, error = reader.varint(), reader.varint()
            summary.items[key] = (count, error)
            order.append((-count, key))
        assert reader.finished() and order == sorted(set(order)) and len(order) <= summary.m
        assert sum(count for count, _ in summary.items.values()) <= summary.total
        return summary

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
        out = self.seed.to_bytes(8, "little")
        out += varint(self.m) + varint(self.total) + varint(len(self.items))
        for key, (count, error) in sorted(self.items.items(), key=lambda i: (-i[1][0], i[0])):
            out += varint(len(key)) + key + varint(count) + varint(error)
        return write_envelope(TOP_K, out)
