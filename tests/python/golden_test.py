#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden filter blocks: the bytes that the format documents demand, once and for all.

    golden_test.py            tests (also: python3 -m unittest)
    golden_test.py --write    writes tests/golden/{bloom,cuckoo,range,ribbon}.json anew

The blocks come from the Python encoder, never from the C++ code, which is held to them in turn. A
family's file says how each of its blocks is made: "keys" is a list of keys in hex, or {"pattern",
"count"}: the pattern with 0, 1, .. count - 1 for its %d, or {"first", "step", "count"}: numbers of
eight bytes, the most significant first, modulo 2^64. "frame" is 1 for a block that only older
versions write. A range filter whose name has "partition" in it is one of several of its file. "salt" is
the number in hex, or null. The block itself is "bytes", in lines of hex. The toolbox's golden bytes, of
toolbox_test.py, are in toolbox.json, with their names alone.
"""

import re
import sys
import unittest

import rocksieve_format as fmt
from golden_files import (FAMILIES, GOLDEN, ROOT, blocks, entries, expected_text, keys_of,
                          read_golden, write_golden)
from xxh3 import MASK64, xxh3_64

FORMATS = ROOT / "docs" / "formats"


class GoldenTest(unittest.TestCase):

    def test_files_are_what_the_encoder_writes(self):
        self.assertEqual({path.stem for path in GOLDEN.iterdir()}, {*FAMILIES, "toolbox"})
        for family in FAMILIES:
            with self.subTest(family):
                text = (GOLDEN / f"{family}.json").read_text(encoding="ascii")
                self.assertEqual(text, expected_text(family))
        read = {name: data for family in FAMILIES for name, data in read_golden(family).items()}
        self.assertEqual(read, blocks())

    def test_blocks_are_intact_and_contain_their_keys(self):
        for entry in entries():
            with self.subTest(entry["name"]):
                block = fmt.parse_block(blocks()[entry["name"]])
                self.assertEqual(block.state, fmt.INTACT)
                for key in keys_of(entry):
                    self.assertTrue(fmt.query(block, key), key)

    def test_goldens_show_what_their_names_say(self):
        parsed = {name: fmt.parse_block(data) for name, data in blocks().items()}

        def is_mixed(payload):
            return 0 < payload.first_wide < payload.offsets[-1]

        def cuckoo(name):
            return fmt.read_cuckoo_payload(parsed[f"cuckoo_{name}"])

        def ribbon(name):
            return parsed[f"ribbon_{name}"]

        def general(name):
            return fmt.read_ribbon_payload(ribbon(name))

        for expected, values in (
                (fmt.PROBE_COUNTS, [parsed[f"bloom_{n}_probe{'s' * (n > 1)}"].parameter
                                    for n in fmt.PROBE_COUNTS]),
                ((True, True, False, True), [parsed[f"bloom_{name}"].largest_cut for name in (
                    "cut_range", "cut_largest", "uncut_largest")] + [ribbon("cut_range").largest_cut]),
                ((5,), [parsed["bloom_duplicates"].key_count]),
                ((28, 60), [parsed[f"cuckoo_{bits}_bits"].parameter
                            for bits in ("28_and_29", "60_and_61")]),
                ((2, 18, [0, 1]), [cuckoo("two_shards").shards,
                                   cuckoo("retried").offsets[-1],  # 14 were planned
                                   cuckoo("unbuildable").offsets]),
                ((True,) * 6, [is_mixed(cuckoo(name)) for name in (
                    "mixed_widths", "28_and_29_bits", "60_and_61_bits")] + [
                        is_mixed(general(name)) for name in (
                            "mixed_widths", "16_and_17_columns", "30_and_31_columns")]),
                ((fmt.SMALL,) * 4 + (fmt.GENERAL,) + (fmt.MATCH_ALL,) * 2, [
                    fmt.ribbon_form(ribbon(name)) for name in (
                        "one_key", "small", "largest_small", "few_distinct", "smallest_general",
                        "match_all", "match_all_of_many")]),
                ((1, 16, 30, 32), [fmt.ribbon_columns(ribbon(name)) for name in (
                    "fewest_bits", "16_and_17_columns", "30_and_31_columns", "32_columns")]),
                ((13, 130), [len(general(name).offsets) for name in ("many_buckets", "two_anchors")]),
                ((True, False, False), [fmt.has_compact_head(ribbon(name)) for name in (
                    "smallest_general", "32_columns", "smallest_general_in_full_frame")]),
                ((fmt.COMPACT,) * 3 + (fmt.FULL,) * 4, [blocks()[f"ribbon_{name}"][4] for name in (
                    "smallest_general", "few_distinct", "salted", "small",
                    "smallest_general_in_full_frame", "match_all_of_many", "two_anchors")]),
                ((b"0123456789ab0cd", b"0123456789ab9cd"), [ribbon("common_beginning").smallest,
                                                            ribbon("common_beginning").largest]),
                ((1,), [ribbon("reseeded").parameter // 64])):
            self.assertEqual(list(expected), values)
        self.assertGreater(parsed["cuckoo_wide"].parameter, 32)

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
        self.assertGreater(ranges["two_groups"].parts[0].codes.buckets, fmt.BUCKETS_PER_GROUP)
        self.assertEqual({name for name, payload in ranges.items() if payload.is_partition},
                         {"partition", "partition_of_strings"})


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

    def test_families(self):
        bloom, cuckoo = fmt.encode_bloom(self.FRUIT, 10), fmt.encode_cuckoo(self.FRUIT, 13.58)
        small = fmt.encode_ribbon(self.FRUIT, 10)
        general = fmt.encode_ribbon([b"key%d" % i for i in range(65)], 3.3)
        self.check("block.md", [fmt.encode_bloom([], 10)], [])
        self.check("bloom.md", [bloom], [b"plum", b"banana"])
        self.check("cuckoo.md", [cuckoo], [b"pear", b"banana"])
        self.check("ribbon.md", [small, general], [b"pear", b"banana", b"key64"])
        for data, key in ((bloom, b"plum"), (cuckoo, b"pear"), (small, b"pear"), (general, b"key64")):
            block = fmt.parse_block(data)
            self.assertEqual((True, False), (fmt.query(block, key), fmt.query(block, b"banana")))

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
    # Of xxHash's own sanity check: a length of its bytes, and their hashes without and with the seed.
    VECTORS = [
        (12, 0xA713DAF0DFBB77E7, 0xE7303E1B2336DE0E),
        (195, 0xCD94217EE362EC3A, 0xBA68003D370CB3D9),
        (2367, 0xCB37AEB9E5D361ED, 0xD2DB3415B942B42A),
    ]

    def test_known_hashes(self):
        data = bytearray()
        state = 0x9E3779B1
        for _ in range(max(length for length, _, _ in self.VECTORS)):
            data.append(state >> 56)
            state = state * self.SEED & MASK64
        for length, *expected in self.VECTORS:
            self.assertEqual([xxh3_64(bytes(data[:length]), seed) for seed in (0, self.SEED)],
                             expected, length)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for name in FAMILIES:
            write_golden(name, expected_text(name))
    else:
        unittest.main()
