#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports on a terminal of 60 columns: nothing is wider, and no number is cut."""

import re
import unittest

from environment import lines_on_terminal, run_ok
from join_support import ROCKSIEVE, JoinSandbox

COLUMNS = 60


class NarrowTerminalTest(JoinSandbox):
    KEYS = 20000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tree = cls.class_directory / "tree"
        run_ok("db_bench", f"--db={cls.tree}", "--benchmarks=fillrandom,waitforcompaction",
               "--num=100000", "--bloom_bits=10", "--write_buffer_size=1000000", "--seed=1",
               "--target_file_size_base=1000000", "--max_bytes_for_level_base=4000000",
               "--partition_index_and_filters=true", "--metadata_block_size=1024")

    def commands(self):
        server = self.serve()
        file = max(self.tree.glob("*.sst"), key=lambda path: path.stat().st_size)
        join = self.join_command([server.port], "count", "--explain=analyze", "--range-keys=2000")
        plan = self.join_command([server.port], "count", "--explain=plan")
        return [[ROCKSIEVE, "explain", f"--db={self.tree}"],
                [ROCKSIEVE, "inspect", file], [ROCKSIEVE, "whatif", f"--db={self.tree}"],
                [ROCKSIEVE, "doctor", f"--db={self.class_directory / 'left'}"], join, plan]

    def test_nothing_is_wider(self):
        for command in self.commands():
            lines = lines_on_terminal(COLUMNS, *command, stream="stdout")
            text = "\n".join(lines)
            self.assertGreater(len(lines), 1)
            # A path has no spaces at which it could be broken.
            wide = [line for line in lines if len(line) > COLUMNS and " " in line.strip()]
            self.assertEqual(wide, [], text)
            if "doctor" not in command and "--explain=plan" not in command:
                self.assertIn("Not shown, for the terminal is narrow", text)

    def test_numbers_are_whole(self):
        command = [ROCKSIEVE, "explain", f"--db={self.tree}"]
        narrow = "\n".join(lines_on_terminal(COLUMNS, *command, stream="stdout"))
        keys = re.findall(r"\d+ files?, ([\d,]+) keys", narrow)
        self.assertEqual(len(keys), 1)
        self.assertRegex(narrow, rf"(?m)^all .* {keys[0]} ")

    def test_a_wide_terminal_and_a_pipe_have_the_same(self):
        command = [ROCKSIEVE, "inspect", next(self.tree.glob("*.sst"))]
        self.assertEqual([line for line in lines_on_terminal(300, *command, stream="stdout") if line],
                         [line for line in run_ok(*command).out.splitlines() if line])


if __name__ == "__main__":
    unittest.main()
