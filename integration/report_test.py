# SPDX-License-Identifier: Apache-2.0
"""`rocksieve report`: that its page is well-formed, says what explain, whatif and doctor say, has no
names in it unescaped and nothing from elsewhere; and what becomes of files. How it looks is
report_browser_test.py's concern."""

import html.parser
import os
import random
import re
import signal
import subprocess
import unittest

from environment import (BUILT_IN, COMMAND, SEED, SMALL, Sandbox, document, load, run, thorough,
                         traces, wait_for)

VOID = {"meta", "br", "col", "rect", "line", "circle", "polyline"}  # of ours, those without an end


def keys(count):
    chance = random.Random(SEED)
    return [f"{chance.randrange(10**12):012}" for _ in range(count)]


class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    def all(self, tag="", class_=""):
        """Those below it, in their order; of one tag, and of one class among others."""
        for child in self.children:
            if not isinstance(child, str):
                classes = (child.attributes.get("class") or "").split()
                if tag in (child.tag, "") and class_ in (*classes, ""):
                    yield child
                yield from child.all(tag, class_)

    def texts(self, tag, class_=""):
        return [element.text().strip() for element in self.all(tag, class_)]

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
        assert len(self.open) == 1, f"not closed: {[element.tag for element in self.open]}"

    def handle_decl(self, declaration):
        self.declarations.append(declaration)

    def handle_starttag(self, tag, attributes):
        assert len({name for name, _ in attributes}) == len(attributes), f"{tag}: an attribute twice"
        element = Element(tag, attributes)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID, f"{tag} is closed at once"
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


