# SPDX-License-Identifier: Apache-2.0
"""The payload of the cuckoo family, written from docs/formats/cuckoo.md alone."""

import math
from dataclasses import dataclass

from block_frame import (
    CUCKOO, bits, encode_block, frame_discount, key_hash, round_half_up, uint,
    without_adjacent_duplicates)
from xxh3 import MASK64

USUAL = (0.962, 4096)  # the load, and the keys of a shard
THOROUGH = (0.963, 8192)
RETRIES = 10


def slot_width(slot, narrow_bits, first_wide):
    return narrow_bits if slot < first_wide else narrow_bits + 1


def slot_bit(slot, narrow_bits, first_wide):
    """Where a slot begins."""
    return slot * narrow_bits + max(0, slot - first_wide)


def cuckoo_slots_at(shards):
    return 8 + 4 * (shards + 1)


@dataclass
class CuckooPayload:
    narrow_bits: int
    shards: int
    first_wide: int
    offsets: list
    slots: int  # all of them, as one little-endian number


def read_cuckoo_payload(block):
    """None if the payload contradicts itself."""
    payload = block.payload
    shards = uint(payload, 0, 4)
    slots_at = cuckoo_slots_at(shards)
    if not 2 <= block.parameter <= 60 or shards < 1 or len(payload) < slots_at:
        return None
    first_wide = uint(payload, 4, 4)
    offsets = [uint(payload, 8 + 4 * i, 4) for i in range(shards + 1)]
    if offsets[0] != 0 or offsets != sorted(offsets) or offsets[-1] == 0:
        return None
    all_bits = slot_bit(offsets[-1], block.parameter, first_wide)
    slots = int.from_bytes(payload[slots_at:], "little")
    if len(payload) != slots_at + (all_bits + 7) // 8:
        return None
    return CuckooPayload(block.parameter, shards, first_wide, offsets, slots)


def cuckoo_payload_ok(block):
    return read_cuckoo_payload(block) is not None


def cuckoo_shard(h, shards):
    return (h * shards) >> 64


def cuckoo_z(h):
    return (h ^ (h >> 32)) * 0xD6E8FEB86659FD93 & MASK64


def cuckoo_candidates(h, slots):
    """The four slots of a key, counted from the first of its shard."""
    a = h * 0x9FB21C651E98DF25 & MASK64
    w1 = ((a >> 32) * (slots - 1)) >> 32
    w2 = ((cuckoo_z(h) >> 32) * (slots - 1)) >> 32
    return [w1, w1 + 1, w2, w2 + 1]


def cuckoo_fingerprint(h, width):
    return bits(cuckoo_z(h), 0, width) or 1


def cuckoo_query(block, h):
    p = read_cuckoo_payload(block)
    shard = cuckoo_shard(h, p.shards)
    first = p.offsets[shard]
    slots = p.offsets[shard + 1] - first
    if slots < 2:
        return slots == 1  # 0: a shard without keys; 1: a shard that could not be built
    for candidate in cuckoo_candidates(h, slots):
        slot = first + candidate
        width = slot_width(slot, p.narrow_bits, p.first_wide)
        stored = bits(p.slots, slot_bit(slot, p.narrow_bits, p.first_wide), width)
        if stored == cuckoo_fingerprint(h, width):
            return True
    return False


def cuckoo_plan(key_count, bits_per_key, salt, load, keys_per_shard):
    """The number of shards, the narrow width, and the share of wide slots."""
    shards = max(1, (key_count + keys_per_shard // 2) // keys_per_shard)
    budget = key_count * bits_per_key
    budget -= frame_discount(budget, salt)
    budget -= min(8 * cuckoo_slots_at(shards), 0.03 * budget) if shards > 1 else 0
    width = budget / (key_count / load + (shards - 1) / 2)
    width = min(max(width, 2), 61)
    narrow_bits = min(math.floor(width), 60)
    return shards, narrow_bits, width - narrow_bits


def first_slot_count(key_count_of_shard, load):
    return max(2, math.ceil(key_count_of_shard / load)) if key_count_of_shard else 0


def place_keys(hashes, slots):
    """Which hash lies in which slot; None if the keys did not find their places in time."""
    label = [0] * slots
    placed = [None] * slots
    placements = 0
    waiting = list(hashes)
    while waiting:
        placements += len(waiting)
        if placements > 4 * len(hashes) + 100:
            return None
        evicted = []
        for h in waiting:
            candidates = cuckoo_candidates(h, slots)
            labels = [label[slot] for slot in candidates]
            chosen = labels.index(min(labels))
            others = labels[:chosen] + labels[chosen + 1:]
            slot = candidates[chosen]
            label[slot] = min(others) + 1
            if placed[slot] is not None:
                evicted.append(placed[slot])
            placed[slot] = h
        waiting = evicted
    return placed


def build_shard(hashes, load):
    """The shard's slots: each holds a hash, or None if it is empty."""
    first_count = first_slot_count(len(hashes), load)
    slots = first_count
    for retry in range(RETRIES + 1):
        if retry > 0:
            slots += slots * 2**retry // 800 + 1
        placed = place_keys(hashes, slots)
        if placed is not None:
            return placed
    return [None]


def split_into_shards(hashes, shards):
    """The distinct hashes of each shard, sorted."""
    hashes_of = [[] for _ in range(shards)]
    for h in sorted(set(hashes)):
        hashes_of[cuckoo_shard(h, shards)].append(h)
    return hashes_of


def first_wide_slot(hashes_of_shards, wide_share, load):
    # Of the slots as planned: whether a shard needs retries is not known yet.
    planned_slots = sum(first_slot_count(len(hashes), load) for hashes in hashes_of_shards)
    return round_half_up((1 - wide_share) * planned_slots)


def cuckoo_payload(hashes_of_shards, narrow_bits, first_wide, load):
    offsets = [0]
    placed = []
    for hashes in hashes_of_shards:
        placed += build_shard(hashes, load) if hashes else []
        offsets.append(len(placed))
    slots = 0
    for slot, h in enumerate(placed):
        if h is not None:
            width = slot_width(slot, narrow_bits, first_wide)
            slots |= cuckoo_fingerprint(h, width) << slot_bit(slot, narrow_bits, first_wide)
    all_bits = slot_bit(len(placed), narrow_bits, first_wide)
    head = b"".join(x.to_bytes(4, "little") for x in [len(hashes_of_shards), first_wide] + offsets)
    return head + slots.to_bytes((all_bits + 7) // 8, "little")


def encode_cuckoo(keys, bits_per_key, salt=None, thorough=False):
    load, keys_per_shard = THOROUGH if thorough else USUAL
    added = without_adjacent_duplicates(keys)
    if not added:
        return encode_block(CUCKOO, 0, 0, b"", salt, added)
    shards, narrow_bits, wide_share = cuckoo_plan(
        len(added), bits_per_key, salt, load, keys_per_shard)
    hashes_of_shards = split_into_shards([key_hash(key, salt) for key in added], shards)
    first_wide = first_wide_slot(hashes_of_shards, wide_share, load)
    payload = cuckoo_payload(hashes_of_shards, narrow_bits, first_wide, load)
    return encode_block(CUCKOO, narrow_bits, len(added), payload, salt, added)
