# SPDX-License-Identifier: Apache-2.0
"""The set of codes in a range filter, written from docs/formats/range.md alone."""

import math
from dataclasses import dataclass

from block_frame import bits, uint
from xxh3 import MASK64

HEAD = 16
BUCKETS_PER_GROUP = 32
MAX_LOW_BITS = 50
MAX_DEVIATION_BITS = 25
MAX_UNIVERSE = 2**62


class CodeSet:
    """Of a payload; `ok` is false, and all else undefined, if it is damaged."""

    def __init__(self, payload):
        self.ok = self._parse(payload)

    def _parse(self, payload):
        if len(payload) < HEAD:
            return False
        self.buckets, self.codes = uint(payload, 0, 4), uint(payload, 4, 4)
        self.units, self.low_bits, deviation_bits = uint(payload, 8, 2), payload[10], payload[11]
        least = int.from_bytes(payload[12:16], "little", signed=True)
        if (self.buckets == 0 or self.units < 2 or self.low_bits > MAX_LOW_BITS
                or deviation_bits > MAX_DEVIATION_BITS):
            return False
        self.universe = self.buckets * self.units << self.low_bits
        groups = (self.buckets + BUCKETS_PER_GROUP - 1) // BUCKETS_PER_GROUP
        deviations_at = HEAD + 4 * (groups + 1)
        data_at = deviations_at + ((self.buckets + 1) * deviation_bits + 7) // 8
        if self.universe > MAX_UNIVERSE or data_at > len(payload):
            return False
        ends = [uint(payload, HEAD + 4 * g, 4) for g in range(groups + 1)]
        if ends[-1] != len(payload) - data_at:
            return False
        packed = int.from_bytes(payload[deviations_at:data_at], "little")
        self.data = int.from_bytes(payload[data_at:], "little")
        self.begins = []
        for i in range(self.buckets + 1):
            group, r = divmod(i, BUCKETS_PER_GROUP)
            begin = 8 * ends[group]
            if r > 0:
                last_group = group == groups - 1
                size = self.buckets - BUCKETS_PER_GROUP * group if last_group else BUCKETS_PER_GROUP
                product = 8 * (ends[group + 1] - ends[group]) * r & MASK64
                begin += product // size + bits(packed, i * deviation_bits, deviation_bits) + least
                begin &= MASK64
            if begin > 8 * ends[-1] or (self.begins and begin < self.begins[-1]):
                return False
            self.begins.append(begin)
        return True

    def codes_of(self, bucket):
        """In the order in which they are stored."""
        at, end = self.begins[bucket], self.begins[bucket + 1]
        low_at, value = end, bucket * self.units << self.low_bits
        while at < end:
            rest = bits(self.data, at, end - at)
            if rest == 0:
                return
            zeros = (rest & -rest).bit_length() - 1
            at += zeros + 1
            if at + self.low_bits > low_at:
                return
            low_at -= self.low_bits
            value += (zeros << self.low_bits) + bits(self.data, low_at, self.low_bits)
            yield value & MASK64

    def any_between(self, first, last):
        width = self.units << self.low_bits
        for bucket in range(first // width, self.buckets):
            if bucket * width > last:
                return False
            for code in self.codes_of(bucket):
                if code >= first:
                    return code <= last
        return False


def low_bits_for(log2_gap):
    return max(0, math.floor(log2_gap - math.log2(1.04)))


def bits_per_code_for(log2_gap):
    y = math.exp2(log2_gap - low_bits_for(log2_gap))
    return log2_gap + (1 + 1 / math.expm1(1 / y) - math.log2(y)) + 0.2


def log2_gap_for(bits_per_code):
    low, high = 1.0, 44.0
    for _ in range(30):
        middle = (low + high) / 2
        if bits_per_code_for(middle) <= bits_per_code:
            low = middle
        else:
            high = middle
    return low


@dataclass
class Layout:
    buckets: int
    units: int
    low_bits: int

    @property
    def universe(self):
        return self.buckets * self.units << self.low_bits


def code_layout(universe, count):
    low_bits = low_bits_for(math.log2(universe / count))
    unit = math.ldexp(1, low_bits)
    units = int(min(max(64 * universe / count / unit, 2), 65535))
    return Layout(math.ceil(math.ceil(universe / unit) / units), units, low_bits)


def codes_payload(codes, layout):
    """Of sorted distinct codes."""
    width, k = layout.units << layout.low_bits, layout.low_bits
    gaps = [[] for _ in range(layout.buckets)]
    last = bucket = None
    for code in codes:
        if code // width != bucket:
            bucket = code // width
            last = bucket * width
        gaps[bucket].append(code - last)
        last = code
    sizes = [sum((gap >> k) + 1 + k for gap in of_bucket) for of_bucket in gaps]

    ends, begins, deviations = [0], [], []
    for first in range(0, layout.buckets, BUCKETS_PER_GROUP):
        group = sizes[first:first + BUCKETS_PER_GROUP]
        group_bytes = (sum(group) + 7) // 8
        at = 0
        for r, size in enumerate(group):
            begins.append(8 * ends[-1] + at)
            deviations.append(at - 8 * group_bytes * r // len(group))
            at += size
        ends.append(ends[-1] + group_bytes)
    begins.append(8 * ends[-1])
    deviations.append(0)
    least = min(deviations)
    e = (max(deviations) - least).bit_length()

    data = 0
    for bucket, of_bucket in enumerate(gaps):
        at, low_at = begins[bucket], begins[bucket + 1]
        for gap in of_bucket:
            at += gap >> k
            low_at -= k
            data |= 1 << at | bits(gap, 0, k) << low_at
            at += 1
    packed = sum(deviation - least << i * e for i, deviation in enumerate(deviations))
    payload = layout.buckets.to_bytes(4, "little") + len(codes).to_bytes(4, "little")
    payload += layout.units.to_bytes(2, "little") + bytes([k, e])
    payload += least.to_bytes(4, "little", signed=True)
    payload += b"".join(end.to_bytes(4, "little") for end in ends)
    payload += packed.to_bytes((e * len(deviations) + 7) // 8, "little")
    return payload + data.to_bytes(ends[-1], "little")
