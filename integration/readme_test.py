# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of README.md that are marked for testing, so that the documentation cannot rot.
ROCKSIEVE_README names another file: those of the examples are tested likewise.

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
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import Report
from environment import BUILD, CORE, PLUGIN, ROOT, SERIES, Sandbox, compile_program, run_ok

README = pathlib.Path(os.environ.get("ROCKSIEVE_README") or ROOT / "README.md")
# Seen from the directory of the blocks, as from the root of the repository.
LINKED = {"build": BUILD, "include": ROOT / "include", "examples": ROOT / "examples",
          "lib": ROOT / "lib"}

_MARK = re.compile(r"<!--\s*test:\s*(.*?)\s*-->")
_MARK_CONTENTS = re.compile(r"([\w-]+)(?:\s+([\w.-]+))?")
_FENCE = re.compile(r"( *)(```+|~~~+)")


@dataclass
class Block:
    kind: str
    file: str  # "" if it has no name
    line: int  # of the mark
    text: str


def marked_blocks(markdown, kinds):
    """Returns the marked blocks in their order. Raises ValueError for a mark that marks nothing or
    is of none of the kinds, and if there is no mark at all: such a README would be tested in name
    only."""
    lines = markdown.splitlines()
    blocks = []
    for number, line in enumerate(lines, start=1):
        mark = _MARK.search(line)
        if not mark:
            continue
        contents = _MARK_CONTENTS.fullmatch(mark[1])
        if not contents or contents[1] not in kinds:
            raise ValueError(f"line {number}: {mark[0]} is none of {', '.join(kinds)}")
        text = _fenced_text(lines[number:])
        if text is None:
            raise ValueError(f"line {number}: {mark[0]} has no complete code block after it")
        blocks.append(Block(contents[1], contents[2] or "", number, text))
    if not blocks:
        raise ValueError("no code block is marked for testing")
    return blocks


def _fenced_text(lines):
    """The text of the fenced block that begins with the first line, or None."""
    fence = _FENCE.match(lines[0]) if lines else None
    if not fence:
        return None
    indentation, marker = fence.groups()
    text = []
    for line in lines[1:]:
        if line.strip() == marker:
            return "".join(line + "\n" for line in text)
        text.append(line.removeprefix(indentation))
    return None


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
BLOCKS = marked_blocks(README.read_text(), KINDS)


class Readme(Checks):
    """Has a test for each block, with the line of its mark in its name."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, place in LINKED.items():
            (cls.class_directory / name).symlink_to(place)
        for block in BLOCKS:
            if block.file:
                (cls.class_directory / block.file).write_text(block.text)


def _add_test(block):
    def test(self):
        getattr(self, block.kind.replace("-", "_"))(block.text)

    setattr(Readme, f"test_line_{block.line:04}_{block.kind.replace('-', '_')}", test)


for _block in BLOCKS:
    _add_test(_block)

if __name__ == "__main__":
    unittest.main(verbosity=2)
