# SPDX-License-Identifier: Apache-2.0
"""That readme_test.py finds what is wrong with a README, run on samples; and that the table of
README.md after `<!-- demo: table -->` is what `rocksieve demo` prints. Its counts are the same on
every machine and compared as they stand; the times, which are not, need only be there. That takes a
minute, and `./run test --thorough` does it; else the lines of a demonstration of few keys are
compared, whatever their figures."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import options_text
from environment import BUILD, ROOT, THOROUGH, Sandbox, run, run_ok

GOOD_CPP = """\
<!-- test: compile-cpp -->
```cpp
#include <rocksdb/table.h>
#include <rocksieve/filter.h>
#include <rocksieve/filter_policy.h>

int main() {
  rocksdb::BlockBasedTableOptions table_options;
  rocksieve::FilterBuilder builder{rocksieve::FilterSpec()};
  rocksdb::Status status =
      rocksieve::NewFilterPolicy("rocksieve.bloom:10", &table_options.filter_policy);
  return status.ok() ? 0 : 1;
}
```
"""
GOOD_C = """\
<!-- test: compile-c -->
```c
#include <rocksdb/c.h>

int main(void) {
  char* error = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(
      options, "create_if_missing=true;block_based_table_factory={filter_policy=rocksieve.x}",
      options, &error);
  /* Only the plugin refuses this. */
  if (error == NULL) rocksdb_open(options, "db", &error);
  return error == NULL;
}
```
"""
GOOD_SHELL = """\
1. Preload:

   <!-- test: shell -->
   ```sh
   LD_PRELOAD=build/lib/librocksieve.so ldb --version
   db_bench --options_file=sample.options --db=sample_db --benchmarks=fillseq --num=10
   ```
"""
UNMARKED = "```sh\nfalse\n```\n"


def options_file(spec, mark="options-file"):
    return f"<!-- test: {mark} -->\n```ini\n{options_text(spec)}```\n"


class ReadmeTest(Sandbox):
    def check(self, readme):
        file = self.directory / "README.md"
        file.write_text(readme)
        return run(sys.executable, ROOT / "integration" / "readme_test.py",
                   variables={"ROCKSIEVE_README": str(file), "ROCKSIEVE_BUILD": str(BUILD)},
                   timeout=120)

    def test_good_blocks_pass(self):
        finished = self.check(
            "# Sample\n" + UNMARKED + GOOD_CPP + GOOD_C + GOOD_SHELL +
            options_file("rocksieve.cuckoo:12.5", "options-file sample.options"))
        self.assertEqual(0, finished.code, finished)
        self.assertIn("Ran 4 tests", finished.err)
        for name in ("test_line_0005_compile_cpp", "_compile_c", "_shell", "_options_file"):
            self.assertRegex(finished.err, f"{name} .*ok\n")

    def test_bad_blocks_fail(self):
        for readme, reason in (
                (GOOD_CPP.replace("return", "retrun"), "retrun"),
                (GOOD_CPP.replace("rocksieve.bloom:10", "rocksieve.blom:10"), "exit code 1"),
                (GOOD_C.replace("rocksieve.x", "rocksieve.bloom:10"), "exit code 1"),
                ("<!-- test: shell -->\n```sh\nfalse | true\necho after\n```\n", "exit code 1"),
                (options_file("rocksieve.blom:10"), '"blom" is not one of the families'),
                (options_file("rocksift.bloom:10"), "the filters did not work")):
            with self.subTest(readme=readme):
                finished = self.check(readme)
                self.assertEqual(1, finished.code, finished)
                self.assertIn("FAILED (failures=1)", finished.err)
                self.assertIn(reason, finished.err)

    def test_marks_that_test_nothing_are_errors(self):
        for readme, reason in (
                ("", "no code block is marked"),
                (UNMARKED, "no code block is marked"),
                ("<!-- test: shel -->\n```sh\ntrue\n```\n", "line 1: <!-- test: shel --> is"),
                ("<!-- test: -->\n```sh\ntrue\n```\n", "is none of"),
                ("<!-- test: shell -->\n\n```sh\ntrue\n```\n", "has no complete code block"),
                ("<!-- test: shell -->\n```sh\ntrue\n", "has no complete code block"),
                ("<!-- test: shell -->", "has no complete code block")):
            with self.subTest(readme=readme):
                finished = self.check(readme)
                self.assertEqual(1, finished.code, finished)
                self.assertIn(reason, finished.err)


TIME_COLUMNS = 2
_BLOCK = re.compile(r"(?ms)^<!-- demo: table -->\n```\n(.*?)^```$")
_TIME = re.compile(r"[\d,]+\.\d\d")


def demo_block(page):
    blocks = _BLOCK.findall(page)
    if len(blocks) != 1:
        raise ValueError(f"{len(blocks)} blocks follow a line <!-- demo: table -->, not 1")
    return blocks[0]


def comparable(line):
    """The cells of a line, since columns are as wide as their widest time; times as "time"."""
    cells = re.split(r"\s{2,}", line.strip())
    times = cells[-TIME_COLUMNS:]
    if len(cells) > TIME_COLUMNS and all(_TIME.fullmatch(cell) for cell in times):
        cells[-TIME_COLUMNS:] = ["time"] * TIME_COLUMNS
    return cells


def unlike(block, printed):
    """Those lines of the block that are not, in this order, among what was printed."""
    rest = [comparable(line) for line in printed.splitlines()]
    wrong = []
    for line in filter(None, block.splitlines()):
        if comparable(line) in rest:
            del rest[:rest.index(comparable(line)) + 1]
        else:
            wrong.append(line)
    return wrong


PRINTED = """\
Checked: all 6 trees.

                  filter  data block  us per   us per
