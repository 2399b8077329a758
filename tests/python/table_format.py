# SPDX-License-Identifier: Apache-2.0
"""RocksDB's block-based table files of format_version 2 to 7, read after its own description of them
(the wiki page "Rocksdb BlockBasedTable Format", the comment above FooterBuilder in table/format.cc)
and not after rocksieve's reader, which is held to this one: slow and obvious.
"""

from dataclasses import dataclass, field

from xxh3 import xxh3_64, xxh32, xxh64

MASK32 = (1 << 32) - 1
MAGIC = 0x88E241B785F4CFF7
FOOTER_BYTES, TRAILER_BYTES = 53, 5
EXTENDED_MAGIC = bytes.fromhex("3e007a00")
UNIFORM_KEYS = 1 << 29
CHECKSUMS = {0: "none", 1: "CRC-32C", 2: "xxHash", 3: "xxHash64", 4: "XXH3"}


def crc32c_masked(data):
    crc = MASK32
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= MASK32
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & MASK32


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def plain_checksum(kind, data):
    if kind == 4:
        return (xxh3_64(data[:-1]) & MASK32) ^ (data[-1] * 0x6B9083D9 & MASK32)
    return {0: lambda _: 0, 1: crc32c_masked, 2: xxh32, 3: lambda d: xxh64(d) & MASK32}[kind](data)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def handle(data, at=0):
    offset, at = varint(data, at)
    size, at = varint(data, at)
    return (offset, size), at


@dataclass
class Table:
    format_version: int = 0
    checksum: str = ""
    properties: dict = field(default_factory=dict)
    meta: dict = field(default_factory=dict)  # names of meta blocks, and their bytes
    filter_name: str = ""  # "fullfilter.NAME", "partitionedfilter.NAME", or empty
    filters: list = field(default_factory=list)  # (last key, offset, bytes); a full one's key is ""

    def number(self, name, otherwise=0):
        value = self.properties.get(name)
        return otherwise if value is None else varint(value, 0)[0]


def read_table(file):
    """Takes a file apart. Every checksum must be right."""
    footer_at = len(file) - FOOTER_BYTES
    footer = file[footer_at:]
    assert u64(footer, 45) == MAGIC
    kind, version, base = footer[0], u32(footer, 41), 0
    assert 2 <= version <= 7

    def context(offset):
        return base ^ (offset + (offset >> 32) & MASK32) if base else 0

    def block(place):
        offset, size = place
        data = file[offset:offset + size + 1]
        stored = u32(file, offset + size + 1)
        assert data[-1] == 0, "compressed"
        assert stored == (plain_checksum(kind, data) + context(offset)) & MASK32, place
        return data[:-1]

    if version < 6:
        meta_place, at = handle(footer, 1)
        handle(footer, at)  # of the index
    else:
        assert footer[1:5] == EXTENDED_MAGIC and not any(footer[33:41])
        base = u32(footer, 9)
        assert base != 0
        without = footer[:5] + bytes(4) + footer[9:]
        assert u32(footer, 5) == (plain_checksum(kind, without) + context(footer_at)) & MASK32
        size = u32(footer, 13)
        meta_place = (footer_at - TRAILER_BYTES - size, size)

    def entries(data, delta_values=False):
        """(key, value), or with `delta_values`, as indexes have them, (key, place)."""
        restarts = u32(data, len(data) - 4) & ~UNIFORM_KEYS
        assert restarts < 1 << 28, "hash index, or values apart from their keys"
        end, at, key, place = len(data) - 4 - 4 * restarts, 0, b"", (0, 0)
        while at < end:
            shared, at = varint(data, at)
            own, at = varint(data, at)
            value_bytes = 0
            if not delta_values:
                value_bytes, at = varint(data, at)
            key, at = key[:shared] + data[at:at + own], at + own
            if not delta_values:
                yield key, data[at:at + value_bytes]
                at += value_bytes
                continue
            if shared:
                change, at = varint(data, at)
                change = change >> 1 ^ -(change & 1)
                place = (sum(place) + TRAILER_BYTES, place[1] + change)
            else:
                place, at = handle(data, at)
            yield key, place

    table = Table(version, CHECKSUMS[kind])
    table.meta["meta_index"] = block(meta_place)
    places = {name.decode(): handle(value)[0] for name, value in entries(table.meta["meta_index"])}
    for name, place in places.items():
        if name != "rocksdb.index":  # may be compressed
            table.meta[name] = block(place)
    table.properties = {name.decode(): value
                        for name, value in entries(table.meta["rocksdb.properties"])}
    for name, place in places.items():
        if name.startswith("fullfilter."):
            table.filter_name, table.filters = name, [(b"", *place)]
        if name.startswith("partitionedfilter."):
            table.filter_name = name
            is_user_key = table.number("rocksdb.index.key.is.user.key")
            delta = bool(table.number("rocksdb.index.value.is.delta.encoded"))
            for key, value in entries(table.meta[name], delta):
                part = value if delta else handle(value)[0]
                block(part)
                table.filters.append((key if is_user_key else key[:-8], *part))
    return table
