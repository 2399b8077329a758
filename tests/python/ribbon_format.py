# SPDX-License-Identifier: Apache-2.0
"""The payload of the ribbon family, written from docs/formats/ribbon.md alone."""

import math
from dataclasses import dataclass

from block_frame import (
    RIBBON, bits, encode_block, frame_discount, has_compact_frame, key_hash, uint,
    without_adjacent_duplicates)
from xxh3 import MASK64

MATCH_ALL, SMALL, GENERAL = "match all", "small", "general"
MAX_SMALL_KEYS = 64
MAX_COLUMNS = 32
MAX_BUCKET_KEYS = 1024
NO_WIDE_GROUPS = 0xFFFFFFFF
MOST_TRIES = 200
MOST_BACKLOG = 32


def ribbon_columns(block):
    low = block.parameter % 64
    return low - 32 if low > 32 else low


def has_compact_head(block):
    return block.parameter % 64 > 32


def reseeded(key_hash_of_block, reseed):
    if reseed == 0:
        return key_hash_of_block
    k = key_hash_of_block
    a = (k ^ (k >> 32) ^ reseed) * 0x9E3779B97F4A7C15 & MASK64
    b = (a ^ (a >> 32)) * 0x9E3779B97F4A7C15 & MASK64
    return b ^ (b >> 32)


def ribbon_fingerprint(h):
    return (h * 0xD6E8FEB86659FD93 & MASK64) >> 32


def ribbon_product(h, length):
    return h * (0x9FB21C651E98DF25 + 2 * length) & MASK64


def parity(x):
    return x.bit_count() % 2


def ribbon_form(block):
    """None if the payload is too short, or the parameter out of its range."""
    columns, size = ribbon_columns(block), len(block.payload)
    if size == 0:
        return MATCH_ALL if block.parameter == 0 else None
    if not 1 <= columns <= MAX_COLUMNS:
        return None
    if has_compact_head(block):
        return None if size < 4 + 8 * columns else GENERAL
    return SMALL if size < 14 + 8 * columns else GENERAL


def small_size(columns, slots):
    return 2 + (columns * slots + 7) // 8


def small_row(h, seed, slots):
    y = (h ^ (seed * 0x9E3779B97F4A7C15 & MASK64)) * 0x9FB21C651E98DF25 & MASK64
    return bits(y ^ (y >> 32), 0, slots)


@dataclass
class RibbonPayload:
    columns: int
    first_wide: int
    offsets: list
    groups: bytes

    def group(self, g):
        """The bytes of a group, one per column."""
        at = ribbon_group_at(g, self.columns, self.first_wide)
        return self.groups[at:ribbon_group_at(g + 1, self.columns, self.first_wide)]


def ribbon_group_at(g, columns, first_wide):
    return g * columns + max(0, g - first_wide)


