# SPDX-License-Identifier: Apache-2.0
"""The page that `rocksieve report` writes, as a tree of elements, and what all such pages keep to."""

import html.parser
import json
import random
import re

from environment import BUILD, SEED, Sandbox, run, run_ok

COMMAND = BUILD / "bin" / "rocksieve"
VOID = {"meta", "br", "col", "rect", "line", "circle", "polyline"}  # of ours, those without an end
# Several levels of small files.
SMALL = ("write_buffer_size=65536;target_file_size_base=65536;max_bytes_for_level_base=262144;"
         "max_bytes_for_level_multiplier=4;compression=kNoCompression")
HOSTILE = "<script>alert(1)</script>&\"'\u202e\x01"


class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    def all(self, tag, **attributes):
        """Those below it, in their order; `class_` is one of the classes."""
        for child in self.children:
            if isinstance(child, str):
                continue
            classes = (child.attributes.get("class") or "").split()
            wanted = {name: value for name, value in attributes.items() if name != "class_"}
            if (child.tag == tag and attributes.get("class_", "") in [*classes, ""] and
                    all(child.attributes.get(name) == value for name, value in wanted.items())):
                yield child
            yield from child.all(tag, **attributes)

    def text(self):
        """What can be read."""
        return "".join(child if isinstance(child, str) else child.text()
                       for child in self.children if self.tag != "style")


class Page(html.parser.HTMLParser):
    """The tree of a document in which every element is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.root = Element("", {})
        self.open, self.declarations = [self.root], []
        self.feed(text)
        self.close()
        if len(self.open) != 1:
            raise AssertionError(f"not closed: {[element.tag for element in self.open]}")

    def handle_decl(self, declaration):
        self.declarations.append(declaration)

    def handle_starttag(self, tag, attributes):
        if len({name for name, _ in attributes}) != len(attributes):
            raise AssertionError(f"{tag}: an attribute twice")
        element = Element(tag, attributes)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            raise AssertionError(f"{tag} is closed at once")

    def handle_endtag(self, tag):
        if self.open[-1].tag != tag:
            raise AssertionError(f"</{tag}> closes {self.open[-1].tag}")
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def outline(self):
        """Every element with its class, and no text: what two pages of one tree have in common."""
        def walk(element, depth):
            for child in element.children:
                if not isinstance(child, str):
                    yield depth, child.tag, child.attributes.get("class")
                    yield from walk(child, depth + 1)
        return list(walk(self.root, 0))


class Report(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = cls.class_directory / "db"
        randomness = random.Random(SEED)
        cls.keys = [f"{randomness.randrange(10**12):012}" for _ in range(60000)]
        cls.load(cls.database, cls.keys, f"--options={SMALL}", spec="bloomfilter:10:false")

    @staticmethod
    def load(database, keys, *flags, spec="rocksieve.bloom:10"):
        run_ok(COMMAND, "load", f"--db={database}", f"--spec={spec}", "--input=-", *flags,
               stdin="".join(f"{key}\tvalue of {key}\n" for key in keys))

    def report(self, *flags, database=None, code=0):
        """The page's tree, which keeps to what all pages do."""
        output = self.directory / "report.html"
        finished = run(COMMAND, "report", f"--db={database or self.database}",
                       f"--output={output}", *flags)
        self.assertEqual((code, ""), (finished.code, finished.err), finished)
        self.said = finished.out
        return self.check(output)

    def check(self, output):
        text = output.read_text(encoding="utf-8")
        self.assertNotRegex(text, r"(?i)https?:|//|url\(|@import|<script|javascript:|\bon\w+=")
        page = Page(text)
        self.assertEqual(["DOCTYPE html"], page.declarations)
        [style] = page.root.all("style")
        self.assertIn("prefers-color-scheme: dark", style.children[0])
        self.assertIn("@media print", style.children[0])
        metas = [meta.attributes for meta in page.root.all("meta")]
        self.assertIn({"charset": "utf-8"}, metas)
        self.assertIn({"name": "viewport", "content": "width=device-width, initial-scale=1"}, metas)
        [policy] = [meta["content"] for meta in metas
                    if meta.get("http-equiv") == "Content-Security-Policy"]
        self.assertTrue(policy.startswith("default-src 'none'; style-src 'unsafe-inline'"), policy)
        ids = re.findall(r' id="([^"]*)"', text)
        self.assertEqual(len(ids), len(set(ids)), "an id twice")
        for names in re.findall(r' aria-labelledby="([^"]*)"', text):
            self.assertLessEqual(set(names.split()), set(ids))
        for anchor in re.findall(r' href="([^"]*)"', text):
            self.assertIn(anchor[1:], ids)
        headings = [int(tag[1]) for _, tag, _ in page.outline() if re.fullmatch("h[1-6]", tag)]
        self.assertEqual((1, 1), (headings[0], headings.count(1)))
        for before, after in zip(headings, headings[1:]):
            self.assertLessEqual(after, before + 1, headings)
        for picture in page.root.all("svg"):
            if picture.attributes.get("aria-hidden") == "true":
                continue
            self.assertEqual("img", picture.attributes["role"])
            self.assertEqual(["title", "desc"], [child.tag for child in picture.children
                                                 if not isinstance(child, str)][:2])
        for number in re.findall(r' (?:x|y|width|height|x1|x2|y1|y2)="([^"]*)"', text):
            self.assertRegex(number, r"^-?\d+(\.\d+)?$")
        self.assertNotIn("\ufffe", text)
        return page

    def json_of(self, command, *flags, database=None):
        return json.loads(run(COMMAND, command, f"--db={database or self.database}", "--json",
                              *flags).out)
