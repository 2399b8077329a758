# SPDX-License-Identifier: Apache-2.0
"""`rocksieve report`: that its page is well-formed, says what explain, whatif and doctor say, has no
names in it unescaped and nothing from elsewhere; and what becomes of files. How it looks is
report_browser_test.py's concern."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import run, run_ok, thorough
from report_page import COMMAND, HOSTILE, Page, Report


class Content(Report):
    def test_the_tree_has_a_cell_for_each_file(self):
        page = self.report()
        [family] = self.json_of("explain")["column_families"]
        [tree] = page.root.all("figure", class_="tree")
        levels = list(tree.all("div", class_="level"))
        self.assertEqual([level["level"] for level in family["levels"]],
                         [int(level.text().split()[0][1:]) for level in levels])
        for level, picture in zip(family["levels"], levels):
            files = [file for file in family["table_files"] if file["level"] == level["level"]]
            titles = [cell.text() for group in picture.all("g") for cell in group.all("title")]
            self.assertEqual(len(files), len(titles))
            for file, title in zip(files, titles):
                self.assertIn(file["name"], title)
                self.assertRegex(title, rf": {file['keys']:,} keys?,")
                self.assertIn("RocksDB Bloom", title)
            [text] = [child.text() for child in picture.all("p")]
            self.assertIn(f"{level['bits_per_key']:.2f} bits per key", text)

    def test_rates_and_costs_are_those_of_explain_and_whatif(self):
        page = self.report("--spec=rocksieve.ribbon:10")
        [family] = self.json_of("explain")["column_families"]
        tables = {table: [[cell.text().strip() for cell in row.children
                           if not isinstance(cell, str)] for row in table.all("tr")]
                  for table in page.root.all("table")}
        captions = {next(table.all("caption")).text(): rows for table, rows in tables.items()}
        by_level = captions["Files and filters by level"]
        self.assertEqual(len(family["levels"]) + 2, len(by_level))
        for level, row in zip(family["levels"], by_level[1:]):
            self.assertEqual([f"L{level['level']}", f"{level['files']:,}"], row[:2])
            for rate, cell in (("predicted", row[6]), ("measured", row[7])):  # three digits
                percent = 100 * level[f"{rate}_false_positive_rate"]
                self.assertAlmostEqual(percent, float(cell), delta=max(0.001, 0.006 * percent))
        text = page.root.text()
        self.assertIn("Without filters: ", text)
        self.assertIn("Recommended: rocksieve.", text)
        [whatif] = self.json_of("whatif", "--spec=rocksieve.ribbon:10")["column_families"]
        budgets = captions["Useless reads per 1,000 missing keys, each family in the same memory"]
        self.assertEqual(len(whatif["budgets"]) + 1, len(budgets))
        self.assertEqual(["bits per entry", "filter bytes", "RocksDB Bloom", "RocksDB Ribbon"],
                         budgets[0][:4])
        [policy] = [row for row in captions["Policies that were asked for"]
                    if row[0] == "rocksieve.ribbon:10"]
        self.assertEqual(f"{whatif['policies'][0]['filter_bytes']:,}", policy[1])
        equal = next(rows for caption, rows in captions.items() if "all policies in the same" in
                     caption)
        self.assertEqual("now", equal[1][0])
        reads = [float(row[2]) for row in equal[1:]]
        self.assertEqual(sorted(reads[1:], reverse=True), reads[1:])

    def test_curves_are_drawn_wide_and_narrow(self):
        page = self.report()
        [figure] = page.root.all("figure", class_="curves")
        wide, narrow = [svg for svg in figure.all("svg") if svg.attributes.get("role") == "img"]
        for svg in (wide, narrow):
            _, _, width, height = map(float, svg.attributes["viewbox"].split())
            lines = list(svg.all("polyline"))
            self.assertEqual(5, len(lines))
            for line in lines:
                for x, y in re.findall(r"([\d.]+),([\d.]+)", line.attributes["points"]):
                    self.assertTrue(0 <= float(x) <= width and 0 <= float(y) <= height)
        self.assertGreater(float(wide.attributes["viewbox"].split()[2]), 700)
        self.assertLess(float(narrow.attributes["viewbox"].split()[2]), 350)
        [legend] = figure.all("ul", class_="legend")
        self.assertEqual(["RocksDB Bloom", "RocksDB Ribbon", "rocksieve.bloom", "rocksieve.ribbon",
                          "rocksieve.auto", "1 now"],
                         [entry.text().strip() for entry in legend.all("li")])

    @thorough
    def test_two_pages_of_a_tree_have_one_structure(self):
        first, second = self.report().outline(), self.report().outline()
        self.assertEqual(first, second)
        self.assertGreater(len(first), 300)

    def test_a_healthy_database_says_so(self):
        self.assertIn("Healthy. No finding.", self.report().root.text())
        self.assertIn("1 column family, 0 findings", self.said)

    def test_findings_are_those_of_doctor(self):
        database = self.directory / "db"
        self.load(database, self.keys[:2000], spec="none")
        page = self.report(database=database, code=1)
        [expected] = self.json_of("doctor", database=database)["findings"]
        [finding] = page.root.all("div", class_="finding")
        self.assertIn(expected["severity"], finding.attributes["class"].split())
        for part in ("id", "title", "consequence", "remedy"):
            self.assertIn(expected[part], finding.text())
        for line in expected["evidence"]:
            self.assertIn(line, finding.text())
        self.assertTrue(list(page.root.all("rect", class_="bare")))
        self.assertIn("far beyond the scale", page.root.text())
        self.assertIn("1 finding", self.said)

    def test_damage_is_shown(self):
        database = self.directory / "db"
        self.load(database, [f"a{key}" for key in self.keys[:2000]])
        self.load(database, [f"b{key}" for key in self.keys[:2000]], "--add")
        victim = sorted(database.glob("*.sst"))[0]
        victim.write_bytes(b"x" * victim.stat().st_size)
        page = self.report(database=database, code=1)
        self.assertIn(victim.name, page.root.text())
        self.assertIn("Damaged", [heading.text() for heading in page.root.all("h3")])
        [tree] = page.root.all("figure", class_="tree")
        self.assertEqual(2, len(list(tree.all("rect", class_="bad"))))  # and in the legend
        self.assertIn("damaged files or filters", self.said)
        for path in database.glob("*.sst"):
            path.write_bytes(b"x" * path.stat().st_size)
        page = self.report(database=database, code=1)
        self.assertIn("cannot be told", page.root.text())

    def test_column_families_have_a_section_each(self):
        database = self.directory / "db"
        self.load(database, self.keys[:3000])
        self.load(database, self.keys[:2000], "--add", "--column-family=other")
        self.load(database, [], "--add", "--column-family=without")
        page = self.report(database=database)
        self.assertEqual(["Findings", "Column family default", "Column family other",
                          "Not in this report"],
                         [heading.text().strip() for heading in page.root.all("h2")])
        self.assertIn("without files: without", page.root.text())
        [contents] = page.root.all("nav")
        self.assertEqual(3, len(list(contents.all("a"))))
        page = self.report("--column-family=other", database=database)
        self.assertEqual(["Findings", "Column family other"],
                         [heading.text().strip() for heading in page.root.all("h2")])

    def test_range_filters_of_prefixes_or_of_the_order_alone(self):
        for option in ("prefixes-4", "order-8"):
            database = self.directory / option
            self.load(database, [f"{3 * number:016}" for number in range(30000)],
                      spec=f"rocksieve.range:14:{option}")
            page = self.report(database=database)
            self.assertIn("Ranges without a key", page.root.text())
        self.assertNotIn("Ranges without a key", self.report().root.text())

    @thorough
    def test_the_smallest_of_many_column_families_are_left_out(self):
        database = self.directory / "db"
        self.load(database, self.keys[:100])
        for number in range(22):
            self.load(database, self.keys[:200 + 100 * number], "--add",
                      f"--column-family=family{number:02}")
        page = self.report(database=database)
        sections = [heading.text().strip() for heading in page.root.all("h2")]
        self.assertEqual(["Findings", *(f"Column family family{number:02}"
                                        for number in range(2, 22)), "Not in this report"],
                         sections)
        self.assertRegex(page.root.text(), r"Smaller column families.*: family01\s*, family00\s*, default")
        self.assertIn("3 smaller column families left out", self.said)

    def test_a_database_in_use(self):
        database = self.directory / "db"
        writer = subprocess.Popen(["db_bench", f"--db={database}", "--benchmarks=fillrandom",
                                   "--num=10000000", "--value_size=20", "--bloom_bits=10",
                                   "--write_buffer_size=200000", "--disable_wal=true",
                                   "--benchmark_write_rate_limit=2000000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while len(list(database.glob("*.sst"))) < 3:
                self.assertIsNone(writer.poll())
                time.sleep(0.1)
            output = self.directory / "report.html"
            finished = run(COMMAND, "report", f"--db={database}", f"--output={output}")
            self.assertIn(finished.code, (0, 1), finished)
            self.assertIsNone(writer.poll())
        finally:
            writer.kill()
            writer.wait()
        page = self.check(output)
        self.assertIn(f"process {writer.pid}", page.root.text())
        self.assertEqual(1, len(list(page.root.all("figure", class_="tree"))))

    def test_an_empty_database(self):
        database = self.directory / "db"
        self.load(database, [])
        self.assertIn("nothing to filter", self.report(database=database).root.text())

    def test_nothing_of_the_database_is_written(self):
        def state():
            return {path: (path.stat().st_mtime_ns, path.stat().st_size)
                    for path in [self.database, *self.database.rglob("*")]}
        before = state()
        self.report()
        self.assertEqual(before, state())


class HostileNames(Report):
    def test_of_directories_and_column_families(self):
        database = self.directory / "<img src=x onerror=alert(1)>&\"'"
        self.load(database, self.keys[:1000])
        self.load(database, self.keys[:1000], "--add", "--column-family=<b>&\"'\u202e")
        output = self.directory / "report.html"
        finished = run(COMMAND, "report", f"--db={database}", f"--output={output}")
        self.assertEqual(0, finished.code, finished)
        text = output.read_text(encoding="utf-8")
        self.assertNotIn("<img", text)
        self.assertNotIn("\u202e", text)
        page = Page(text)
        self.assertEqual(f"Filters of {database}", next(page.root.all("title")).text())
        self.assertEqual([], [b.text() for b in page.root.all("b") if "&" in b.text()])
        self.assertIn("Column family <b>&\"'\ufffd",
                      [heading.text().strip() for heading in page.root.all("h2")])

    def test_of_files_of_joins(self):
        plan = {"remotes": [{"address": HOSTILE, "local_keys": 1, "remote_keys": 1,
                             "range_local_keys": 1, "range_remote_keys": 1,
                             "range_common_keys": 1, "range_is_equal": False,
                             "first_move": HOSTILE, "keys_are_as_cheap": True, "more": HOSTILE,
                             "strategies": [{"name": HOSTILE, "bytes": 2**64 - 1,
                                             "bits_per_local_key": 1e308}]}]}
        path = self.directory / "<plan>.json"
        path.write_text(json.dumps(plan))
        output = self.directory / "report.html"
        run_ok(COMMAND, "report", f"--join={path}", f"--output={output}")
        page = self.check(output)
        self.assertIn(HOSTILE.replace("\u202e", "\ufffd").replace("\x01", "\ufffd"),
                      page.root.text())
        self.assertIn("18,446,744,073,709,551,615 B", page.root.text())


class Output(Report):
    def refusal(self, *flags):
        finished = run(COMMAND, "report", *flags)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        return finished.err

    def test_each_refusal_says_what_is_wrong(self):
        here = self.directory / "report.html"
        wrong, text = self.directory / "wrong.json", self.directory / "text.json"
        wrong.write_text("{\"remotes\": [{}]}")
        text.write_text("no json")
        (self.directory / "folder.html").mkdir()
        database = f"--db={self.database}"
        for words, flags in {
            "--output": [database],
            "name a database": [f"--output={here}"],
            "are of a database": [f"--output={here}", f"--join={wrong}", "--spec=none"],
            "name a *.html": [database, f"--output={self.directory}/report.pdf"],
            "No such file or directory": [database, f"--output={self.directory}/none/report.html"],
            "is no file": [database, f"--output={self.directory}/folder.html"],
            "no filter policy \"typo:10\"": [database, f"--output={here}", "--spec=typo:10"],
            "no column family": [database, f"--output={here}", "--column-family=nowhere"],
            "nowhere": [f"--db={self.directory}/nowhere", f"--output={here}"],
            "cannot read": [f"--join={self.directory}/none.json", f"--output={here}"],
            "it is a directory": [f"--join={self.directory}", f"--output={here}"],
            "/remotes/0/address is missing": [f"--join={wrong}", f"--output={here}"],
            "is no JSON document": [f"--join={text}", f"--output={here}"],
        }.items():
            with self.subTest(flags):
                self.assertIn(words, self.refusal(*flags))
                self.assertFalse(here.exists())

    def test_a_page_that_is_there_is_replaced_by_a_whole_one_only(self):
        here = self.directory / "report.html"
        here.write_text("old")
        os.chmod(here, 0o640)
        self.refusal(f"--db={self.directory}/nowhere", f"--output={here}")
        self.assertEqual("old", here.read_text())
        # As on a full disk: files may not grow beyond some kB.
        finished = run("bash", "-c", 'ulimit -f 8; exec "$@"', "-", COMMAND, "report",
                       f"--db={self.database}", f"--output={here}")
        self.assertEqual(2, finished.code, finished)
        self.assertIn("report.html", finished.err)
        self.assertEqual("old", here.read_text())
        run_ok(COMMAND, "report", f"--db={self.database}", f"--output={here}")
        self.check(here)
        self.assertEqual(0o640, here.stat().st_mode & 0o777)
        self.assertEqual([here], sorted(self.directory.iterdir()))

    def test_an_interrupted_one_leaves_nothing(self):
        # It waits for the end of the join, and then has the database still to read.
        pipe = self.directory / "join.json"
        os.mkfifo(pipe)
        process = subprocess.Popen([COMMAND, "report", f"--db={self.database}", f"--join={pipe}",
                                    f"--output={self.directory}/report.html"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(pipe, "w") as plan:
            plan.write('{"remotes": []}')
            process.send_signal(signal.SIGINT)
        self.assertEqual((b"", b""), process.communicate(timeout=60))
        self.assertEqual(-signal.SIGINT, process.returncode)
        self.assertEqual([pipe], list(self.directory.iterdir()))

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_directory_that_may_not_be_written_to(self):
        closed = self.directory / "closed"
        closed.mkdir(0o500)
        self.assertIn("Permission denied",
                      self.refusal(f"--db={self.database}", f"--output={closed}/report.html"))

    def test_the_document(self):
        here = self.directory / "report.html"
        report = json.loads(run_ok(COMMAND, "report", f"--db={self.database}", f"--output={here}",
                                   "--json").out)
        [explained] = self.json_of("explain")["column_families"]
        self.assertEqual({"database": str(self.database), "output": str(here),
                          "output_bytes": here.stat().st_size, "ok": True, "healthy": True,
                          "findings": 0, "column_families_left_out": 0, "joins": 0,
                          "column_families": [{key: explained[key] for key in
                                               ("name", "files", "keys", "filter_bytes")}]},
                         report)

    def test_a_few_hundred_kilobytes_suffice(self):
        database = self.directory / "db"
        shutil.copytree(self.database, database)
        self.report(database=database)
        self.assertLess((self.directory / "report.html").stat().st_size, 300_000)


if __name__ == "__main__":
    unittest.main()