class Report(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = cls.class_directory / "db"
        # Several levels of small files.
        load(cls.database, keys(60000), f"--options={SMALL};max_bytes_for_level_multiplier=4",
             spec=BUILT_IN)

    def setUp(self):
        super().setUp()
        self.output = self.directory / "report.html"
        self.other = self.directory / "db"

    def write(self, *flags, database=None, code=0):
        finished = run(COMMAND, "report", f"--db={database or self.database}",
                       f"--output={self.output}", *flags)
        self.assertEqual((code, ""), (finished.code, finished.err), finished)
        return finished.out

    def report(self, *flags, database=None, code=0):
        """The page's tree, which keeps to what all pages do. Nothing of the database is written."""
        before = traces(database or self.database)
        self.said = self.write(*flags, database=database, code=code)
        self.assertEqual(before, traces(database or self.database))
        return self.check()

    def check(self):
        text = self.output.read_text(encoding="utf-8")
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
        for names in re.findall(r' aria-labelledby="([^"]*)"| href="#([^"]*)"', text):
            self.assertLessEqual(set(" ".join(names).split()), set(ids))
        self.assertNotRegex(text, ' href="[^#]')
        headings = [int(element.tag[1]) for element in page.root.all()
                    if re.fullmatch("h[1-6]", element.tag)]
        self.assertEqual((1, 1), (headings[0], headings.count(1)))
        for before, after in zip(headings, headings[1:]):
            self.assertLessEqual(after, before + 1, headings)
        for picture in page.root.all("svg"):
            if picture.attributes.get("aria-hidden") != "true":
                self.assertEqual("img", picture.attributes["role"])
                self.assertEqual(["title", "desc"], [child.tag for child in picture.children
                                                     if not isinstance(child, str)][:2])
        self.assertNotRegex(text, r' (?:x|y|width|height|x1|x2|y1|y2)="(?!-?\d+(\.\d+)?")')
        return page.root


class Content(Report):
    def test_the_tree_has_a_cell_for_each_file(self):
        [tree] = self.report().all("figure", "tree")
        [family] = document("explain", f"--db={self.database}")["column_families"]
        levels = list(tree.all("div", "level"))
        self.assertEqual([level["level"] for level in family["levels"]],
                         [int(level.text().split()[0][1:]) for level in levels])
        for level, picture in zip(family["levels"], levels):
            files = [file for file in family["table_files"] if file["level"] == level["level"]]
            titles = [title for group in picture.all("g") for title in group.texts("title")]
            self.assertEqual(len(files), len(titles))
            for file, title in zip(files, titles):
                self.assertRegex(title, rf"{file['name']}.*: {file['keys']:,} keys?,.*RocksDB Bloom")
            [text] = picture.texts("p")
            self.assertIn(f"{level['bits_per_key']:.2f} bits per key", text)

    def test_rates_and_costs_are_those_of_explain_and_whatif(self):
        page = self.report("--spec=rocksieve.ribbon:10")
        [family] = document("explain", f"--db={self.database}")["column_families"]
        [whatif] = document("whatif", f"--db={self.database}", "--spec=rocksieve.ribbon:10")[
            "column_families"]
        captions = {table.texts("caption")[0]: [
            [cell.text().strip() for cell in row.children if not isinstance(cell, str)]
            for row in table.all("tr")] for table in page.all("table")}
        by_level = captions["Files and filters by level"]
        self.assertEqual(len(family["levels"]) + 2, len(by_level))
        for level, row in zip(family["levels"], by_level[1:]):
            self.assertEqual([f"L{level['level']}", f"{level['files']:,}"], row[:2])
            for rate, cell in (("predicted", row[6]), ("measured", row[7])):  # three digits
                percent = 100 * level[f"{rate}_false_positive_rate"]
                self.assertAlmostEqual(percent, float(cell), delta=max(0.001, 0.006 * percent))
        for words in ("Healthy. No finding.", "Without filters: ", "Recommended: rocksieve."):
            self.assertIn(words, page.text())
        self.assertIn("1 column family, 0 findings", self.said)
        budgets = captions["Useless reads per 1,000 missing keys, each family in the same memory"]
        self.assertEqual(len(whatif["budgets"]) + 1, len(budgets))
        self.assertEqual(["bits per entry", "filter bytes", "RocksDB Bloom", "RocksDB Ribbon"],
                         budgets[0][:4])
        [policy] = [row for row in captions["Policies that were asked for"]
                    if row[0] == "rocksieve.ribbon:10"]
        self.assertEqual(f"{whatif['policies'][0]['filter_bytes']:,}", policy[1])
        [equal] = [rows for caption, rows in captions.items() if "all policies in the same" in caption]
        self.assertEqual("now", equal[1][0])
        reads = [float(row[2]) for row in equal[2:]]
        self.assertEqual(sorted(reads, reverse=True), reads)

    def test_findings_are_those_of_doctor(self):
        load(self.other, keys(2000), spec="none")
        page = self.report(database=self.other, code=1)
        [expected] = document("doctor", f"--db={self.other}", code=1)["findings"]
        [finding] = page.all("div", "finding")
        self.assertIn(expected["severity"], finding.attributes["class"].split())
        for part in (*(expected[part] for part in ("id", "title", "consequence", "remedy")),
                     *expected["evidence"]):
            self.assertIn(part, finding.text())
        self.assertTrue(list(page.all("rect", "bare")))
        self.assertIn("far beyond the scale", page.text())
        self.assertIn("1 finding", self.said)

    def test_damage_is_shown(self):
        load(self.other, [f"a{key}" for key in keys(2000)])
        load(self.other, [f"b{key}" for key in keys(2000)], "--add")
        victim, last = sorted(self.other.glob("*.sst"))
        victim.write_bytes(b"x" * victim.stat().st_size)
        page = self.report(database=self.other, code=1)
        self.assertIn(victim.name, page.text())
        self.assertIn("Damaged", page.texts("h3"))
        [tree] = page.all("figure", "tree")
        self.assertEqual(2, len(list(tree.all("rect", "bad"))))  # and in the legend
        self.assertIn("damaged files or filters", self.said)
        last.write_bytes(b"x" * last.stat().st_size)
        self.assertIn("cannot be told", self.report(database=self.other, code=1).text())

    def test_column_families_have_a_section_each(self):
        load(self.other, [])
        self.assertIn("nothing to filter", self.report(database=self.other).text())
        load(self.other, keys(3000), "--add")
        load(self.other, keys(2000), "--add", "--column-family=other")
        load(self.other, [], "--add", "--column-family=without")
        page = self.report(database=self.other)
        self.assertEqual(["Findings", "Column family default", "Column family other",
                          "Not in this report"], page.texts("h2"))
        self.assertIn("without files: without", page.text())
        [contents] = page.all("nav")
        self.assertEqual(3, len(list(contents.all("a"))))
        page = self.report("--column-family=other", database=self.other)
        self.assertEqual(["Findings", "Column family other"], page.texts("h2"))

    @thorough
    def test_the_smallest_of_many_column_families_are_left_out(self):
        load(self.other, keys(100))
        for number in range(22):
            load(self.other, keys(200 + 100 * number), "--add", f"--column-family=family{number:02}")
        page = self.report(database=self.other)
        self.assertEqual(["Findings", *(f"Column family family{number:02}" for number in range(2, 22)),
                          "Not in this report"], page.texts("h2"))
        self.assertRegex(page.text(), r"Smaller column families.*: family01\s*, family00\s*, default")
        self.assertIn("3 smaller column families left out", self.said)

    def test_range_filters(self):
        load(self.other, [f"{3 * number:016}" for number in range(30000)],
             spec="rocksieve.range:14:prefixes-4")
        self.assertIn("Ranges without a key", self.report(database=self.other).text())
        self.assertNotIn("Ranges without a key", self.report().text())

    def test_a_database_in_use(self):
        writer = self.spawn("db_bench", f"--db={self.other}", "--benchmarks=fillrandom",
                            "--num=10000000", "--value_size=20", "--bloom_bits=10",
                            "--write_buffer_size=200000", "--disable_wal=true",
                            "--benchmark_write_rate_limit=2000000",
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(list(self.other.glob("*.sst"))) > 2, 60, "a tree")
        finished = run(COMMAND, "report", f"--db={self.other}", f"--output={self.output}")
        self.assertIn(finished.code, (0, 1), finished)
        self.assertIsNone(writer.poll())
        page = self.check()
        self.assertIn(f"process {writer.pid}", page.text())
        self.assertEqual(1, len(list(page.all("figure", "tree"))))

    def test_hostile_names(self):
        database = self.directory / "<img src=x onerror=alert(1)>&\"'"
        load(database, keys(1000))
        load(database, keys(1000), "--add", "--column-family=<b>&\"'\u202e")
        self.write(database=database)
        text = self.output.read_text(encoding="utf-8")
        self.assertNotRegex(text, "<img|\u202e")
        page = Page(text).root
        self.assertEqual(f"Filters of {database}", page.texts("title")[0])
        self.assertEqual([], [text for text in page.texts("b") if "&" in text])
        self.assertIn("Column family <b>&\"'\ufffd", page.texts("h2"))


class Output(Report):
    def test_each_refusal_says_what_is_wrong(self):
        wrong, text = self.directory / "wrong.json", self.directory / "text.json"
        wrong.write_text("{\"remotes\": [{}]}")
        text.write_text("no json")
        (self.directory / "folder.html").mkdir()
        database, here = f"--db={self.database}", f"--output={self.output}"
        for words, flags in {
            "--output": [database],
            "name a database": [here],
            "are of a database": [here, f"--join={wrong}", "--spec=none"],
            "name a *.html": [database, f"--output={self.directory}/report.pdf"],
            "No such file or directory": [database, f"--output={self.directory}/none/report.html"],
            "is no file": [database, f"--output={self.directory}/folder.html"],
            "no filter policy \"typo:10\"": [database, here, "--spec=typo:10"],
            "no column family": [database, here, "--column-family=nowhere"],
            "nowhere": [f"--db={self.directory}/nowhere", here],
            "cannot read": [f"--join={self.directory}/none.json", here],
            "it is a directory": [f"--join={self.directory}", here],
            "/remotes/0/address is missing": [f"--join={wrong}", here],
            "is no JSON document": [f"--join={text}", here],
        }.items():
            with self.subTest(flags):
                self.assert_refused(words, "report", *flags)
                self.assertFalse(self.output.exists())

    def test_a_page_that_is_there_is_replaced_by_a_whole_one_only(self):
        self.output.write_text("old")
        os.chmod(self.output, 0o640)
        self.assert_refused("nowhere", "report", f"--db={self.directory}/nowhere",
                            f"--output={self.output}")
        self.assertEqual("old", self.output.read_text())
        self.report()
        self.assertEqual(0o640, self.output.stat().st_mode & 0o777)
        self.assertEqual([self.output], list(self.directory.iterdir()))

    def test_an_interrupted_one_leaves_nothing(self):
        # It waits for the end of the join, and then has the database still to read.
        pipe = self.directory / "join.json"
        os.mkfifo(pipe)
        process = self.spawn(COMMAND, "report", f"--db={self.database}", f"--join={pipe}",
                             f"--output={self.output}", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(pipe, "w") as plan:
            plan.write('{"remotes": []}')
            process.send_signal(signal.SIGINT)
        self.assertEqual((b"", b""), process.communicate(timeout=60))
        self.assertEqual(-signal.SIGINT, process.returncode)
        self.assertEqual([pipe], list(self.directory.iterdir()))

    def test_the_document(self):
        report = document("report", f"--db={self.database}", f"--output={self.output}")
        [explained] = document("explain", f"--db={self.database}")["column_families"]
        self.assertEqual({"database": str(self.database), "output": str(self.output),
                          "output_bytes": self.output.stat().st_size, "ok": True, "healthy": True,
                          "findings": 0, "column_families_left_out": 0, "joins": 0,
                          "column_families": [{key: explained[key] for key in
                                               ("name", "files", "keys", "filter_bytes")}]},
                         report)
        self.assertLess(report["output_bytes"], 300_000)


if __name__ == "__main__":
    unittest.main()
