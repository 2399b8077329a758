#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden filter blocks: the bytes that the format documents demand, once and for all.

    golden_test.py            tests (also: python3 -m unittest)
    golden_test.py --write    writes tests/golden/{bloom,cuckoo,range,ribbon}.json anew

The blocks come from the Python encoder, never from the C++ code, which is held to them in turn. A
family's file says how each of its blocks is made: "keys" is a list of keys in hex, or {"pattern",
"count"}: the pattern with 0, 1, .. count - 1 for its %d, or {"first", "step", "count"}: numbers of
eight bytes, the most significant first, modulo 2^64. "frame" is 1 for a block that only older
versions write. A range filter whose name has "partition" in it
is one of several of its file. "salt" is the number in hex, or null. The
block itself is "bytes", in lines of hex. The toolbox's golden bytes, of the tests beside this one in
toolbox/, are in toolbox.json, with their names alone.
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # under any way to start the tests

import rocksieve_format as fmt
from golden_files import (FAMILIES, GOLDEN, ROOT, blocks, entries, expected_text, keys_of,
                          read_golden, write_golden)
from range_codes import BUCKETS_PER_GROUP
from xxh3 import MASK64, PRIME32_1, xxh3_64

FORMATS = ROOT / "docs" / "formats"


class GoldenTest(unittest.TestCase):

    def test_files_are_what_the_encoder_writes(self):
        self.assertEqual({path.stem for path in GOLDEN.iterdir()}, {*FAMILIES, "toolbox"})
        for family in FAMILIES:
            with self.subTest(family):
                text = (GOLDEN / f"{family}.json").read_text(encoding="ascii")
                self.assertEqual(text, expected_text(family))

    def test_files_are_read_as_the_encoder_wrote_them(self):
        read = {name: data for family in FAMILIES for name, data in read_golden(family).items()}
        self.assertEqual(read, blocks())

    def test_blocks_are_intact_and_contain_their_keys(self):
        for entry in entries():
            with self.subTest(entry["name"]):
                block = fmt.parse_block(blocks()[entry["name"]])
                self.assertEqual(block.state, fmt.INTACT)
                for key in keys_of(entry):
                    self.assertTrue(fmt.query(block, key), key)

    def test_blocks_deny_most_other_keys(self):
        others = [b"other%d" % i for i in range(100)]
        for entry in entries():
            name = entry["name"]
            if any(word in name for word in ("1_probe", "2_probe", "3_probe", "fewest",
                                             "many_buckets", "unbuild", "match_all")):
                continue
            with self.subTest(name):
                block = fmt.parse_block(blocks()[entry["name"]])
                # 25 % for fingerprints of the least width, with which tiny cuckoo filters must do.
                self.assertLess(sum(fmt.query(block, key) for key in others), 60)

    def test_goldens_show_what_their_names_say(self):
        parsed = {name: fmt.parse_block(data) for name, data in blocks().items()}
        for probes in fmt.PROBE_COUNTS:
            name = f"bloom_{probes}_probe{'s' if probes > 1 else ''}"
            self.assertEqual(parsed[name].parameter, probes)
        self.assertTrue(parsed["bloom_cut_range"].largest_cut)
        self.assertTrue(parsed["bloom_cut_largest"].largest_cut)
        self.assertFalse(parsed["bloom_uncut_largest"].largest_cut)
        self.assertEqual(parsed["bloom_duplicates"].key_count, 5)
        mixed = fmt.read_cuckoo_payload(parsed["cuckoo_mixed_widths"])
        self.assertTrue(0 < mixed.first_wide < mixed.offsets[-1])
        for width in (28, 60):
            name = f"cuckoo_{width}_and_{width + 1}_bits"
            self.assertEqual(parsed[name].parameter, width)
            payload = fmt.read_cuckoo_payload(parsed[name])
            self.assertTrue(0 < payload.first_wide < payload.offsets[-1])
        self.assertGreater(parsed["cuckoo_wide"].parameter, 32)
        self.assertEqual(fmt.read_cuckoo_payload(parsed["cuckoo_two_shards"]).shards, 2)
        retried = fmt.read_cuckoo_payload(parsed["cuckoo_retried"])
        self.assertEqual(retried.offsets[-1], 18)  # 14 were planned
        unbuildable = fmt.read_cuckoo_payload(parsed["cuckoo_unbuildable"])
        self.assertEqual(unbuildable.offsets, [0, 1])
        ribbons = {name.removeprefix("ribbon_"): block
                   for name, block in parsed.items() if name.startswith("ribbon_")}
        for name in ("one_key", "small", "largest_small"):
            self.assertEqual(fmt.ribbon_form(ribbons[name]), fmt.SMALL)
        self.assertEqual(fmt.ribbon_form(ribbons["smallest_general"]), fmt.GENERAL)
        self.assertEqual(fmt.ribbon_columns(ribbons["fewest_bits"]), 1)
        self.assertEqual(fmt.ribbon_columns(ribbons["32_columns"]), 32)
        for width in (16, 30):
            ribbon = ribbons[f"{width}_and_{width + 1}_columns"]
            self.assertEqual(fmt.ribbon_columns(ribbon), width)
        for name in ("mixed_widths", "16_and_17_columns", "30_and_31_columns"):
            payload = fmt.read_ribbon_payload(ribbons[name])
            self.assertTrue(0 < payload.first_wide < payload.offsets[-1])
        self.assertEqual(len(fmt.read_ribbon_payload(ribbons["many_buckets"]).offsets), 13)
        self.assertEqual(len(fmt.read_ribbon_payload(ribbons["two_anchors"]).offsets), 130)
        for name, has_compact_head in (("smallest_general", True), ("32_columns", False),
                                       ("smallest_general_in_full_frame", False)):
            self.assertEqual(fmt.has_compact_head(ribbons[name]), has_compact_head, name)
        self.assertEqual(fmt.ribbon_form(ribbons["few_distinct"]), fmt.SMALL)
        self.assertEqual(fmt.ribbon_form(ribbons["match_all_of_many"]), fmt.MATCH_ALL)
        for name, version in (("small", fmt.FULL), ("smallest_general", fmt.COMPACT),
                              ("smallest_general_in_full_frame", fmt.FULL),
                              ("few_distinct", fmt.COMPACT), ("match_all_of_many", fmt.FULL),
                              ("two_anchors", fmt.FULL), ("salted", fmt.COMPACT)):
            self.assertEqual(blocks()[f"ribbon_{name}"][4], version, name)
        self.assertTrue(ribbons["cut_range"].largest_cut)
        self.assertEqual((ribbons["common_beginning"].smallest, ribbons["common_beginning"].largest),
                         (b"0123456789ab0cd", b"0123456789ab9cd"))
        self.assertEqual(ribbons["reseeded"].parameter // 64, 1)
        self.assertEqual(fmt.ribbon_form(ribbons["match_all"]), fmt.MATCH_ALL)

    def test_goldens_of_ranges_show_what_their_names_say(self):
        ranges = {name.removeprefix("range_"): fmt.read_range_payload(fmt.parse_block(data))
                  for name, data in blocks().items()
                  if name.startswith("range_") and "no_keys" not in name}
        p, o, k = fmt.PREFIXES, fmt.ORDER, fmt.KEYS
        for name, kinds in (("one_key", [o]), ("empty_key", [k]), ("numbers_hashed", [o]),
                            ("entities_and_times", [p, o]), ("strings", [p, k]),
                            ("prefixes", [p, p, k]), ("all_parts", [p, p, p, p, o, k]),
                            ("order_only", [p, o]), ("keys_only", [k])):
            self.assertEqual(ranges[name].kinds(), kinds, name)
        for name, is_exact in (("numbers_hashed", False), ("numbers_exact", True),
                               ("numbers_consecutive", True),
                               ("entities_and_times", False)):
            self.assertEqual(ranges[name].parts[-1].is_exact, is_exact, name)
        self.assertGreater(ranges["two_groups"].parts[0].codes.buckets, BUCKETS_PER_GROUP)
        self.assertEqual({name for name, payload in ranges.items() if payload.is_partition},
                         {"partition", "partition_of_strings"})

    def test_ranges_without_keys_are_denied_and_no_others(self):
        denied = 0
        for entry in entries():
            block = fmt.parse_block(blocks()[entry["name"]])
            if fmt.has_no_keys(block) or block.family != fmt.RANGE:
                continue
            keys = sorted(keys_of(entry))
            for key, following in zip(keys, keys[1:] + [None]):
                for begin, end in ((key, key + b"\0"), (key[:3], key + b"\0"), (b"", b"\xff" * 9)):
                    self.assertTrue(fmt.query_range(block, begin, end), (entry["name"], begin, end))
                after = key[:-1] + bytes([key[-1] + 1]) if key and key[-1] < 255 else key + b"\1"
                if following is not None and after < following:
                    denied += not fmt.query_range(block, after, following)
        self.assertGreater(denied, 500)


class DamageTest(unittest.TestCase):

    def test_every_changed_byte_is_noticed(self):
        block = fmt.encode_bloom([b"apple", b"pear"], 10)
        for at in range(len(block)):
            changed = block[:at] + bytes([block[at] ^ 1]) + block[at + 1:]
            self.assertEqual(fmt.parse_block(changed).state, fmt.DAMAGED, at)

    def test_every_changed_byte_of_a_compact_block_is_noticed(self):
        block = fmt.encode_ribbon([b"key%d" % i for i in range(70)], 4)
        self.assertEqual(block[4], fmt.COMPACT)
        for at in range(len(block)):
            changed = block[:at] + bytes([block[at] ^ 1]) + block[at + 1:]
            self.assertEqual(fmt.parse_block(changed).state, fmt.DAMAGED, at)

    def test_every_cut_is_noticed(self):
        block = fmt.encode_cuckoo([b"apple", b"pear"], 10)
        for size in range(4, len(block)):
            self.assertEqual(fmt.parse_block(block[:size]).state, fmt.DAMAGED, size)

    def test_without_any_mark_a_block_is_foreign(self):
        for block in (b"", b"\x8a", bytes(100), fmt.TRAILER[1:]):
            self.assertEqual(fmt.parse_block(block).state, fmt.FOREIGN)

    def test_unknown_versions_families_and_flags_are_from_the_future(self):
        body = fmt.encode_bloom([b"apple"], 10)[:-17]
        for at, value in ((4, 0), (4, 3), (5, 0), (5, 5), (6, 2), (6, 3), (6, 128)):
            changed = fmt.seal(body[:at] + bytes([value]) + body[at + 1:])
            self.assertEqual(fmt.parse_block(changed).state, fmt.FUTURE, (at, value))


def examples_of(document):
    """The blocks in hex that stand behind the headline "## Example" of a document."""
    text = (FORMATS / document).read_text(encoding="utf-8").split("\n## Example", 1)[1]
    for fenced in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        hex_columns = (re.split(r"\s{3,}", line)[0] for line in fenced.splitlines())
        yield bytes.fromhex("".join(hex_columns))


class DocumentsTest(unittest.TestCase):
    FRUIT = [b"apple", b"pear", b"plum"]

    def check(self, document, expected, keys):
        """`expected` are the blocks of the examples."""
        self.assertEqual(list(examples_of(document)), expected)
        text = (FORMATS / document).read_text(encoding="utf-8")
        for key in keys:
            self.assertIn(f"h = {fmt.key_hash(key, None):016X}", text)

    def test_block(self):
        self.check("block.md", [fmt.encode_bloom([], 10)], [])

    def test_bloom(self):
        self.check("bloom.md", [fmt.encode_bloom(self.FRUIT, 10)], [b"plum", b"banana"])
        block = fmt.parse_block(fmt.encode_bloom(self.FRUIT, 10))
        self.assertTrue(fmt.query(block, b"plum"))
        self.assertFalse(fmt.query(block, b"banana"))

    def test_cuckoo(self):
        self.check("cuckoo.md", [fmt.encode_cuckoo(self.FRUIT, 14)], [b"pear", b"banana"])
        block = fmt.parse_block(fmt.encode_cuckoo(self.FRUIT, 14))
        self.assertTrue(fmt.query(block, b"pear"))
        self.assertFalse(fmt.query(block, b"banana"))

    def test_ribbon(self):
        small = fmt.encode_ribbon(self.FRUIT, 10)
        general = fmt.encode_ribbon([b"key%d" % i for i in range(65)], 3.3)
        self.check("ribbon.md", [small, general], [b"pear", b"banana", b"key64"])
        for block, key in ((small, b"pear"), (general, b"key64")):
            self.assertTrue(fmt.query(fmt.parse_block(block), key))
            self.assertFalse(fmt.query(fmt.parse_block(block), b"banana"))

    def test_range(self):
        numbers = [number.to_bytes(2, "big") for number in (1000, 1007, 1013)]
        exact = fmt.encode_range(numbers, 16)
        fruit = fmt.encode_range(self.FRUIT, 20, options=fmt.RangeOptions((2,), 3))
        self.check("range.md", [exact, fruit], [b"pear"])
        exact, fruit = fmt.parse_block(exact), fmt.parse_block(fruit)
        self.assertFalse(fmt.query_range(exact, b"\x03\xf0", b"\x03\xf4"))
        self.assertTrue(fmt.query_range(exact, b"\x03\xf0", b"\x03\xf6"))
        for begin, end, may in ((b"pf", b"pg", False), (b"pex", b"pez", False), (b"b", b"c", True)):
            self.assertEqual(fmt.query_range(fruit, begin, end), may, begin)
        self.assertTrue(fmt.query(fruit, b"pear"))
        prefixes, order, _ = fmt.read_range_payload(fruit).parts
        self.assertEqual([list(order.codes.codes_of(0)), order.codes.universe],
                         [[1026, 4890, 9271], 10880])
        self.assertFalse(prefixes.may_contain(b"pf"))
        text = (FORMATS / "range.md").read_text(encoding="utf-8")
        for word in (*(f"{fmt.cut_hash(key, 2, 0):016X}" for key in (b"pf", b"pe")),
                     f"{fmt.cut_hash(b'', 0, 0):016X}"):
            self.assertIn(word, text)


class Xxh3Test(unittest.TestCase):
    SEED = 0x9E3779B185EBCA8D
    # Of the bytes and lengths of xxHash's own sanity check: (length, seed, hash).
    VECTORS = [
        (0, 0, 0x2D06800538D394C2),
        (0, SEED, 0xA8A6B918B2F0364A),
        (1, 0, 0xC44BDFF4074EECDB),
        (1, SEED, 0x032BE332DD766EF8),
        (6, 0, 0x27B56A84CD2D7325),
        (6, SEED, 0x84589C116AB59AB9),
        (12, 0, 0xA713DAF0DFBB77E7),
        (12, SEED, 0xE7303E1B2336DE0E),
        (24, 0, 0xA3FE70BF9D3510EB),
        (24, SEED, 0x850E80FC35BDD690),
        (48, 0, 0x397DA259ECBA1F11),
        (48, SEED, 0xADC2CBAA44ACC616),
        (80, 0, 0xBCDEFBBB2C47C90A),
        (80, SEED, 0xC6DD0CB699532E73),
        (195, 0, 0xCD94217EE362EC3A),
        (195, SEED, 0xBA68003D370CB3D9),
        (403, 0, 0xCDEB804D65C6DEA4),
        (403, SEED, 0x6259F6ECFD6443FD),
        (512, 0, 0x617E49599013CB6B),
        (512, SEED, 0x3CE457DE14C27708),
        (2048, 0, 0xDD59E2C3A5F038E0),
        (2048, SEED, 0x66F81670669ABABC),
        (2240, 0, 0x6E73A90539CF2948),
        (2240, SEED, 0x757BA8487D1B5247),
        (2367, 0, 0xCB37AEB9E5D361ED),
        (2367, SEED, 0xD2DB3415B942B42A),
    ]

    def test_known_hashes(self):
        data = bytearray()
        state = PRIME32_1
        for _ in range(max(length for length, _, _ in self.VECTORS)):
            data.append(state >> 56)
            state = state * self.SEED & MASK64
        for length, seed, expected in self.VECTORS:
            self.assertEqual(xxh3_64(bytes(data[:length]), seed), expected, (length, seed))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for name in FAMILIES:
            write_golden(name, expected_text(name))
    else:
        unittest.main()
