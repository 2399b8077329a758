# SPDX-License-Identifier: Apache-2.0
"""The payload of the range family, written from docs/formats/range.md alone."""

import functools
import math
from dataclasses import dataclass
from typing import Optional

from block_frame import (
    INTACT, RANGE, RIBBON, Block, encode_block, frame_discount, key_hash, uint)
from range_codes import CodeSet, code_layout, codes_payload, log2_gap_for
from ribbon_format import ribbon_of_budget, ribbon_payload_ok, ribbon_query, ribbon_slot_budget
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


@dataclass(frozen=True)
class RangeOptions:
    prefixes: tuple = ()
    order: Optional[int] = None
    is_partition: bool = False

    def spec_text(self):
        text = "".join(f"-{length}" for length in self.prefixes)
        text = f":prefixes{text}" if text else ""
        return text + ("" if self.order is None else f":order-{self.order}")


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


# Building.

@dataclass
class _Plan:
    kind: int
    depth: int
    entries: int
    bits: float = 0


def charged(budget, charge):
    return budget - min(charge, 0.03 * budget)


def common_bytes(a, b):
    size = 0
    while size < min(len(a), len(b)) and a[size] == b[size]:
        size += 1
    return size


class KeyList:
    """Distinct keys in their order, and what each has in common with the one before."""

    def __init__(self, keys):
        self.keys = sorted(set(keys))
        self.shared = [0] + [common_bytes(a, b) for a, b in zip(self.keys, self.keys[1:])]
        self.common = common_bytes(self.keys[0], self.keys[-1])
        self.lengths = [len(key) for key in self.keys]

    def distinct(self, depth):
        return 1 + sum(shared < depth for shared in self.shared[1:])


def lengths_from_keys(keys, below):
    lengths = []
    count, common = len(keys.keys), keys.common
    for q in (0.015, 0.05, 0.15):
        t = min(below - 1, MAX_DEPTH)
        while t > common and keys.distinct(t) > q * count:
            t -= 1
        while t > common + 1 and keys.distinct(t - 1) > 0.97 * keys.distinct(t):
            t -= 1
        is_full = t - common < 7 and keys.distinct(t) > 0.3 * math.ldexp(1, 8 * (t - common))
        if t > common and not is_full and (not lengths or lengths[-1] < t):
            lengths.append(t)
    return lengths


def which_parts(keys, options):
    shortest, longest = min(keys.lengths), max(keys.lengths)
    order = options.order
    if order is None:
        order = longest if shortest == longest <= MAX_DEPTH else 0
    has_keys = order == 0 or order < longest
    lengths = [length for length in options.prefixes if has_keys or length < order]
    if not options.prefixes and longest > 0:
        lengths = lengths_from_keys(keys, order if order > 0 else longest)
    plans = [_Plan(PREFIXES, length, keys.distinct(length)) for length in lengths]
    if order > 0:
        plans.append(_Plan(ORDER, order, keys.distinct(order)))
    if has_keys:
        plans.append(_Plan(KEYS, 0, len(keys.keys)))
    return plans


def share_out(plans, count, budget):
    """Fills in the bits of all parts; those of the last do not matter."""
    weights = {PREFIXES: 0.5, ORDER: 16, KEYS: 1}

    def taken(level):
        total = 0
        for plan in plans:
            width = level + math.log2(weights[plan.kind] * count / plan.entries)
            width = min(max(width, 1), 30)
            if plan.kind == ORDER:
                width += width + 1.6 - log2_gap_for(width + 1.6)
            plan.bits = width * plan.entries
            total += plan.bits
        return total

    low, high = -40.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        if taken(middle) <= budget:
            low = middle
        else:
            high = middle
    taken(low)


def ribbon_part(hashes, share, thorough):
    """The parameter, the entries, and the bytes."""
    hashes = [h for i, h in enumerate(hashes) if i == 0 or h != hashes[i - 1]]
    count = len(hashes)
    budget = min(max(share / count, 1), 32) * count
    parameter, payload = ribbon_of_budget(hashes, ribbon_slot_budget(count, budget), thorough)
    return parameter, count, payload


