# SPDX-License-Identifier: Apache-2.0
"""The set of codes in a range filter, and how the payload of the family is read, written from
docs/formats/range.md alone."""

import functools
import math
from dataclasses import dataclass

from block_frame import INTACT, RIBBON, Block, bits, key_hash, uint
from ribbon_format import ribbon_payload_ok, ribbon_query
from xxh3 import MASK64, xxh3_64

PREFIXES, ORDER, KEYS = 1, 2, 3
FLAG_PARTITION = 1
HEAD, DESCRIPTION, ORDER_HEAD = 4, 16, 24
MAX_PARTS = 6
MAX_DEPTH = 255
BLOCK_BITS = 7
BLOCK_VALUES = 128
MOST_CELLS = 4
MOST_BLOCKS = 16


# Cells.

def lead_bytes(depth):
    return max(0, depth - 8)


def cut_hash(key, length, salt):
    return xxh3_64(key[:length].rstrip(b"\0"), (salt + length) & MASK64)


def lead_of(key, depth):
    return key[:lead_bytes(depth)].ljust(lead_bytes(depth), b"\0")


def number_of(key, depth):
    return int.from_bytes(key[:depth].ljust(depth, b"\0")[lead_bytes(depth):], "big")


def span_of(begin, end, depth):
    """The first and the last number, or None."""
    first, v = number_of(begin, depth), number_of(end, depth)
    with_end = len(end) > depth or end[-1] == 0
    lead, end_lead = lead_of(begin, depth), lead_of(end, depth)
    if lead == end_lead:
        last = v if with_end else v - 1
    elif (not with_end and v == 0
          and int.from_bytes(end_lead, "big") == int.from_bytes(lead, "big") + 1):
        last = 2**64 - 1
    else:
        return None
    return (first, last) if first <= last else None


