# SPDX-License-Identifier: Apache-2.0
"""How the payload of the range family is built, written from docs/formats/range.md alone."""

import math
from dataclasses import dataclass
from typing import Optional

from block_frame import RANGE, common_size, encode_block, frame_discount
from range_format import (
    BLOCK_BITS, DESCRIPTION, HEAD, KEYS, MAX_DEPTH, ORDER, ORDER_HEAD, PREFIXES, code_layout, code_of,
    codes_payload, cut_hash, lead_bytes, lead_of, log2_gap_for, number_of, place_of)
from ribbon_format import ribbon_of_budget, ribbon_slot_budget
from xxh3 import xxh3_64


@dataclass(frozen=True)
class RangeOptions:
    prefixes: tuple = ()
    order: Optional[int] = None
    is_partition: bool = False
    is_ordered: bool = True  # false: the order of keys is not known to be bytewise

    def spec_text(self):
        text = "".join(f"-{length}" for length in self.prefixes)
        text = f":prefixes{text}" if text else ""
        return text + ("" if self.order is None else f":order-{self.order}")


@dataclass
class _Plan:
    kind: int
    depth: int
    entries: int
    bits: float = 0


def charged(budget, charge):
    return budget - min(charge, 0.03 * budget)


class KeyList:
    """Distinct keys in their order, and what each has in common with the one before."""

    def __init__(self, keys):
        self.keys = sorted(set(keys))
        self.shared = [0] + [common_size(a, b) for a, b in zip(self.keys, self.keys[1:])]
        self.common = common_size(self.keys[0], self.keys[-1])
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
    if layout.universe <= span:  # which is no double
        layout.buckets += 1
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
        layout = code_layout(min(max(math.exp2(gap) * count, 512.0), 2.0 ** 61), count)
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


def part_description(kind, depth, parameter, entries, data):
    head = bytes([kind, depth, parameter, 0])
    return head + len(data).to_bytes(4, "little") + entries.to_bytes(8, "little")


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
        head += part_description(plan.kind, plan.depth, parameter, entries, data)
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
    if not options.is_ordered:
        budget = charged(budget, 8 * (HEAD + DESCRIPTION))
        part = made_part(KeyList(keys), _Plan(KEYS, 0, count, budget), salt or 0, thorough)
        payload = bytes([1, 0, 0, 0]) + part_description(KEYS, 0, *part) + part[2]
        return encode_block(RANGE, 1, count, payload, salt, keys)
    parameter, payload = range_payload(keys, budget, salt or 0, thorough, options)
    return encode_block(RANGE, parameter, count, payload, salt, keys)
