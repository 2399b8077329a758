# SPDX-License-Identifier: Apache-2.0
"""The counters of distinct keys of docs/formats/toolbox.md, written from the document alone."""

import math

from envelope import Reader, key_hash, read_envelope, write_envelope
from sketch_format import bits, k_minimum_values

HYPER_LOG_LOG, K_MINIMUM_VALUES = 11, 12


def hyper_log_log(keys, p, seed):
    registers = [0] * 2**p
    for h in (key_hash(key, seed) for key in keys):
        zeros = 64 - p - (h % 2**(64 - p)).bit_length()
        registers[h >> (64 - p)] = max(registers[h >> (64 - p)], zeros + 1)
    payload = seed.to_bytes(8, "little") + bytes([p])
    return write_envelope(HYPER_LOG_LOG, payload + bits((x, 6) for x in registers))


def decode_hyper_log_log(data):
    reader = Reader(read_envelope(HYPER_LOG_LOG, data))
    reader.number(8)
    p = reader.number(1)
    packed = int.from_bytes(reader.bytes(2**p * 6 // 8), "little")
    registers = [packed >> 6 * i & 63 for i in range(2**p)]
    assert reader.finished() and max(registers) <= 65 - p
    return registers


def rice_parameter(values):
    """That with the fewest bits; of equally good ones, the one nearest to the width of the gap."""
    gaps = [b - a for a, b in zip([0] + values, values)]
    width = max(values[-1] // len(values), 1).bit_length() - 1 if values else 0
    return min(range(64),
               key=lambda r: (sum((gap >> r) + 1 + r for gap in gaps), abs(r - width)))


def kmv(keys, k, seed, shift=0):
    hashes = [key_hash(key, seed) for key in keys]
    smallest = sorted({h >> shift for h in sorted(set(hashes))[:k]})
    payload = k_minimum_values(hashes, k, shift, rice_parameter(smallest))
    return write_envelope(K_MINIMUM_VALUES, seed.to_bytes(8, "little") + payload)


def decode_kmv(data):
    """k, and the hashes."""
    reader = Reader(read_envelope(K_MINIMUM_VALUES, data))
    reader.number(8)
    k, shift = reader.varint(), reader.number(1)
    count = reader.varint()
    r = reader.number(1) if count else 0
    rest = reader.bytes(len(reader.data) - reader.at)
    packed, at, value, hashes = int.from_bytes(rest, "little"), 0, 0, []
    for _ in range(count):
        quotient = 0
        while packed >> at & 1:
            quotient, at = quotient + 1, at + 1
        at += 1
        value += quotient << r | packed >> at & 2**r - 1
        at += r
        hashes.append(value << shift)
    assert len(rest) == math.ceil(at / 8) and packed >> at == 0 and count <= k
    return k, hashes
