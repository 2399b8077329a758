# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of the page ROCKSIEVE_README that are marked for testing, so that documentation
cannot rot. Without that variable, it tests that it finds what is wrong with samples of pages, and that
the table of README.md after `<!-- demo: table -->` is what `rocksieve demo` prints.

A mark is an HTML comment on the line before a fenced block, and blocks without one are not checked:

    <!-- test: KIND [FILE] -->
    ```cpp
    ...
    ```

FILE is a name under which later blocks can use the text. KIND says how the block is checked:

    compile-cpp   a complete C++ program: compiled, linked with the build's libraries, and run
    compile-c     a complete C program, likewise
    shell         commands for bash -eu -o pipefail
    output        what the shell block before it has printed on its standard output
    options-file  an OPTIONS file: db_bench must run with it, and its filters must work

All blocks share one directory and run in their order. In it, `build` is the build directory.
"""

import os
import pathlib
import re
import sys
import unittest

from environment import (BUILD, COMMAND, CORE, PLUGIN, ROOT, SERIES, Sandbox, compile_program, run,
                         run_ok, thorough)
from programs import Report, options_text

README = os.environ.get("ROCKSIEVE_README")
# Seen from the directory of the blocks, as from the root of the repository.
LINKED = {"build": BUILD, **{name: ROOT / name for name in ("include", "examples", "lib")}}

_MARK = re.compile(r"<!--\s*test:\s*(.*?)\s*-->")
_FENCED = re.compile(r"( *)(```+|~~~+).*\n((?:.*\n)*?) *\2\n")


def marked_blocks(markdown, kinds):
    """(kind, name, line of the mark, text) of each, in their order. A mark that marks nothing or is of
    none of the kinds is an error, and so is a page without marks: it would be tested in name only."""
    lines, blocks = (markdown + "\n").splitlines(keepends=True), []
    for number, line in enumerate(lines, start=1):
        if mark := _MARK.search(line):
            contents = re.fullmatch(r"([\w-]+)(?:\s+([\w.-]+))?", mark[1])
            if not contents or contents[1] not in kinds:
                raise ValueError(f"line {number}: {mark[0]} is none of {', '.join(kinds)}")
            fenced = _FENCED.match("".join(lines[number:]))
            if not fenced:
                raise ValueError(f"line {number}: {mark[0]} has no complete code block after it")
            text = re.sub(f"(?m)^{fenced[1]}", "", fenced[3])
            blocks.append((contents[1], contents[2], number, text))
    if not blocks:
        raise ValueError("no code block is marked for testing")
    return blocks


class Checks(Sandbox):
    """One method per kind of block, with dashes as underscores."""

    def compile_cpp(self, text):
        exporter = ["-lrocksieve_exporter"] if "<rocksieve/metrics_exporter.h>" in text else []
        self._compile_and_run(text, "program.cc", "g++", CORE, *exporter, f"-lrocksieve-{SERIES}")

    def compile_c(self, text):
        # Where the linker drops libraries that nothing calls, the plugin must not be dropped.
        self._compile_and_run(text, "program.c", "gcc", "-Wl,--no-as-needed", "-lrocksieve")

    def shell(self, text):
        finished = run_ok("bash", "-eu", "-o", "pipefail", "-c", text, cwd=self.class_directory,
                          variables=self._variables(), timeout=300)
        type(self).printed = finished.out

    def output(self, text):
        self.assertEqual(text, self.printed)

    def options_file(self, text):
        file = self.directory / "OPTIONS"
        file.write_text(text)
        report = Report(run_ok(
            "db_bench", f"--db={self.directory / 'db'}", f"--options_file={file}", "--statistics",
            "--benchmarks=fillrandom,compact,readmissing", "--num=20000", preload=[PLUGIN]))
        self.assertEqual([("readmissing", 0, 20000)], report.found)
        self.assertGreater(report.useful, 10000, "the filters did not work")

    def _compile_and_run(self, text, name, compiler, *libraries):
        source = self.directory / name
        source.write_text(text)
        program = compile_program(source, self.directory / "program", *libraries, "-lrocksdb",
                                  compiler=compiler)
        run_ok(program, cwd=self.class_directory, variables=self._variables())

    def _variables(self):
        home = self.class_directory / "home"
        home.mkdir(exist_ok=True)
        return {"HOME": str(home), "TMPDIR": str(home)}


KINDS = [name.replace("_", "-") for name, member in vars(Checks).items()
         if callable(member) and not name.startswith("_")]
BLOCKS = marked_blocks(pathlib.Path(README).read_text(), KINDS) if README else []


class Readme(Checks):
    """Has a test for each block, with the line of its mark in its name."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, place in LINKED.items():
            (cls.class_directory / name).symlink_to(place)
        for _, name, _, text in BLOCKS:
            if name:
                (cls.class_directory / name).write_text(text)