def read_ribbon_payload(block):
    """Of the general form. None if the payload contradicts itself."""
    payload, columns = block.payload, ribbon_columns(block)
    if has_compact_head(block):
        wide = payload[0] >= 128
        buckets = payload[0] % 128 + 1
        first_wide = uint(payload, 2, 2) if wide else NO_WIDE_GROUPS
        low_at = 4 if wide else 2
        anchors = [-payload[1]]
    else:
        buckets = uint(payload, 0, 4)
        first_wide = uint(payload, 4, 4)
        low_at = 8 + 4 * anchor_count(buckets)
        anchors = [int.from_bytes(payload[at:at + 4], "little", signed=True)
                   for at in range(8, min(low_at, len(payload)), 4)]
    groups_at = low_at + buckets + 1
    if buckets == 0 or len(payload) < groups_at:
        return None
    low = payload[low_at:groups_at]
    offsets = [0]
    for q in range(buckets):
        least = 32 * q + anchors[q // 128]
        if offsets[q] != least + (low[q] - least) % 256 or low[q + 1] == low[q]:
            return None
        offsets.append(offsets[q] + (low[q + 1] - low[q]) % 256)
    if offsets[-1] < 8:
        return None
    if columns == MAX_COLUMNS and first_wide < offsets[-1]:
        return None
    groups = payload[groups_at:]
    if len(groups) != ribbon_group_at(offsets[-1], columns, first_wide):
        return None
    return RibbonPayload(columns, first_wide, offsets, groups)


def ribbon_payload_ok(block):
    form = ribbon_form(block)
    if form == SMALL:
        slots = block.payload[0]
        return 1 <= slots <= 64 and len(block.payload) == small_size(ribbon_columns(block), slots)
    return form == MATCH_ALL or (form == GENERAL and read_ribbon_payload(block) is not None)


def ribbon_bucket(h, buckets):
    return (h * buckets) >> 64


def ribbon_chunks(h, first_of_bucket, length, all_groups):
    """The (group, coefficients) pairs of a key. all_groups is None if they cannot reach the end."""
    y = ribbon_product(h, length)
    g = first_of_bucket + (((y >> 32) * length) >> 32)
    groups = [g, g + 1, g + 4 + bits(y, 30, 2)]
    if all_groups is not None:
        groups = [group if group < all_groups else group - 8 for group in groups]
    return list(zip(groups, [bits(y, 32, 8), bits(y, 40, 8), bits(y, 48, 8)]))


def ribbon_query(block, key_hash_of_block):
    form = ribbon_form(block)
    if form == MATCH_ALL:
        return True
    h = reseeded(key_hash_of_block, block.parameter // 64)
    f = ribbon_fingerprint(h)
    if form == SMALL:
        slots, seed = block.payload[:2]
        row = small_row(h, seed, slots)
        packed = int.from_bytes(block.payload[2:], "little")
        return all(parity(row & bits(packed, j * slots, slots)) == bits(f, j, 1)
                   for j in range(ribbon_columns(block)))
    p = read_ribbon_payload(block)
    q = ribbon_bucket(h, len(p.offsets) - 1)
    chunks = ribbon_chunks(h, p.offsets[q], p.offsets[q + 1] - p.offsets[q], p.offsets[-1])
    wide = all(group >= p.first_wide for group, _ in chunks)
    for j in range(p.columns + wide):
        value = 0
        for group, coefficients in chunks:
            value ^= p.group(group)[j] & coefficients
        if parity(value) != bits(f, j, 1):
            return False
    return True


def ribbon_bucket_count(keys):
    return math.floor(max(keys / 256, math.sqrt(keys) / 5) + 0.5)


def anchor_count(buckets):
    return (buckets + 127) // 128


def ribbon_directory(offsets):
    """None if they cannot be written as one."""
    buckets = len(offsets) - 1
    surplus = [offset - 32 * q for q, offset in enumerate(offsets[:-1])]
    directory = b""
    for first in range(0, buckets, 128):
        anchored = surplus[first:first + 128]
        if max(anchored) - min(anchored) > 255:
            return None
        directory += min(anchored).to_bytes(4, "little", signed=True)
    if any(b - a > 255 for a, b in zip(offsets, offsets[1:])):
        return None
    return directory + bytes(offset % 256 for offset in offsets)


def ribbon_slot_budget(key_count, budget, compact=False):
    """What the head and the directory leave of a budget of bits."""
    buckets = ribbon_bucket_count(key_count)
    if key_count <= MAX_SMALL_KEYS:
        head = 2
    else:
        head = 5 + buckets if compact else 9 + 4 * anchor_count(buckets) + buckets
    return budget - min(8 * head, 0.03 * budget)


class Echelon:
    """Rows, as numbers whose bit i is slot i, and what they must give."""

    def __init__(self):
        self.rows = {}  # by pivot: (row, result)

    def add(self, equations):
        """Adds all (row, result) pairs, and returns their pivots; or None and adds none."""
        pivots = []
        for row, result in equations:
            while row:
                pivot = (row & -row).bit_length() - 1
                if pivot not in self.rows:
                    break
                row ^= self.rows[pivot][0]
                result ^= self.rows[pivot][1]
            if row == 0:
                self.take_back(pivots)
                return None
            self.rows[pivot] = (row, result)
            pivots.append(pivot)
        return pivots

    def take_back(self, pivots):
        for pivot in pivots:
            del self.rows[pivot]

    def count_free(self, begin, end):
        return sum(slot not in self.rows for slot in range(begin, end))

    def solution(self, slots):
        """Of each slot; those that are no pivots are 0."""
        values = [0] * slots
        for pivot in sorted(self.rows, reverse=True):
            row, value = self.rows[pivot]
            row ^= 1 << pivot
            while row:
                slot = (row & -row).bit_length() - 1
                value ^= values[slot]
                row &= row - 1
            values[pivot] = value
        return values


def tried_lengths(aimed):
    """In their order; one below 1 counts, but is None."""
    order = [aimed, aimed + 1, aimed - 1] + [aimed + more for more in range(2, MOST_TRIES - 1)]
    return [length if length >= 1 else None for length in order]


class Steering:
    """Finds the lengths of all buckets."""

    def __init__(self, hashes_of_buckets, thorough):
        self.hashes_of = hashes_of_buckets
        self.thorough = thorough
        self.echelon = Echelon()
        self.offsets = [0]
        self.backlog = 0

    def add(self, length):
        q = len(self.offsets) - 1
        first = self.offsets[-1]
        all_groups = first + length if q == len(self.hashes_of) - 1 else None
        equations = []
        for h in self.hashes_of[q]:
            row = 0
            for group, coefficients in ribbon_chunks(h, first, length, all_groups):
                row ^= coefficients << (8 * group)
            equations.append((row, ribbon_fingerprint(h)))
        return self.echelon.add(equations)

    def backlog_after(self, length):
        end = 8 * (self.offsets[-1] + length)
        return sum(pivot >= end for pivot in self.echelon.rows)

    def add_unless_backlog(self, length):
        pivots = self.add(length)
        if pivots is not None and self.backlog_after(length) > MOST_BACKLOG:
            self.echelon.take_back(pivots)
            return None
        return pivots

    def free_in(self, length):
        return self.echelon.count_free(8 * self.offsets[-1], 8 * (self.offsets[-1] + length))

    def advance(self, length):
        self.backlog = self.backlog_after(length)
        self.offsets.append(self.offsets[-1] + length)

    def rows_to_place(self):
        return len(self.hashes_of[len(self.offsets) - 1]) + self.backlog

    def aimed(self):
        return max(1, (self.rows_to_place() - 16) // 8)

    def solve_next(self):
        lengths = tried_lengths(self.aimed())
        if self.thorough:
            free = {}
            for length in filter(None, lengths[:5]):
                pivots = self.add_unless_backlog(length)
                if pivots is not None:
                    free[length] = self.free_in(length)
                    self.echelon.take_back(pivots)
            if free:
                lengths = [min(free, key=free.get)]  # the first of the least
        for length in filter(None, lengths):
            if self.add_unless_backlog(length) is not None:
                self.advance(length)
                return True
        return False

    def solve_last_two(self):
        for spare in range(64):
            for length in filter(None, tried_lengths(self.aimed())[:8 + spare]):
                pivots = self.add(length)
                if pivots is None:
                    continue
                before = self.backlog
                self.advance(length)
                last = max(8, (self.rows_to_place() + 7) // 8 + spare)
                if self.add(last) is not None:
                    self.advance(last)
                    return True
                self.echelon.take_back(pivots)
                self.backlog = before
                self.offsets.pop()
        return False

    def solve(self):
        if any(len(hashes) > MAX_BUCKET_KEYS for hashes in self.hashes_of):
            return False
        for _ in range(len(self.hashes_of) - 2):
            if not self.solve_next():
                return False
        return self.solve_last_two() and ribbon_directory(self.offsets) is not None


def ribbon_small_payload(hashes, columns):
    slots = len(hashes)
    for seed in range(256):
        echelon = Echelon()
        rows = [(small_row(h, seed, slots), ribbon_fingerprint(h)) for h in hashes]
        if echelon.add(rows) is not None:
            values = echelon.solution(slots)
            packed = sum(bits(value, j, 1) << (j * slots + slot)
                         for slot, value in enumerate(values) for j in range(columns))
            return bytes([slots, seed]) + packed.to_bytes((columns * slots + 7) // 8, "little")
    return None


def ribbon_general_payload(hashes, thorough, columns_and_first_wide, compact):
    """The payload and its parameter, or None; the widths come from a function of the groups."""
    buckets = ribbon_bucket_count(len(hashes))
    hashes_of_buckets = [[] for _ in range(buckets)]
    for h in hashes:
        hashes_of_buckets[ribbon_bucket(h, buckets)].append(h)
    steering = Steering(hashes_of_buckets, thorough)
    if not steering.solve():
        return None
    groups = steering.offsets[-1]
    columns, first_wide = columns_and_first_wide(groups)
    stored_wide = first_wide if first_wide < groups else NO_WIDE_GROUPS
    directory = ribbon_directory(steering.offsets)
    parameter = columns
    if compact and columns < MAX_COLUMNS:
        parameter += 32
        wide = b"" if first_wide >= groups else first_wide.to_bytes(2, "little")
        minus_anchor = -int.from_bytes(directory[:4], "little", signed=True)
        payload = bytes([buckets - 1 + 128 * bool(wide), minus_anchor]) + wide + directory[4:]
    else:
        payload = buckets.to_bytes(4, "little") + stored_wide.to_bytes(4, "little") + directory
    values = steering.echelon.solution(8 * groups)
    group_bytes = bytearray()
    for g in range(groups):
        for j in range(columns + (g >= first_wide)):
            group_bytes.append(sum(bits(values[8 * g + i], j, 1) << i for i in range(8)))
    return payload + group_bytes, parameter


def ribbon_payload(key_hashes, thorough, small_columns, columns_and_first_wide, compact=False):
    """The parameter and the payload."""
    distinct = set(key_hashes)
    for reseed in range(4):
        hashes = [reseeded(k, reseed) for k in distinct]
        if len(hashes) <= MAX_SMALL_KEYS:
            payload, parameter = ribbon_small_payload(hashes, small_columns), small_columns
        else:
            payload, parameter = ribbon_general_payload(
                hashes, thorough, columns_and_first_wide, compact) or (None, 0)
        if payload is not None:
            return parameter + 64 * reseed, payload
    return 0, b""


def ribbon_of_budget(key_hashes, slot_budget, thorough, compact=False):
    """The parameter and the payload."""

    def width(slots):
        return min(max(slot_budget / slots, 1), MAX_COLUMNS)

    def columns_and_first_wide(groups):
        columns = math.floor(width(8 * groups))
        return columns, math.floor((1 - (width(8 * groups) - columns)) * groups + 0.5)

    small_columns = math.floor(width(len(set(key_hashes))) + 0.5)
    return ribbon_payload(key_hashes, thorough, small_columns, columns_and_first_wide, compact)


def encode_ribbon(keys, bits_per_key, salt=None, thorough=False, may_be_compact=True):
    added = without_adjacent_duplicates(keys)
    if not added:
        return encode_block(RIBBON, 0, 0, b"", salt, added)
    hashes = [key_hash(key, salt) for key in added]
    budget = len(added) * bits_per_key
    compact = may_be_compact and has_compact_frame(RIBBON, len(added))
    budget -= frame_discount(budget, salt, compact)
    slot_budget = ribbon_slot_budget(len(added), budget, compact)
    parameter, payload = ribbon_of_budget(hashes, slot_budget, thorough, compact)
    return encode_block(RIBBON, parameter, len(added), payload, salt, added, compact)
