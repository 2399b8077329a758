# SPDX-License-Identifier: Apache-2.0
"""The payload of the Bloom family, written from docs/formats/bloom.md alone."""

import math

from block_frame import (
    BLOOM, bits, encode_block, frame_discount, key_hash, round_half_up, uint,
    without_adjacent_duplicates)
from xxh3 import MASK64

LINE_SIZE = 64
PROBE_COUNTS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
# (bits per key, the probes below it)
PROBES_BELOW = ((1.7, 1), (2.95, 2), (4.2, 3), (5.5, 4), (7, 5), (7.4, 6), (13, 8), (18, 12))


def rotl64(x, count):
    return ((x << count) | (x >> (64 - count))) & MASK64


def probe_count_of(block):
    return block.parameter & 63  # the two top bits say how the seeds were chosen


def bloom_payload_ok(block):
    lines, rest = divmod(len(block.payload), LINE_SIZE)
    return (probe_count_of(block) in PROBE_COUNTS and block.parameter < 192 and rest == 0
            and 1 <= lines < 1 << 32)


def bloom_line(h, lines):
    return (h * lines) >> 64


def bloom_group(h):
    return bits(h, 29, 3)


def bloom_probes(h, probe_count):
    """The (lane, position) pairs of a key."""

    def positions(product):
        return [bits(product, 8 * i, 6) for i in range(8)]

    x = positions(h * 0x9FB21C651E98DF25 & MASK64)
    if probe_count <= 6:
        first_lane = (7 * bits(h, 12, 16)) >> 16
        return [((first_lane + i) % 7, x[i]) for i in range(probe_count)]
    probes = list(enumerate(x))
    if probe_count == 12:
        y = positions(h * 0xD6E8FEB86659FD93 & MASK64)
        half = bits(h, 28, 1)
        probes += [(4 * half + i, y[4 + i]) for i in range(4)]
    if probe_count == 16:
        y = positions(rotl64(h, 32) * 0xD6E8FEB86659FD93 & MASK64)
        probes += list(enumerate(y))
    return probes


def bloom_query(block, h):
    line_at = LINE_SIZE * bloom_line(h, len(block.payload) // LINE_SIZE)
    words = [uint(block.payload, line_at + 8 * i, 8) for i in range(8)]
    group = bloom_group(h)
    for lane, x in bloom_probes(h, probe_count_of(block)):
        if lane < 7:
            seed = bits(words[7], 8 * lane + (0 if group < 4 else 4), 4)
            x = (x + seed * group) % 64
        elif x < 56:
            continue
        if not bits(words[lane], x, 1):
            return False
    return True


def bloom_plan(key_count, bits_per_key, salt):
    """The number of lines and the number of probes."""
    if key_count == 0:
        return 0, 8
    budget = key_count * bits_per_key
    budget -= frame_discount(budget, salt)
    lines = budget / 512
    lines = math.ceil(lines) if lines < 8 else round_half_up(lines)
    got = lines * 512 / key_count
    return lines, next((probes for below, probes in PROBES_BELOW if got < below), 16)


def best_seeds(lane_groups, tried):
    """The two seeds of a lane, and its word. lane_groups[g]: the bits that group g wants set;
    `tried`: how many first seeds."""

    def seeded(groups, seed):
        word = 0
        for g in groups:
            word |= rotl64(lane_groups[g], seed * g % 64)
        return word

    a = [seeded(range(0, 4), seed) for seed in range(16)]
    c = [seeded(range(4, 8), seed) for seed in range(16)]
    best_s0 = sorted(range(16), key=lambda s0: (a[s0].bit_count(), s0))[:tried]
    _, s1, s0 = min(((a[s0] | c[s1]).bit_count(), s1, s0) for s0 in best_s0 for s1 in range(16))
    return s0, s1, a[s0] | c[s1]


def bloom_payload(hashes, lines, probe_count, thorough, fast=False):
    tried = 16 if thorough else 1 if fast else 4
    # wanted[line][lane][group]: the bits to be set there, before any seed.
    wanted = [[[0] * 8 for _ in range(7)] for _ in range(lines)]
    special = [0] * lines
    for h in hashes:
        line = bloom_line(h, lines)
        for lane, x in bloom_probes(h, probe_count):
            if lane < 7:
                wanted[line][lane][bloom_group(h)] |= 1 << x
            elif x >= 56:
                special[line] |= 1 << x
    words = []
    for line in range(lines):
        for lane in range(7):
            s0, s1, word = best_seeds(wanted[line][lane], tried)
            words.append(word)
            special[line] |= (s0 | s1 << 4) << (8 * lane)
        words.append(special[line])
    return b"".join(word.to_bytes(8, "little") for word in words)


def encode_bloom(keys, bits_per_key, salt=None, thorough=False, fast=False):
    added = without_adjacent_duplicates(keys)
    lines, probe_count = bloom_plan(len(added), bits_per_key, salt)
    payload = bloom_payload([key_hash(key, salt) for key in added], lines, probe_count, thorough,
                            fast)
    parameter = probe_count | 128 * thorough | 64 * fast
    return encode_block(BLOOM, parameter, len(added), payload, salt, added)
