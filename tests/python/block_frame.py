# SPDX-License-Identifier: Apache-2.0
"""The frame that all filter blocks share, written from docs/formats/block.md alone."""

import math
from dataclasses import dataclass
from typing import Optional

from xxh3 import xxh3_64

HEAD_MAGIC = bytes.fromhex("8A524B53")
TAIL_MAGIC = bytes.fromhex("534B528A")
TRAILER = bytes.fromhex("FF52005331")
FULL, COMPACT = 1, 2  # versions
BLOOM, CUCKOO, RIBBON, RANGE = 1, 2, 3, 4
FLAG_SALT = 1
HEAD_SIZE = 16
TAIL_SIZE = 19
LEAST_SIZE = 35
COMPACT_HEAD_SIZE = 8
COMPACT_TAIL_SIZE = 20
COMPACT_REST = 3
MAX_RANGE_KEY = 32

INTACT, FOREIGN, DAMAGED, FUTURE = "intact", "foreign", "damaged", "future"


def bits(x, low, count):
    """Bits low .. low + count - 1 of x."""
    return (x >> low) & ((1 << count) - 1)


def uint(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def round_half_up(x):
    return math.floor(x + 0.5)


def without_adjacent_duplicates(keys):
    return [key for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]


def has_compact_frame(family, key_count):
    return family == RIBBON and 64 < key_count < 32768


def encode_block(family, parameter, key_count, payload, salt, keys, compact=False):
    """Frames a payload. `salt` is None or a number; `keys` are there for their range only."""
    salt_flag = FLAG_SALT if salt is not None else 0
    stored_salt = b"" if salt is None else salt.to_bytes(8, "little")
    smallest = min((key[:MAX_RANGE_KEY] for key in keys), default=b"")
    largest = max((key[:MAX_RANGE_KEY] for key in keys), default=b"")
    if compact:
        common = common_size(smallest, largest)
        of_smallest = smallest[common:common + COMPACT_REST]
        of_largest = largest[common:common + COMPACT_REST]
        cut = is_cut(largest[:common] + of_largest, keys)
        flags = salt_flag + 2 * cut + 4 * common
        block = HEAD_MAGIC + bytes([COMPACT, family, flags, parameter]) + payload + stored_salt
        block += smallest[:common] + of_smallest + of_largest + key_count.to_bytes(2, "little")
        block = seal(block + bytes([len(of_smallest) + 4 * len(of_largest)]))
        if len(block) >= LEAST_SIZE:
            return block
    head = HEAD_MAGIC + bytes([FULL, family, salt_flag, parameter])
    head += key_count.to_bytes(8, "little")
    lengths = bytes([len(smallest), len(largest) + (128 if is_cut(largest, keys) else 0)])
    return seal(head + payload + stored_salt + smallest + largest + lengths)


def seal(everything_before_check_word):
    check_word = xxh3_64(everything_before_check_word).to_bytes(8, "little")
    return everything_before_check_word + check_word + TAIL_MAGIC + TRAILER


def is_cut(largest, keys):
    return any(len(key) > len(largest) and key.startswith(largest) for key in keys)


def common_size(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def frame_discount(budget, salt, compact=False):
    """What the frame takes from a budget of bits."""
    return min((224 if compact else 280) + (0 if salt is None else 64), budget * 0.03)


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


def parse_frame(data):
    """A block whose payload nobody has looked at yet."""
    n = len(data)
    # In a short block a mark may have no place to stand at: then it is not there.
    marks = [
        data[:4] == HEAD_MAGIC,
        n >= 9 and data[n - 9:n - 5] == TAIL_MAGIC,
        n >= 5 and data[n - 5:] == TRAILER,
    ]
    if not any(marks):
        return Block(FOREIGN)
    if not all(marks) or n < LEAST_SIZE:
        return Block(DAMAGED)
    if uint(data, n - 17, 8) != xxh3_64(data[:n - 17]):
        return Block(DAMAGED)

    version, family, flags, parameter = data[4:8]
    if version not in (FULL, COMPACT) or family not in (BLOOM, CUCKOO, RIBBON, RANGE):
        return Block(FUTURE)
    if version == COMPACT:
        return parse_compact(data, family, flags, parameter)
    if flags not in (0, FLAG_SALT):
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
    return Block(
        INTACT, family, parameter,
        key_count=uint(data, 8, 8),
        salt=uint(data, salt_at, 8) if salt_size else None,
        payload=data[HEAD_SIZE:salt_at],
        smallest=data[smallest_at:largest_at],
        largest=data[largest_at:largest_at + largest_size],
        largest_cut=data[n - 18] >= 128)


def parse_compact(data, family, flags, parameter):
    common, smallest_rest, largest_rest = flags >> 2, data[-18] % 4, data[-18] // 4
    salt_size = 8 if flags & FLAG_SALT else 0
    range_at = len(data) - COMPACT_TAIL_SIZE - common - smallest_rest - largest_rest
    salt_at = range_at - salt_size
    if (largest_rest > COMPACT_REST or common + max(smallest_rest, largest_rest) > MAX_RANGE_KEY
            or salt_at < COMPACT_HEAD_SIZE):
        return Block(DAMAGED)
    largest_at = range_at + common + smallest_rest
    return Block(
        INTACT, family, parameter,
        key_count=uint(data, len(data) - COMPACT_TAIL_SIZE, 2),
        salt=uint(data, salt_at, 8) if salt_size else None,
        payload=data[COMPACT_HEAD_SIZE:salt_at],
        smallest=data[range_at:largest_at],
        largest=data[range_at:range_at + common] + data[largest_at:largest_at + largest_rest],
        largest_cut=flags & 2 != 0)


def has_no_keys(block):
    return block.key_count == 0 and not block.payload


def key_hash(key, salt):
    return xxh3_64(key, 0 if salt is None else salt)