def mixed(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK64
    return x ^ (x >> 31)


def place_of(lead_hash, number):
    p = mixed(lead_hash + (number // BLOCK_VALUES) * 0x9E3779B97F4A7C15 & MASK64)
    return p - p % BLOCK_VALUES + number % BLOCK_VALUES


def code_of(place, universe):
    within = place % BLOCK_VALUES
    return ((place - within) * (universe - BLOCK_VALUES) >> 64) + within


# Sets of codes.

CODES_HEAD = 16
BUCKETS_PER_GROUP = 32
MAX_LOW_BITS = 50
MAX_DEVIATION_BITS = 25
MAX_UNIVERSE = 2**62


class CodeSet:
    """Of a payload; `ok` is false, and all else undefined, if it is damaged."""

    def __init__(self, payload):
        self.ok = self._parse(payload)

    def _parse(self, payload):
        if len(payload) < CODES_HEAD:
            return False
        self.buckets, self.codes = uint(payload, 0, 4), uint(payload, 4, 4)
        self.units, self.low_bits, deviation_bits = uint(payload, 8, 2), payload[10], payload[11]
        least = int.from_bytes(payload[12:16], "little", signed=True)
        if (self.buckets == 0 or self.units < 2 or self.low_bits > MAX_LOW_BITS
                or deviation_bits > MAX_DEVIATION_BITS):
            return False
        self.universe = self.buckets * self.units << self.low_bits
        groups = (self.buckets + BUCKETS_PER_GROUP - 1) // BUCKETS_PER_GROUP
        deviations_at = CODES_HEAD + 4 * (groups + 1)
        data_at = deviations_at + ((self.buckets + 1) * deviation_bits + 7) // 8
        if self.universe > MAX_UNIVERSE or data_at > len(payload):
            return False
        ends = [uint(payload, CODES_HEAD + 4 * g, 4) for g in range(groups + 1)]
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


# Reading.

class RibbonPart:

    def __init__(self, kind, depth, parameter, entries, payload, salt):
        self.kind, self.depth, self.salt = kind, depth, salt
        self.block = Block(INTACT, RIBBON, parameter, entries, salt, payload)

    def ok(self):
        return ribbon_payload_ok(self.block)

    def may_contain(self, key):
        if self.kind == KEYS:
            return ribbon_query(self.block, key_hash(key, self.salt))
        return ribbon_query(self.block, cut_hash(key, self.depth, self.salt))

    def may_contain_range(self, begin, end):
        span = None if self.kind == KEYS else span_of(begin, end, self.depth)
        if span is None or span[1] - span[0] >= MOST_CELLS:
            return True
        lead = lead_of(begin, self.depth)
        return any(self.may_contain(lead + v.to_bytes(self.depth - len(lead), "big"))
                   for v in range(span[0], span[1] + 1))


class OrderPart:

    def __init__(self, depth, payload, salt):
        self.depth, self.salt = depth, salt
        self.codes = CodeSet(payload[ORDER_HEAD:])
        self.block_bits, self.lead_hash, self.first = (uint(payload, at, 8) for at in (0, 8, 16))
        self.is_exact = self.block_bits == 0
        self.is_whole = len(payload) >= ORDER_HEAD

    def ok(self):
        if not self.is_whole or not self.codes.ok:
            return False
        return self.is_exact or (self.block_bits == BLOCK_BITS
                                 and self.codes.universe > BLOCK_VALUES)

    def lead_hash_of(self, key):
        return cut_hash(key, lead_bytes(self.depth), self.salt)

    def any_in(self, key, first, last):
        """Of a span of the lead of `key`."""
        lead_hash = self.lead_hash_of(key)
        if self.is_exact:
            first, last = max(first - self.first, 0), last - self.first
            last = min(last, self.codes.universe - 1)
            return lead_hash == self.lead_hash and first <= last and (
                self.codes.any_between(first, last))
        while first <= last:
            end_of_block = min(last, first // BLOCK_VALUES * BLOCK_VALUES + BLOCK_VALUES - 1)
            code = code_of(place_of(lead_hash, first), self.codes.universe)
            if self.codes.any_between(code, code + end_of_block - first):
                return True
            first = end_of_block + 1
        return False

    def may_contain(self, key):
        number = number_of(key, self.depth)
        return self.any_in(key, number, number)

    def may_contain_range(self, begin, end):
        span = span_of(begin, end, self.depth)
        if span is None:
            return True
        if not self.is_exact and (
                span[1] // BLOCK_VALUES - span[0] // BLOCK_VALUES >= MOST_BLOCKS):
            return True
        return self.any_in(begin, *span)


@dataclass
class RangePayload:
    is_partition: bool
    shortest: int
    bound: bytes
    parts: list

    def kinds(self):
        return [KEYS if isinstance(part, RibbonPart) and part.kind == KEYS else
                ORDER if isinstance(part, OrderPart) else PREFIXES for part in self.parts]


def read_range_payload(block):
    """None if it contradicts itself."""
    return _read_payload(block.payload, block.key_count, block.salt or 0)


@functools.lru_cache(maxsize=4)
def _read_payload(payload, key_count, salt):
    if len(payload) < HEAD:
        return None
    count, flags, bound_size, shortest = payload[:HEAD]
    bound_at = HEAD + DESCRIPTION * count
    at = bound_at + bound_size
    if not 1 <= count <= MAX_PARTS or flags > FLAG_PARTITION or len(payload) < at:
        return None
    parts, kinds = [], []
    for i in range(count):
        description = payload[HEAD + DESCRIPTION * i:HEAD + DESCRIPTION * (i + 1)]
        kind, depth, parameter = description[:3]
        size, entries = uint(description, 4, 4), uint(description, 8, 8)
        if kind not in (PREFIXES, ORDER, KEYS) or (depth == 0) != (kind == KEYS):
            return None
        if entries > key_count or at + size > len(payload):
            return None
        data = payload[at:at + size]
        at += size
        kinds.append(kind)
        parts.append(OrderPart(depth, data, salt) if kind == ORDER else
                     RibbonPart(kind, depth, parameter, entries, data, salt))
    if kinds != sorted(kinds) or kinds.count(ORDER) > 1 or kinds.count(KEYS) > 1:
        return None
    if kinds[-1] == PREFIXES or at != len(payload) or not all(part.ok() for part in parts):
        return None
    return RangePayload(flags == FLAG_PARTITION, shortest,
                        payload[bound_at:bound_at + bound_size], parts)


def range_payload_ok(block):
    return read_range_payload(block) is not None


def range_query(block, key):
    return key == b"" or all(part.may_contain(key) for part in read_range_payload(block).parts)


def range_query_hash(block, h):
    """What a query can know that has the key's hash alone."""
    return all(ribbon_query(part.block, h) for part in read_range_payload(block).parts
               if isinstance(part, RibbonPart) and part.kind == KEYS)


def range_may_contain(block, begin, end):
    """Whether the block may contain a key of [begin, end)."""
    payload = read_range_payload(block)
    if begin == b"" or begin >= end or (payload.is_partition and end > payload.bound):
        return True
    if len(end) <= payload.shortest:
        end = end.rstrip(b"\0")
        if begin >= end:
            return False
    if end <= block.smallest:
        return False
    return all(part.may_contain_range(begin, end) for part in payload.parts)