filter           per key  1000 miss.  lookup   lookup
none               0.000     7,154.3   13.67 3,153.47
RocksDB Bloom 10   1.254        61.9    0.99     2.91
rocksieve.bloom    1.252        36.6    0.81     2.75

rocksieve.bloom:10 saves 41.
""".replace(" 3,153", "  3,153")


class Comparison(unittest.TestCase):
    """What is found wrong in a page, on a sample."""

    def block(self, *changes):
        block = PRINTED.split("\n\n", maxsplit=1)[1]
        for was, becomes in changes:
            self.assertIn(was, block)
            block = block.replace(was, becomes)
        return block

    def test_what_was_printed_passes(self):
        self.assertEqual([], unlike(self.block(), PRINTED))

    def test_other_times_and_widths_pass(self):
        self.assertEqual([], unlike(self.block(("0.99     2.91", "100.99   202.91"),
                                               ("   0.81", "  10.81")), PRINTED))

    def test_every_other_figure_counts(self):
        for was, becomes in (("7,154.3", "7,154.4"), ("61.9", "61.8"), ("1.252", "1.253"),
                             ("saves 41", "saves 42"), ("Bloom 10", "Bloom 12"),
                             ("0.99     2.91", "fast     2.91")):
            with self.subTest(was=was):
                self.assertEqual(1, len(unlike(self.block((was, becomes)), PRINTED)))

    def test_order_counts(self):
        lines = self.block().splitlines()
        lines[2], lines[3] = lines[3], lines[2]
        self.assertNotEqual([], unlike("\n".join(lines), PRINTED))

    def test_a_page_without_the_block_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "0 blocks"):
            demo_block("# Sample\n")


def shape(lines):
    """The lines without their figures, and without the sentence that is made of them."""
    text = re.sub(r"(?m)^Of 100 disk reads(?s:.*?)(?=^$|\Z)", "", "\n".join(lines))
    return [" ".join(re.sub(r"\d[\d.,]*", "#", line).split()) for line in text.splitlines() if line]


class DemoTable(Sandbox):
    def demo(self, *flags):
        block = demo_block((ROOT / "README.md").read_text())
        self.assertGreater(len(block.splitlines()), 8)
        return block, run_ok(BUILD / "bin" / "rocksieve", "demo", *flags, timeout=570,
                             variables={"TMPDIR": str(self.directory)}).out

    @unittest.skipUnless(THOROUGH, "takes a minute: ./run test --thorough")
    def test_table_is_what_the_demo_prints(self):
        block, printed = self.demo()
        self.assertEqual([], unlike(block, printed), printed)

    def test_table_is_that_of_few_keys_but_for_the_figures(self):
        keys = self.directory / "keys"
        keys.write_text("".join(f"{number * number}\n" for number in range(4000)))
        block, printed = self.demo(f"--keys={keys}")
        lines = shape(block.splitlines())
        self.assertEqual([], [line for line in lines if line not in shape(printed.splitlines())],
                         printed)
        self.assertGreater(len(lines), 15)


if __name__ == "__main__":
    unittest.main(verbosity=2)
