#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree is no larger than the table in docs/decisions/weights.md says. Who needs more raises the
figure there, with the reason, in the same commit. By itself it prints what it counts."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "decisions" / "weights.md"
SOURCES = {".h", ".cc", ".c", ".py", ".java", ".js", ".rs", ".go"}


def is_left_out(path):
    """What a build or an interpreter has made, and git's own."""
    return path.is_dir() and (path.name in (".git", "__pycache__") or path.name.startswith("build"))


def files_below(folder):
    for path in sorted(folder.iterdir()):
        if is_left_out(path) or path.is_symlink():
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def lines_of(*folders):
    return sum(path.read_bytes().count(b"\n") for folder in folders
               for path in files_below(ROOT / folder) if path.suffix in SOURCES)


def weights():
    pages = [path for path in files_below(ROOT / "docs") if path.suffix == ".md"]
    return {
        "product lines": lines_of("include", "lib", "plugin", "support", "tools"),
        "lines of tests": lines_of("tests", "integration"),
        "lines of benchmarks": lines_of("bench"),
        "files": sum(1 for _ in files_below(ROOT)),
        "pages of documents": len(pages),
        "kilobytes of documents": round(sum(path.stat().st_size for path in pages) / 1000),
        "entries of the top level": sum(
            1 for path in ROOT.iterdir() if path.name[0] != "." and not is_left_out(path)),
    }


class Weights(unittest.TestCase):
    def test_nothing_weighs_more_than_is_written(self):
        written = {name: int(most.replace(",", "")) for name, most in
                   re.findall(r"^\| ([a-z ]+) \| ([\d,]+) \|", PAGE.read_text(), re.MULTILINE)}
        counted = weights()
        self.assertEqual(set(counted), set(written), f"the rows of the table in {PAGE}")
        for name, count in counted.items():
            with self.subTest(name):
                self.assertLessEqual(count, written[name], f"take something away, or raise the "
                                     f"figure in {PAGE}, and say why")


if __name__ == "__main__":
    for what, number in weights().items():
        print(f"{what}: {number:,}")
    unittest.main()
