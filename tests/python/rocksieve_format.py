"""The filter block format, written from docs/formats/ alone and not from the C++ code.

Encodes, parses and queries blocks: small, slow and obvious, so that it can be checked against the
documents by eye and the C++ code against it by machine.
"""

import math
from dataclasses import dataclass
from typing import Optional

from xxh3 import MASK64, rotl64, xxh3_64

HEAD_MAGIC = bytes.fromhex("8A524B53")
TAIL_MAGIC = bytes.fromhex("534B528A")
TRAILER = bytes.fromhex("FF52005331")
VERSION = 1
BLOOM, CUCKOO = 1, 2
FLAG_SALT = 1
HEAD_SIZE = 16
TAIL_SIZE = 19
MAX_RANGE_KEY = 32

INTACT, FOREIGN, DAMAGED, FUTURE = "intact", "foreign", "damaged", "future"


def bits(x, low, count):
    """Bits low .. low + count - 1 of x."""
    return (x >> low) & ((1 << count) - 1)


def uint(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def round_half_up(x):
    return math.floor(x + 0.5)


# ---- The block (block.md) ------------------------------------------------------------------------


def without_adjacent_duplicates(keys):
    return [key for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]


def encode_block(family, parameter, key_count, payload, salt, keys):
    """Frames a payload. `salt` is None or a number; `keys` are there for their range only."""
    head = HEAD_MAGIC + bytes([VERSION, family, FLAG_SALT if salt is not None else 0, parameter])
    head += key_count.to_bytes(8, "little")
    stored_salt = b"" if salt is None else salt.to_bytes(8, "little")
    smallest = min((key[:MAX_RANGE_KEY] for key in keys), default=b"")
    largest = max((key[:MAX_RANGE_KEY] for key in keys), default=b"")
    cut = any(len(key) > MAX_RANGE_KEY and key.startswith(largest) for key in keys)
    lengths = bytes([len(smallest), len(largest) + (128 if cut else 0)])
    return seal(head + payload + stored_salt + smallest + largest + lengths)


def seal(everything_before_check_word):
    check_word = xxh3_64(everything_before_check_word).to_bytes(8, "little")
    return everything_before_check_word + check_word + TAIL_MAGIC + TRAILER


def frame_discount(budget, salt):
    """What the frame takes from a budget of bits."""
    return min(280 if salt is None else 344, budget * 0.03)


@dataclass
class Block:
    state: str
    family: int = 0
    parameter: int = 0
    key_count: int = 0
    salt: Optional[int] = None
    payload: bytes = b""
    smallest: bytes = b""
    largest: bytes = b""
    largest_cut: bool = False


def parse_block(data):
    n = len(data)
    # In a short block a mark may have no place to stand at: then it is not there.
    marks = [
        data[:4] == HEAD_MAGIC,
        n >= 9 and data[n - 9:n - 5] == TAIL_MAGIC,
        n >= 5 and data[n - 5:] == TRAILER,
    ]
    if not any(marks):
        return Block(FOREIGN)
    if not all(marks) or n < HEAD_SIZE + TAIL_SIZE:
        return Block(DAMAGED)
    if uint(data, n - 17, 8) != xxh3_64(data[:n - 17]):
        return Block(DAMAGED)

    version, family, flags, parameter = data[4:8]
    if version != VERSION or family not in (BLOOM, CUCKOO) or flags not in (0, FLAG_SALT):
        return Block(FUTURE)

    smallest_size = data[n - 19]
    largest_size = data[n - 18] % 128
    salt_size = 8 if flags == FLAG_SALT else 0
    payload_size = n - HEAD_SIZE - TAIL_SIZE - smallest_size - largest_size - salt_size
    if smallest_size > MAX_RANGE_KEY or largest_size > MAX_RANGE_KEY or payload_size < 0:
        return Block(DAMAGED)
    salt_at = HEAD_SIZE + payload_size
    smallest_at = salt_at + salt_size
    largest_at = smallest_at + smallest_size
    block = Block(
        INTACT, family, parameter,
        key_count=uint(data, 8, 8),
        salt=uint(data, salt_at, 8) if salt_size else None,
        payload=data[HEAD_SIZE:salt_at],
        smallest=data[smallest_at:largest_at],
        largest=data[largest_at:largest_at + largest_size],
        largest_cut=data[n - 18] >= 128)
    payload_ok = bloom_payload_ok if family == BLOOM else cuckoo_payload_ok
    return block if has_no_keys(block) or payload_ok(block) else Block(DAMAGED)


def has_no_keys(block):
    return block.key_count == 0 and not block.payload


def key_hash(key, salt):
    return xxh3_64(key, 0 if salt is None else salt)


def query(block, key):
    """Whether the block may contain the key. Whoever cannot read a block must assume so."""
    if block.state != INTACT:
        return True
    if has_no_keys(block):
        return False
    h = key_hash(key, block.salt)
    return bloom_query(block, h) if block.family == BLOOM else cuckoo_query(block, h)


# ---- Bloom (bloom.md) ----------------------------------------------------------------------------

LINE_SIZE = 64
PROBE_COUNTS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
# (bits per key, the probes below it)
PROBES_BELOW = ((1.7, 1), (2.95, 2), (4.2, 3), (5.5, 4), (7, 5), (7.4, 6), (13, 8), (18, 12))


def probe_count_of(block):
    return block.parameter & 127  # the top bit says how the seeds were chosen


def bloom_payload_ok(block):
    lines, rest = divmod(len(block.payload), LINE_SIZE)
    return probe_count_of(block) in PROBE_COUNTS and rest == 0 and 1 <= lines < 1 << 32


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


def best_seeds(lane_groups, thorough):
    """The two seeds of a lane, and its word. lane_groups[g]: the bits that group g wants set."""

    def seeded(groups, seed):
        word = 0
        for g in groups:
            word |= rotl64(lane_groups[g], seed * g % 64)
        return word

    a = [seeded(range(0, 4), seed) for seed in range(16)]
    c = [seeded(range(4, 8), seed) for seed in range(16)]
    best_s0 = sorted(range(16), key=lambda s0: (a[s0].bit_count(), s0))[:16 if thorough else 4]
    _, s1, s0 = min(((a[s0] | c[s1]).bit_count(), s1, s0) for s0 in best_s0 for s1 in range(16))
    return s0, s1, a[s0] | c[s1]


def bloom_payload(hashes, lines, probe_count, thorough):
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
            s0, s1, word = best_seeds(wanted[line][lane], thorough)
            words.append(word)
            special[line] |= (s0 | s1 << 4) << (8 * lane)
        words.append(special[line])
    return b"".join(word.to_bytes(8, "little") for word in words)


def encode_bloom(keys, bits_per_key, salt=None, thorough=False):
    added = without_adjacent_duplicates(keys)
    lines, probe_count = bloom_plan(len(added), bits_per_key, salt)
    payload = bloom_payload([key_hash(key, salt) for key in added], lines, probe_count, thorough)
    return encode_block(BLOOM, probe_count | 128 * thorough, len(added), payload, salt, added)


# ---- Cuckoo (cuckoo.md) --------------------------------------------------------------------------

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
    budget -= min(8 * cuckoo_slots_at(shards), 0.03 * budget)
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


def encode(family, keys, bits_per_key, salt=None, thorough=False):
    encode_family = encode_bloom if family == BLOOM else encode_cuckoo
    return encode_family(keys, bits_per_key, salt, thorough)
