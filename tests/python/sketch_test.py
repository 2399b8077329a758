#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/formats/sketches.md, which are the unit tests' golden bytes as well: made
here from the document alone, and looked up in its text and in tests/unit."""

import pathlib
import re
import unittest

import sketch_format as f

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/formats/sketches.md").read_text(encoding="utf-8")
UNIT = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit").glob("*.cc"))
HASHES = [0x0000000100000002, 0x7FFFFFFF12345678, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000]


def multiples(count):
    return [i * f.GOLDEN & f.M64 for i in range(1, count + 1)]


class Examples(unittest.TestCase):
    longMessage = False  # not the whole page

    def expect(self, data):
        """These bytes stand in the page, and in a unit test."""
        self.expect_text(f"`{data.hex(' ').upper()}`", f'"{data.hex()}"')

    def expect_text(self, in_page, in_unit):
        self.assertTrue(in_page in PAGE, f"not in the page: {in_page}")
        self.assertTrue(in_unit in UNIT, f"not in tests/unit: {in_unit}")

    def test_hash_for_step(self):
        value = f.hash_for_step(1, 2, 3)
        self.expect_text(f"{value:016X}", f"{value}u")

    def test_set_sum(self):
        apple_and_pear = [  # XXH3-128, seed 1, low and high; not computed here
            (0xA2251986D9D50F3D, 0x40B3100E9E54E5D6), (0xA1EC78F9F70CDF60, 0xCFAD38EDCAFE5D1B)]
        self.expect(f.set_sum(apple_and_pear, 0x0123456789ABCDEF))

    def test_flags(self):
        coded = bytes.fromhex("03031ba3d0")
        self.expect(coded)
        self.assertEqual([i for i, flag in enumerate(f.decode_flags(coded, 100)) if flag],
                         [3, 50, 51])

    def test_sorted_numbers(self):
        self.expect(f.sorted_numbers([5, 100, 100, 260, 1000], 7, [1, 2, 3, 0, 1], 2))

    def test_difference_estimator(self):
        self.expect(f.difference_estimator(multiples(40), 8, 3))

    def test_k_minimum_values(self):
        self.expect(f.k_minimum_values(multiples(9), 4, 0, 60))
        self.expect(f.k_minimum_values(multiples(9), 4, 0x35, 7))

    def test_rateless(self):
        for identity in (0, 1, 0xFEDCBA9876543210):
            symbols = list(f.rateless_symbols_of(identity, 20000))[:12]
            self.expect_text(f"| {' '.join(map(str, symbols))} |",
                             f"{{{', '.join(map(str, symbols))}}}")
        self.expect(f.rateless_cells([1, 2, 3, 0xFEDCBA9876543210], 3))

    def test_pinsketch(self):
        sketch = f.PinSketch(HASHES, 10, 5, 1, [3, 5])
        for data in (sketch.plan(), sketch.sketch(), sketch.answer([(2, 1), (4, 2)])):
            self.expect(data)

    def test_positions(self):
        many = f.PositionSketch([], 11, 489, 8, 164, 7)
        self.expect(many.plan())
        self.assertIn(", ".join(map(str, many.parity[:-1])), PAGE)
        few = f.PositionSketch([i % 3 == 0 for i in range(40)], 6, 9, 1, 20, 7)
        self.expect(few.plan())
        self.expect(few.sketch())

    def test_every_primitive_polynomial_is_named(self):
        row = re.search(r"\| hex \|(.*)\|", PAGE).group(1)
        self.assertEqual([int(h, 16) for h in row.split("|")], list(f.POLYNOMIALS.values()))


if __name__ == "__main__":
    unittest.main()
