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
BLOOM, CUCKOO, RIBBON = 1, 2, 3
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
    if version != VERSION or family not in (BLOOM, CUCKOO, RIBBON) or flags not in (0, FLAG_SALT):
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
    payload_ok = {BLOOM: bloom_payload_ok, CUCKOO: cuckoo_payload_ok, RIBBON: ribbon_payload_ok}
    return block if has_no_keys(block) or payload_ok[family](block) else Block(DAMAGED)


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
    family_query = {BLOOM: bloom_query, CUCKOO: cuckoo_query, RIBBON: ribbon_query}
    return family_query[block.family](block, h)


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


# ---- Ribbon (ribbon.md) --------------------------------------------------------------------------

MATCH_ALL, SMALL, GENERAL = "match all", "small", "general"
MAX_SMALL_KEYS = 64
MAX_COLUMNS = 32
MAX_BUCKET_KEYS = 1024
NO_WIDE_GROUPS = 0xFFFFFFFF
MOST_TRIES = 200
MOST_BACKLOG = 32


def ribbon_columns(block):
    return block.parameter % 64


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
    return SMALL if size < 12 + 8 * columns else GENERAL


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
    buckets = uint(payload, 0, 4)
    first_wide = uint(payload, 4, 4)
    groups_at = 10 + 2 * buckets
    if buckets == 0 or len(payload) < groups_at:
        return None
    deltas = [int.from_bytes(payload[8 + 2 * q:10 + 2 * q], "little", signed=True)
              for q in range(buckets + 1)]
    offsets = [48 * q + delta for q, delta in enumerate(deltas)]
    if offsets[0] != 0 or any(a >= b for a, b in zip(offsets, offsets[1:])) or offsets[-1] < 8:
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
    return math.floor(max(keys / 383, math.sqrt(keys) / 5) + 0.5)


def ribbon_slot_budget(key_count, bits_per_key, salt):
    budget = key_count * bits_per_key
    budget -= frame_discount(budget, salt)
    head = 2 if key_count <= MAX_SMALL_KEYS else 8 + 2 * (ribbon_bucket_count(key_count) + 1)
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
        return self.solve_last_two() and all(
            -2**15 <= offset - 48 * q < 2**15 for q, offset in enumerate(self.offsets))


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


def ribbon_general_payload(hashes, thorough, columns_and_first_wide):
    """The payload and its columns, or None; the widths come from a function of the groups."""
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
    payload = buckets.to_bytes(4, "little") + stored_wide.to_bytes(4, "little")
    for q, offset in enumerate(steering.offsets):
        payload += (offset - 48 * q).to_bytes(2, "little", signed=True)
    values = steering.echelon.solution(8 * groups)
    group_bytes = bytearray()
    for g in range(groups):
        for j in range(columns + (g >= first_wide)):
            group_bytes.append(sum(bits(values[8 * g + i], j, 1) << i for i in range(8)))
    return payload + group_bytes, columns


def ribbon_payload(key_hashes, thorough, small_columns, columns_and_first_wide):
    """The parameter and the payload."""
    distinct = set(key_hashes)
    for reseed in range(4):
        hashes = [reseeded(k, reseed) for k in distinct]
        if len(hashes) <= MAX_SMALL_KEYS:
            payload, columns = ribbon_small_payload(hashes, small_columns), small_columns
        else:
            payload, columns = ribbon_general_payload(
                hashes, thorough, columns_and_first_wide) or (None, 0)
        if payload is not None:
            return columns + 64 * reseed, payload
    return 0, b""


def encode_ribbon(keys, bits_per_key, salt=None, thorough=False):
    added = without_adjacent_duplicates(keys)
    if not added:
        return encode_block(RIBBON, 0, 0, b"", salt, added)
    hashes = [key_hash(key, salt) for key in added]
    budget = ribbon_slot_budget(len(added), bits_per_key, salt)

    def width(slots):
        return min(max(budget / slots, 1), MAX_COLUMNS)

    def columns_and_first_wide(groups):
        columns = math.floor(width(8 * groups))
        return columns, math.floor((1 - (width(8 * groups) - columns)) * groups + 0.5)

    small_columns = math.floor(width(len(set(hashes))) + 0.5)
    parameter, payload = ribbon_payload(hashes, thorough, small_columns, columns_and_first_wide)
    return encode_block(RIBBON, parameter, len(added), payload, salt, added)


def encode(family, keys, bits_per_key, salt=None, thorough=False):
    encoders = {BLOOM: encode_bloom, CUCKOO: encode_cuckoo, RIBBON: encode_ribbon}
    return encoders[family](keys, bits_per_key, salt, thorough)