for _kind, _, _line, _text in BLOCKS:
    _kind = _kind.replace("-", "_")
    setattr(Readme, f"test_line_{_line:04}_{_kind}",
            lambda self, kind=_kind, text=_text: getattr(self, kind)(text))

CPP = "<!-- test: compile-cpp -->\n```cpp\nint main() { return 1; }\n```\n"
UNMARKED = "```sh\nfalse\n```\n"


def options_file(spec):
    return f"<!-- test: options-file -->\n```ini\n{options_text(spec)}```\n"


class Samples(Sandbox):
    def check(self, readme):
        file = self.directory / "README.md"
        file.write_text(readme)
        return run(sys.executable, __file__, variables={"ROCKSIEVE_README": str(file)}, timeout=120)

    def test_what_is_wrong_fails(self):
        shell = "<!-- test: shell -->\n"
        for readme, reason in (
                (CPP.replace("return", "retrun"), "retrun"), (CPP, "exit code 1"),
                (shell + "```sh\nfalse | true\necho after\n```\n", "exit code 1"),
                (options_file("rocksieve.blom:10"), '"blom" is not one of the families'),
                # RocksDB ignores a policy whose name nobody claims; documentation says so.
                (options_file("rocksift.bloom:10"), "the filters did not work"),
                ("", "no code block is marked"), (UNMARKED, "no code block is marked"),
                ("<!-- test: shel -->\n```sh\ntrue\n```\n", "line 1: <!-- test: shel --> is"),
                ("<!-- test: -->\n```sh\ntrue\n```\n", "is none of"),
                (shell + "\n```sh\ntrue\n```\n", "has no complete code block"),
                (shell + "```sh\ntrue\n", "has no complete code block"),
                (shell, "has no complete code block")):
            with self.subTest(readme=readme):
                finished = self.check(readme)
                self.assertEqual(1, finished.code, finished)
                self.assertIn(reason, finished.err)


def without_times(line):
    """Its cells, since columns are as wide as their widest time; the last two are times."""
    cells = re.split(r"\s{2,}", line.strip())
    return [*cells[:-2], *("time" if re.fullmatch(r"[\d,]+\.\d\d", cell) else cell
                           for cell in cells[-2:])]


def without_figures(line):
    return re.sub(r"\d[\d.,]*", "#", line).split()


class DemoTable(Sandbox):
    def unlike(self, comparable, *flags):
        """The lines of the table that are not, in this order, among those of a demonstration."""
        [block] = re.findall(r"(?ms)^<!-- demo: table -->\n```\n(.*?)^```$",
                             (ROOT / "README.md").read_text())
        self.assertGreater(len(block.splitlines()), 15)
        # There is a sentence that is made of the figures.
        block = re.sub(r"(?m)^Of 100 disk reads(?s:.*?)(?=^$|\Z)", "", block) if flags else block
        printed = run_ok(COMMAND, "demo", *flags, timeout=570,
                         variables={"TMPDIR": str(self.directory)}).out
        rest = iter([comparable(line) for line in printed.splitlines()])
        return [line for line in block.splitlines() if line and comparable(line) not in rest]

    @thorough
    def test_it_is_what_the_demo_prints(self):
        """Its counts are the same on every machine; the times need only be there. It takes a minute."""
        self.assertEqual([], self.unlike(without_times))

    def test_it_is_that_of_few_keys_but_for_the_figures(self):
        keys = self.directory / "keys"
        keys.write_text("".join(f"{number * number}\n" for number in range(4000)))
        self.assertEqual([], self.unlike(without_figures, f"--keys={keys}"))


if __name__ == "__main__":
    unittest.main(defaultTest=["Readme"] if README else None, verbosity=2)
