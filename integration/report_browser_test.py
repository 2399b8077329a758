# SPDX-License-Identifier: Apache-2.0
"""The page of `rocksieve report` in a headless Chromium: nothing in its console, nothing fetched, no
wider than the screen, light and dark, narrow and printed. The pictures were looked at once; what
they consist of is compared ever after (and in report_test.py). ROCKSIEVE_PICTURES=DIRECTORY keeps
them, to be looked at again."""

import base64
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import time
import unittest

from environment import BUILT_IN, COMMAND, SMALL, Sandbox, document, load, run
from report_test import keys

# The first is a Debian package of its own, a third as large as the other.
PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
SECONDS = 60  # for an answer
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


class Browser:
    """Chromium, which shows a page and tells what is in it, by its DevTools protocol
    (https://chromedevtools.github.io/devtools-protocol/) over a pipe: nothing listens, and no library
    is needed."""

    def __init__(self, profile):
        self._log = profile / "log"

        def above(descriptor):
            """The same beyond the numbers that the browser is to have its descriptors by."""
            higher = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
            os.close(descriptor)
            return higher

        to_read, self._to = map(above, os.pipe())
        self._from, to_write = map(above, os.pipe())
        log = above(os.open(self._log, os.O_CREAT | os.O_WRONLY, 0o600))
        # As root, and in containers, it has no sandbox and little shared memory.
        words = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                 f"--user-data-dir={profile}/profile", "about:blank"]
        self._process = os.posix_spawn(
            PROGRAM, words, dict(os.environ, HOME=str(profile)), setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, to_write, 4),
                          (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
        for descriptor in (to_read, to_write, log):
            os.close(descriptor)
        self._number, self._buffer, self._events, self._session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def end(self):
        os.killpg(self._process, signal.SIGKILL)  # its own group: what it started goes with it
        os.waitpid(self._process, 0)
        time.sleep(1)  # the last of its processes may write yet

    def _receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0, end - time.monotonic()))
            some = os.read(self._from, 1 << 20) if ready else b""
            if not some:
                raise AssertionError(f"{PROGRAM} says nothing: "
                                     f"{self._log.read_text(errors='replace')[-2000:]}")
            self._buffer += some
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        with open(self._to, "wb", closefd=False) as pipe:
            pipe.write(json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self._events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def parameters_of(self, *methods):
        """Of the events of such names since the page was shown."""
        return [event["params"] for event in self._events if event.get("method") in methods]

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def media(self, kind, dark):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def show(self, page, width=1200, height=900, dark=False):
        """Goes there, and waits until all of it is there. Forgets the events before."""
        self.resize(width, height)
        self.media("", dark)
        self._events.clear()
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        while not self.parameters_of("Page.loadEventFired"):
            self._events.append(self._receive())

    def ask(self, expression):
        """What JavaScript makes of it in the page; a page's policy does not bind the debugger."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, path):
        """All of the page, as a PNG file. It is as high as the page afterwards: what is out of sight
        may not be drawn."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        self.resize(int(size["width"]), int(size["height"]))
        picture = self.call("Page.captureScreenshot", format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


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


@unittest.skipUnless(PROGRAM, "there is no chromium-headless-shell, and no chromium")
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
        cls.browser = Browser(cls.class_directory)
        cls.addClassCleanup(cls.browser.end)

    def show(self, **settings):
        self.browser.show(self.page, **settings)
        self.assertEqual([], self.browser.parameters_of(
            "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"))
        self.assertEqual([self.page.as_uri()], [
            asked["request"]["url"] for asked in
            self.browser.parameters_of("Network.requestWillBeSent")])
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
            self.assertIn(words, text)
        self.assertEqual("Filters of " + str(self.database), self.browser.ask("document.title"))
        # Tables and pictures speak.
        named = self.browser.ask("[...document.querySelectorAll('svg[role=img]')].map(picture => "
                                 "picture.getAttribute('aria-labelledby').split(' ').map(name => "
                                 "document.getElementById(name).textContent))")
        self.assertTrue(named and all(title and text for title, text in named))
        self.assertEqual(0, self.browser.ask(
            "[...document.querySelectorAll('table')].filter(t => !t.caption.textContent).length"))

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
            if width == 360:  # letters can be read on a telephone
                for box in self.browser.ask(BOXES % ".on-narrow text"):
                    self.assertGreater(box["height"], 10, box)
                for box in self.browser.ask(BOXES % ".on-wide svg"):
                    self.assertEqual(0, box["width"])

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
        places = [[parts[:3] for parts in drawn[dark]] for dark in drawn]
        self.assertEqual(*places)
        self.assertNotEqual(drawn[False], drawn[True])

    def test_pictures_consist_of_what_they_show(self):
        self.show()
        [explained] = document("explain", f"--db={self.database}", "--column-family=default")[
            "column_families"]
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
        self.browser.media("print", dark=True)
        self.browser.resize(688, 900)
        self.assertEqual("rgb(255, 255, 255)",
                         self.browser.ask("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual([], [box for box in self.browser.ask(BOXES % "table") if box["right"] > 690])


if __name__ == "__main__":
    unittest.main()
