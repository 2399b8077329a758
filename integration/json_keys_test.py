# SPDX-License-Identifier: Apache-2.0
"""That docs/json.md has every key of the JSON documents, in the section of the command that prints
it. (`doctor` is in doctor_process_test.py, where there is a process to look into.)"""

import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import ROOT, run, run_ok
from join_support import ROCKSIEVE, JoinSandbox

PAGE = (ROOT / "docs" / "json.md").read_text()


def section(command):
    """What the page says before its first section, for all commands, and of this one."""
    introduction, *sections = re.split(r"(?m)^## ", PAGE)
    [own] = [text for text in sections if text.startswith(command + "\n")]
    return introduction + own


def keys_of(value):
    """All keys in a document; those of `budgets` are names of families, which are data."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if not isinstance(value, dict):
        return set()
    return {key for key in value if "." not in key and " " not in key}.union(
        *(keys_of(item) for item in value.values()))


class JsonKeys(JoinSandbox):
    KEYS = 3000

    def assert_documented(self, command, document, expected_key):
        keys = keys_of(json.loads(document))
        self.assertIn(expected_key, keys)
        text = section(command)
        self.assertEqual([], sorted(key for key in keys if f"`{key}`" not in text))

    def command(self, *words):
        return run_ok(ROCKSIEVE, *words, "--json", timeout=300).out

    def test_demo(self):
        self.assert_documented("demo", self.command(
            "demo", f"--keys={self.files['left']}", f"--db-dir={self.directory / 'demo'}"),
            "low_95")

    def test_diff(self):
        finished = run(ROCKSIEVE, "diff", self.class_directory / "left",
                       self.class_directory / "right", "--summary", "--json",
                       f"--resume={self.directory / 'state'}")
        self.assertEqual(1, finished.code, finished)
        self.assert_documented("diff", finished.out, "diverged_rows")

    def test_commands_that_look(self):
        database = self.class_directory / "left"
        table = next(database.glob("*.sst"))
        self.assert_documented("explain", self.command("explain", f"--db={database}"), "setting_max")
        self.assert_documented("inspect", self.command("inspect", table, "--hex"), "bytes_hex")
        self.assert_documented("whatif", self.command(
            "whatif", f"--db={database}", "--spec=rocksieve.bloom:10", "--bits=10..11",
            "--cache=1MB"), "num_shard_bits")

    def test_report(self):
        page = self.directory / "report.html"
        self.assert_documented("report", self.command(
            "report", f"--db={self.class_directory / 'left'}", f"--output={page}"), "output_bytes")

    def test_commands_for_pipes(self):
        keys, file = self.files["left"], self.directory / "filter"
        self.assert_documented("distinct", self.command("distinct", f"--input={keys}"), "low_95")
        self.assert_documented("filter", self.command(
            "filter", "build", "--spec=rocksieve.bloom:10", f"--output={file}", f"--input={keys}"),
            "saturated_fraction")
        self.assert_documented("filter", self.command("filter", "query", file, f"--input={keys}"),
                               "matches")

    def test_ingest(self):
        table, database = self.directory / "there.sst", self.directory / "db"
        run_ok(*self.join_command([self.serve().port], "difference", "--format=sst",
                                  f"--output={table}"))
        shutil.copytree(self.class_directory / "left", database)
        self.assert_documented("ingest", self.command("ingest", f"--db={database}", table), "files")

    def test_load(self):
        self.assert_documented("load", self.command(
            "load", f"--db={self.directory / 'new'}", "--spec=none",
            f"--input={self.files['left']}"), "input_bytes")

    def test_join(self):
        port = self.serve().port
        for flags, expected_key in (("--explain=analyze", "round_trips"),
                                    ("--explain", "keys_are_as_cheap")):
            self.assert_documented(
                "join", run_ok(*self.join_command([port], "count", "--json", flags)).out,
                expected_key)


if __name__ == "__main__":
    unittest.main(verbosity=2)
