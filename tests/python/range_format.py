# SPDX-License-Identifier: Apache-2.0
"""How the payload of the range family is read, written from docs/formats/range.md alone."""

import functools
from dataclasses import dataclass

from block_frame import INTACT, RIBBON, Block, key_hash, uint
from range_codes import CodeSet
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
    return all(part.may_contain(key) for part in read_range_payload(block).parts)


def range_query_hash(block, h):
    """What a query can know that has the key's hash alone."""
    return all(ribbon_query(part.block, h) for part in read_range_payload(block).parts
               if isinstance(part, RibbonPart) and part.kind == KEYS)


def range_may_contain(block, begin, end):
    """Whether the block may contain a key of [begin, end)."""
    payload = read_range_payload(block)
    if begin >= end or (payload.is_partition and end > payload.bound):
        return True
    if len(end) <= payload.shortest:
        end = end.rstrip(b"\0")
        if begin >= end:
            return False
    if end <= block.smallest:
        return False
    return all(part.may_contain_range(begin, end) for part in payload.parts)
