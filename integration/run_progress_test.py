# SPDX-License-Identifier: Apache-2.0
"""What ./run says while packages are installed and sources compiled: on a terminal one line, each
second anew and no wider than it; elsewhere nothing, but for what fails."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import ROOT, Sandbox, lines_on_terminal, run

# The functions of the script, without its verbs.
FUNCTIONS = "set -euo pipefail; unset ROCKSIEVE_SKIP_PACKAGES\n" + "".join(
    re.findall(r"(?m)^(?:show_steps|need)\(\) \{\n(?:.*\n)*?\}\n", (ROOT / "run").read_text()))

BUILD = r"""
{ echo '[1/2] Building the first of two sources, whose name is longer than the line'; sleep 3.3
  echo '[2/2] Linking'; } | show_steps
"""


class Steps(unittest.TestCase):
    def test_a_line_that_fits_each_second_anew(self):
        for columns in (40, 80):
            lines = [line for line in lines_on_terminal(columns, "bash", "-c", FUNCTIONS + BUILD)
                     if line]
            self.assertLess(max(map(len, lines)), columns)
            seconds = [int(re.match(r"(\d+) s  \[", line)[1]) for line in lines]
            self.assertEqual(sorted(seconds), seconds)
            # Three seconds and a bit: a busy machine may skip one of them.
            self.assertGreaterEqual(len(set(seconds)), 3, lines)
            self.assertRegex(lines[-1], r"^\d+ s  \[2/2\] Linking$")

    def test_nothing_where_nobody_looks(self):
        finished = run("bash", "-c", FUNCTIONS + BUILD)
        self.assertEqual((0, "", ""), (finished.code, finished.out, finished.err))


class Packages(Sandbox):
    def programs(self, **scripts):
        """A PATH on which these come first."""
        for name, script in scripts.items():
            path = self.directory / name.replace("_", "-")
            path.write_text("#!/bin/sh\n" + script)
            path.chmod(0o755)
        return FUNCTIONS + f'PATH={self.directory}:$PATH\n'

    def test_what_apt_says_is_shown_if_it_fails(self):
        script = self.programs(dpkg_query="exit 1", sudo='exec "$@"',
                               apt_get='echo "apt-get $1"; [ "$1" = update ]') + "need gcc cmake"
        finished = run("bash", "-c", script)
        self.assertEqual(1, finished.code, finished)
        self.assertEqual("run: installing gcc cmake\napt-get update\napt-get install\n", finished.err)

    def test_what_is_installed_is_not_installed_again(self):
        finished = run("bash", "-c", self.programs(dpkg_query="echo install ok installed",
                                                   apt_get="exit 1") + "need gcc")
        self.assertEqual((0, ""), (finished.code, finished.err))

    def test_on_a_terminal_it_is_one_line(self):
        script = self.programs(dpkg_query="exit 1", sudo='exec "$@"',
                               apt_get='printf "Reading ... 5%%\\rReading ... done\\n"; sleep 1.5')
        lines = lines_on_terminal(40, "bash", "-c", script + "need gcc")
        self.assertEqual("run: installing gcc", lines[0])
        for line in lines[1:]:
            self.assertRegex(line, r"^(\d s  Reading \.\.\..{0,24})?$")


if __name__ == "__main__":
    unittest.main()