def exact_order(keys, plan, salt):
    first, last = keys.keys[0], keys.keys[-1]
    if lead_of(first, plan.depth) != lead_of(last, plan.depth):
        return None
    first_number = number_of(first, plan.depth)
    span = number_of(last, plan.depth) - first_number
    room = math.exp2(log2_gap_for(plan.bits / plan.entries)) * plan.entries
    if float(span) >= room or span >= 2**61:
        return None
    codes = sorted({number_of(key, plan.depth) - first_number for key in keys.keys})
    layout = code_layout(float(span + 1), len(codes))
    width = layout.units << layout.low_bits
    per_bucket = {}
    for code in codes:
        per_bucket[code // width] = per_bucket.get(code // width, 0) + 1
    if max(per_bucket.values()) > 1024:
        return None
    lead_hash = cut_hash(first, lead_bytes(plan.depth), salt)
    head = b"".join(x.to_bytes(8, "little") for x in (0, lead_hash, first_number))
    return head + codes_payload(codes, layout)


def hashed_order(keys, plan, salt):
    places = {place_of(cut_hash(key, lead_bytes(plan.depth), salt), number_of(key, plan.depth))
              for key in keys.keys}
    count = len(places)
    budget = charged(plan.bits - 8 * ORDER_HEAD, 192)
    gap = log2_gap_for(budget / count)
    for step in range(7):
        layout = code_layout(max(math.exp2(gap) * count, 512.0), count)
        codes = sorted({code_of(place, layout.universe) for place in places})
        payload = codes_payload(codes, layout)
        over = (8 * len(payload) - 192 - budget) / count
        if -0.02 < over <= 0 or step == 6 or gap <= 1 or gap >= 44 or count < 64:
            break
        gap = min(max(gap - over - 0.005, 1.0), 44.0)
    return BLOCK_BITS.to_bytes(8, "little") + bytes(16) + payload


def made_part(keys, plan, salt, thorough):
    """The parameter, the entries, and the bytes."""
    if plan.kind == ORDER:
        return 0, plan.entries, exact_order(keys, plan, salt) or hashed_order(keys, plan, salt)
    if plan.kind == KEYS:
        hashes = [xxh3_64(key, salt) for key in keys.keys]
    else:
        hashes = [cut_hash(key, plan.depth, salt)
                  for i, (key, shared) in enumerate(zip(keys.keys, keys.shared))
                  if i == 0 or shared < plan.depth]
    return ribbon_part(hashes, plan.bits, thorough)


def range_payload(keys, budget, salt, thorough, options):
    keys = KeyList(keys)
    bound = b""
    if options.is_partition:
        bound = keys.keys[-1][:min(keys.common + 24, MAX_DEPTH)]
    plans = which_parts(keys, options)
    left = charged(budget, 8 * (HEAD + DESCRIPTION * len(plans) + len(bound)))
    share_out(plans, len(keys.keys), left)
    head = bytes([len(plans), int(options.is_partition), len(bound),
                  min(min(keys.lengths), MAX_DEPTH)])
    parts = b""
    for plan in plans:
        if plan is plans[-1]:
            plan.bits = max(left, 1)
        parameter, entries, data = made_part(keys, plan, salt, thorough)
        head += bytes([plan.kind, plan.depth, parameter, 0])
        head += len(data).to_bytes(4, "little") + entries.to_bytes(8, "little")
        parts += data
        left -= 8 * len(data)
    return len(plans), head + bound + parts


def encode_range(keys, bits_per_key, salt=None, thorough=False, options=RangeOptions(), rate=None):
    """With a `rate`, bits_per_key means nothing."""
    keys = set(keys)
    if not keys:
        return encode_block(RANGE, 0, 0, b"", salt, keys)
    count = len(keys)
    if rate is None:
        budget = bits_per_key * count
        budget = (budget - frame_discount(budget, salt)) / count * count
    else:
        budget = (math.log2(1 / rate) + 2) * count
    parameter, payload = range_payload(keys, budget, salt or 0, thorough, options)
    return encode_block(RANGE, parameter, count, payload, salt, keys)
