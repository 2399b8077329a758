# SPDX-License-Identifier: Apache-2.0
"""The page of `rocksieve report` in a headless Chromium: nothing in its console, no wider than the
screen, light and dark, narrow and printed. The pictures were looked at once; what they consist of is
compared ever after (and in report_test.py). ROCKSIEVE_PICTURES=DIRECTORY keeps them, to be looked at
again."""

import html
import json
import os
import pathlib
import re
import shutil
import unittest

from environment import BUILT_IN, COMMAND, SMALL, Sandbox, document, load, run, run_ok
from report_test import keys

PROGRAM = shutil.which("chromium-headless-shell")
WIDTHS = (320, 360, 768, 1200)
# Between two colours, 21 if they are black and white (WCAG 2, relative luminance).
CONTRAST = """
    (() => {
      const light = colour => {
        const parts = colour.match(/[\\d.]+/g).map(Number).slice(0, 3).map(part => part / 255).map(
            part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const of = element => {
        const ink = light(getComputedStyle(element)[element.tagName === 'text' ? 'fill' : 'color']);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
      };
      return Math.min(...[...document.querySelectorAll('h1, h2, p, td, th, figcaption, text')].map(of));
    })()
"""
# Where rectangles, bars and text are: what a picture consists of, in whole pixels.
DRAWN = """
    [...document.querySelectorAll('figure.tree rect, svg.bar rect, figure.curves polyline')].filter(
        drawn => drawn.getClientRects().length > 0).map(drawn => {
      const box = drawn.getBoundingClientRect();
      return [drawn.tagName, Math.round(box.width), Math.round(box.height),
              getComputedStyle(drawn)[drawn.tagName === 'polyline' ? 'stroke' : 'fill']];
    })
"""
BOXES = "[...document.querySelectorAll('%s')].map(e => e.getBoundingClientRect().toJSON())"


def join_document():
    """Of a join, with long names and numbers."""
    bytes_by_part = {"planning_bytes": 1000, "filter_bytes": 20000, "verification_bytes": 3000,
                     "payload_bytes": 40000}
    counts = dict.fromkeys(
        "matched_keys local_only_keys remote_only_keys rows_received ranges equal_ranges ranges_by_list "
        "ranges_by_keys ranges_by_symbols ranges_by_sketch repeated_ranges filters sst_filters "
        "sst_filter_bytes sst_filters_pruned_keys shipped_keys_bytes textbook_bloom_join_bytes "
        "wire_sent_bytes wire_received_bytes attempts local_keys remote_keys keys_pruned "
        "local_false_positives remote_false_positives repeats round_trips".split(), 123456)
    ranges = {"first_key": "0x" + "00ff" * 40, "equal": False, "milliseconds": 1.5,
              "strategies": ["filter", "sketch", "symbols"], "sent": bytes_by_part,
              "received": bytes_by_part, **counts}
    return {"operation": "intersection", "rows": 1, "seconds": 0.5, "remotes": [
        {"address": "a" * 190, "seconds": 0.5, "sst_filters_note": "used", "sent": bytes_by_part,
         "received": bytes_by_part, "range_reports": [ranges] * 60, **counts}]}


