# SPDX-License-Identifier: Apache-2.0
"""The page of `rocksieve report` in a headless Chromium: nothing in its console, nothing fetched, no
wider than the screen, light and dark, narrow and printed. The pictures were looked at once; what
they consist of is compared ever after (and in report_test.py). ROCKSIEVE_PICTURES=DIRECTORY keeps
them, to be looked at again."""

import json
import os
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import browser
from environment import SEED, Sandbox, run, run_ok
from report_page import COMMAND, SMALL

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


@unittest.skipUnless(browser.PROGRAM, "there is no chromium-headless-shell, and no chromium")
class ReportInBrowser(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        randomness = random.Random(SEED)
        keys = [f"{randomness.randrange(10**12):012}" for _ in range(40000)]
        cls.database = cls.class_directory / "a database"
        load = (COMMAND, "load", f"--db={cls.database}", "--input=-")
        lines = "".join(f"{key}\tvalue of {key}\n" for key in keys)
        run_ok(*load, "--spec=bloomfilter:10:false", f"--options={SMALL}", stdin=lines)
        run_ok(*load, "--spec=none", "--add", "--column-family=<script>alert(1)</script>&amp;",
               stdin=lines[:20000])
        bytes_by_part = {"planning_bytes": 1000, "filter_bytes": 20000, "verification_bytes": 3000,
                         "payload_bytes": 40000}
        counts = dict.fromkeys((
            "matched_keys", "local_only_keys", "remote_only_keys", "rows_received", "ranges",
            "equal_ranges", "ranges_by_list", "ranges_by_keys", "ranges_by_symbols",
            "ranges_by_sketch", "repeated_ranges", "filters", "sst_filters", "sst_filter_bytes",
            "sst_filters_pruned_keys", "shipped_keys_bytes", "textbook_bloom_join_bytes",
            "wire_sent_bytes", "wire_received_bytes", "attempts", "local_keys", "remote_keys",
            "keys_pruned", "local_false_positives", "remote_false_positives", "repeats",
            "round_trips"), 123456)
        ranges = {"first_key": "0x" + "00ff" * 40, "equal": False, "milliseconds": 1.5,
                  "strategies": ["filter", "sketch", "symbols"], "sent": bytes_by_part,
                  "received": bytes_by_part, **counts}
        join = {"operation": "intersection", "rows": 1, "seconds": 0.5, "remotes": [
            {"address": "a" * 190, "seconds": 0.5, "sst_filters_note": "used", "sent": bytes_by_part,
             "received": bytes_by_part, "range_reports": [ranges] * 60, **counts}]}
        path = cls.class_directory / "join.json"
        path.write_text(json.dumps(join))
        cls.page = cls.class_directory / "report.html"
        finished = run(COMMAND, "report", f"--db={cls.database}", f"--output={cls.page}",
                       f"--join={path}", "--spec=rocksieve.auto:10")
        if finished.code != 1:  # a column family has no filters
            raise AssertionError(finished)
        cls.browser = browser.Browser()
        cls.browser.__enter__()
        cls.addClassCleanup(cls.browser.__exit__, None, None, None)

    def show(self, **settings):
        self.browser.show(self.page, **settings)
        self.assertEqual([], self.browser.console())
        self.assertEqual([self.page.as_uri()], self.browser.requests())
        keep = os.environ.get("ROCKSIEVE_PICTURES")
        if keep:
            words = "-".join(f"{name}-{value}" for name, value in settings.items())
            self.browser.screenshot(pathlib.Path(keep) / f"report-{words or 'light'}.png")

    def test_its_text_is_there(self):
        self.show()
        text = self.browser.ask("document.body.innerText")
        for words in ("Filters of ", "Findings", "no-policy", "Column family default",
                      "Column family <script>alert(1)</script>&amp;", "The tree",
                      "Recommended: rocksieve.", "Join: intersection", "40,000 B sent",
                      "10 ranges more", "needs no network"):
            self.assertTrue(words in text, f"{words} is not in {text[:3000]}")
        self.assertEqual("Filters of " + str(self.database), self.browser.ask("document.title"))

    def test_nothing_is_wider_than_the_screen(self):
        for width in WIDTHS:
            self.show(width=width)
            self.assertEqual(width, self.browser.ask("document.documentElement.scrollWidth"))
            for box in self.browser.ask(BOXES % "h1, h2, h3, p, li, figure, .scroll, table.bars"):
                self.assertGreaterEqual(box["left"], -2)  # of headings for the ear alone
                self.assertLessEqual(box["right"], width + 0.5, box)
            # Tables scroll by themselves.
            widest = self.browser.ask(
                "Math.max(...[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth))")
            self.assertTrue(widest > width - 50 or width >= 1200, widest)

    def test_letters_can_be_read_on_a_telephone(self):
        self.show(width=360)
        for box in self.browser.ask(BOXES % ".on-narrow text"):
            self.assertGreater(box["height"], 10, box)
        self.assertEqual([], [box for box in self.browser.ask(BOXES % ".on-wide svg")
                              if box["width"] > 0])

    def test_it_is_light_or_dark_as_asked(self):
        papers, drawn = {}, {}
        for dark in (False, True):
            self.show(dark=dark)
            colour = self.browser.ask("getComputedStyle(document.body).backgroundColor")
            papers[dark] = sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
            self.assertGreater(self.browser.ask(CONTRAST), 4.5)
            drawn[dark] = self.browser.ask(DRAWN)
        self.assertGreater(papers[False], 230)
        self.assertLess(papers[True], 40)
        places = {dark: [parts[:3] for parts in drawn[dark]] for dark in drawn}
        self.assertEqual(places[False], places[True])
        self.assertNotEqual(drawn[False], drawn[True])

    def test_pictures_consist_of_what_they_show(self):
        self.show()
        explained = json.loads(run_ok(COMMAND, "explain", f"--db={self.database}", "--json",
                                      "--column-family=default").out)["column_families"][0]
        # Files in their levels, as wide as their keys, and the filters in them as high as bits.
        levels = self.browser.ask("""
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
        lines = self.browser.ask(
            "[...document.querySelector('.on-wide').querySelectorAll('polyline')].map(line => "
            "[getComputedStyle(line).stroke, [...line.points].map(point => [point.x, point.y])])")
        self.assertEqual(5, len({colour for colour, _ in lines}))
        for _, points in lines:
            self.assertEqual(sorted(points), points)
            self.assertGreater(points[-1][1], points[0][1])

    def test_tables_and_pictures_speak(self):
        self.show()
        named = self.browser.ask("[...document.querySelectorAll('svg[role=img]')].map(picture => "
                                 "picture.getAttribute('aria-labelledby').split(' ').map(name => "
                                 "document.getElementById(name).textContent))")
        self.assertTrue(named and all(title and text for title, text in named))
        self.assertEqual(0, self.browser.ask(
            "[...document.querySelectorAll('table')].filter(t => !t.caption.textContent).length"))

    def test_it_prints(self):
        self.show(dark=True)
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertTrue(3 <= pages <= 20, pages)
        keep = os.environ.get("ROCKSIEVE_PICTURES")
        if keep:
            (pathlib.Path(keep) / "report.pdf").write_bytes(pdf)
        # On white paper, and no table is cut off: A4 with its margins has 688 pixels.
        self.browser.call("Emulation.setEmulatedMedia", media="print", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
        self.browser.call("Emulation.setDeviceMetricsOverride", width=688, height=900,
                          deviceScaleFactor=1, mobile=False)
        self.assertEqual("rgb(255, 255, 255)",
                         self.browser.ask("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual([], [box for box in self.browser.ask(BOXES % "table")
                              if box["right"] > 690])
        self.browser.call("Emulation.setEmulatedMedia", media="")


if __name__ == "__main__":
    unittest.main()
