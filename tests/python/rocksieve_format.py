# SPDX-License-Identifier: Apache-2.0
"""The filter block format, written from docs/formats/ alone and not from the C++ code.

Encodes, parses and queries blocks: small, slow and obvious, so that it can be checked against the
documents by eye and the C++ code against it by machine.
"""

# pylint: disable=wildcard-import,unused-wildcard-import
from dataclasses import dataclass

from block_frame import *
from bloom_format import *
from cuckoo_format import *
from ribbon_format import *
from range_builder import *
from range_format import *


@dataclass(frozen=True)
class _Family:
    payload_ok: object
    query: object  # by a key's hash
    encode: object


_FAMILIES = {
    BLOOM: _Family(bloom_payload_ok, bloom_query, encode_bloom),
    CUCKOO: _Family(cuckoo_payload_ok, cuckoo_query, encode_cuckoo),
    RIBBON: _Family(ribbon_payload_ok, ribbon_query, encode_ribbon),
    RANGE: _Family(range_payload_ok, range_query_hash, encode_range),
}


def parse_block(data):
    block = parse_frame(data)
    if block.state != INTACT or has_no_keys(block):
        return block
    return block if _FAMILIES[block.family].payload_ok(block) else Block(DAMAGED)


def query(block, key):
    """Whether the block may contain the key. Whoever cannot read a block must assume so."""
    if block.state != INTACT:
        return True
    if has_no_keys(block):
        return False
    if block.family == RANGE:
        return range_query(block, key)
    return _FAMILIES[block.family].query(block, key_hash(key, block.salt))


def query_hash(block, key):
    """The same for somebody who has the key's hash alone."""
    if block.state != INTACT:
        return True
    if has_no_keys(block):
        return False
    return _FAMILIES[block.family].query(block, key_hash(key, block.salt))


def query_range(block, begin, end):
    """Whether the block may contain a key of [begin, end)."""
    if block.state != INTACT or has_no_keys(block) or block.family != RANGE:
        return True
    return range_may_contain(block, begin, end)


def encode(family, keys, bits_per_key, salt=None, thorough=False, **more):
    return _FAMILIES[family].encode(keys, bits_per_key, salt, thorough, **more)