@unittest.skipUnless(PROGRAM, "there is no chromium-headless-shell")
class ReportInBrowser(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = cls.class_directory / "a database"
        load(cls.database, keys(40000), f"--options={SMALL};max_bytes_for_level_multiplier=4",
             spec=BUILT_IN)
        load(cls.database, keys(20000), "--add", "--column-family=<script>alert(1)</script>&amp;",
             spec="none")
        path = cls.class_directory / "join.json"
        path.write_text(json.dumps(join_document()))
        cls.page = cls.class_directory / "report.html"
        finished = run(COMMAND, "report", f"--db={cls.database}", f"--output={cls.page}",
                       f"--join={path}", "--spec=rocksieve.auto:10")
        assert finished.code == 1, finished  # a column family has no filters

    def chromium(self, page, *flags, width=1200, height=900, dark=False):
        # As root, and in containers, it has no sandbox and little shared memory.
        return run_ok(PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                      "--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr",
                      f"--window-size={width},{height}", f"--user-data-dir={self.class_directory}/profile",
                      f"--blink-settings=preferredColorScheme={0 if dark else 1}", *flags, page.as_uri())

    def ask(self, expression, printed=False, **window):
        """What JavaScript makes of it in a copy of the page that allows scripts."""
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", self.page.read_text())
        if printed:
            for was, becomes in (("@media print", "@media all"), ("@media screen", "@media print")):
                text = text.replace(was, becomes)
        script = ("addEventListener('load', () => "
                  f"document.body.replaceChildren(JSON.stringify({expression})))")
        copy = self.directory / "copy.html"
        copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
        out = self.chromium(copy, "--dump-dom", **window).out
        return json.loads(html.unescape(re.search("(?s)<body>(.*?)</body>", out)[1]))

    def test_its_text_is_there(self):
        text, title = self.ask("[document.body.innerText, document.title]")
        for words in ("Filters of ", "Findings", "no-policy", "Column family default",
                      "Column family <script>alert(1)</script>&amp;", "The tree",
                      "Recommended: rocksieve.", "Join: intersection", "40,000 B sent",
                      "10 ranges more", "needs no network"):
            self.assertIn(words, text)
        self.assertEqual("Filters of " + str(self.database), title)
        # Tables and pictures speak.
        named = self.ask("[...document.querySelectorAll('svg[role=img]')].map(picture => "
                         "picture.getAttribute('aria-labelledby').split(' ').map(name => "
                         "document.getElementById(name).textContent))")
        self.assertTrue(named and all(title and text for title, text in named))
        self.assertEqual(0, self.ask(
            "[...document.querySelectorAll('table')].filter(t => !t.caption.textContent).length"))
        keep = pathlib.Path(os.environ.get("ROCKSIEVE_PICTURES") or self.directory)
        for width, dark in ((1200, False), (1200, True), (360, False)):
            height = self.ask("document.documentElement.scrollHeight", width=width)
            shown = self.chromium(self.page, f"--screenshot={keep}/report-{width}{'-dark' * dark}.png",
                                  width=width, height=height, dark=dark)
            self.assertNotIn("CONSOLE", shown.err)

    def test_nothing_is_wider_than_the_screen(self):
        for width in WIDTHS:
            boxes, widest, narrow, wide, page = self.ask("[%s, %s, %s, %s, %s]" % (
                BOXES % "h1, h2, h3, p, li, figure, .scroll, table.bars",
                "Math.max(...[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth))",
                BOXES % ".on-narrow text", BOXES % ".on-wide svg",
                "document.documentElement.scrollWidth"), width=width)
            self.assertEqual(width, page)
            for box in boxes:
                self.assertGreaterEqual(box["left"], -2)  # of headings for the ear alone
                self.assertLessEqual(box["right"], width + 0.5, box)
            # Tables scroll by themselves.
            self.assertTrue(widest > width - 50 or width >= 1200, widest)
            if width == 360:  # letters can be read on a telephone
                self.assertGreater(min(box["height"] for box in narrow), 10)
                self.assertEqual({0}, {box["width"] for box in wide})

    def test_it_is_light_or_dark_as_asked(self):
        light, dark = (self.ask("[getComputedStyle(document.body).backgroundColor, %s, %s]" %
                                (CONTRAST, DRAWN), dark=dark) for dark in (False, True))
        for (colour, contrast, _), least, most in ((light, 230, 255), (dark, 0, 40)):
            self.assertTrue(least < sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 <= most, colour)
            self.assertGreater(contrast, 4.5)
        self.assertEqual([parts[:3] for parts in light[2]], [parts[:3] for parts in dark[2]])
        self.assertNotEqual(light[2], dark[2])

    def test_pictures_consist_of_what_they_show(self):
        [explained] = document("explain", f"--db={self.database}", "--column-family=default")[
            "column_families"]
        # Files in their levels, as wide as their keys, and the filters in them as high as bits.
        levels = self.ask("""
            [...document.querySelector('figure.tree').querySelectorAll('.level svg')].map(strip =>
              [...strip.querySelectorAll('g')].map(cell => [...cell.querySelectorAll('rect')].map(
                  part => part.getBoundingClientRect().toJSON())))
        """)
        self.assertEqual([level["files"] for level in explained["levels"]], list(map(len, levels)))
        for level, cells in zip(explained["levels"], levels):
            files = [file for file in explained["table_files"] if file["level"] == level["level"]]
            mean = level["keys"] / level["files"]
            scales = set()
            for file, (box, filled) in zip(files, cells):
                self.assertAlmostEqual(box["bottom"], filled["bottom"], delta=0.5)
                bits = 8 * file["filter_bytes"] / file["keys"]
                if bits < 12:
                    scales.add(round(box["height"] * bits / filled["height"]))
            self.assertLessEqual(len(scales), 1, "one scale for all")
            plain = [(box["width"] / file["keys"]) for file, (box, _) in zip(files, cells)
                     if file["keys"] > mean / 2]
            self.assertLess(max(plain) / min(plain), 1.05)
            lefts = [box["left"] for box, _ in cells]
            self.assertEqual(sorted(lefts), lefts)
        # Curves fall to the right, in five colours.
        lines = self.ask(
            "[...document.querySelector('.on-wide').querySelectorAll('polyline')].map(line => "
            "[getComputedStyle(line).stroke, [...line.points].map(point => [point.x, point.y])])")
        self.assertEqual(5, len({colour for colour, _ in lines}))
        for _, points in lines:
            self.assertEqual(sorted(points), points)
            self.assertGreater(points[-1][1], points[0][1])

    def test_it_prints(self):
        path = pathlib.Path(os.environ.get("ROCKSIEVE_PICTURES") or self.directory) / "report.pdf"
        self.chromium(self.page, f"--print-to-pdf={path}", dark=True)
        pdf = path.read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertTrue(3 <= pages <= 20, pages)
        # On white paper, and no table is cut off: A4 with its margins has 688 pixels.
        paper, tables = self.ask("[getComputedStyle(document.body).backgroundColor, %s]" %
                                 (BOXES % "table"), printed=True, width=688, dark=True)
        self.assertEqual("rgb(255, 255, 255)", paper)
        self.assertEqual([], [box for box in tables if box["right"] > 690])


if __name__ == "__main__":
    unittest.main()
