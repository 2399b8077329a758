# SPDX-License-Identifier: Apache-2.0
"""./run: what it says while packages are installed and sources compiled: on a terminal one line, each
second anew and no wider than it; elsewhere nothing, but for what fails. And what `./run stress
--rocksdb` says where there is no source tree of the installed RocksDB, and that it takes no run for a
good one in which the filters were not the policy's. db_stress itself is not here: it is built from
that tree."""

import argparse
import os
import re
import shutil
import sys
import unittest

from environment import ROOT, Sandbox, lines_on_terminal, load, run, run_ok, thorough

STRESS = ROOT / "tests" / "stress" / "rocksdb"
sys.path.insert(0, str(STRESS))

from crash_test import VERIFIED, CrashTest, Policy
from source_tree import PARTS, installed_version

# The functions of the script, without its verbs.
FUNCTIONS = "set -euo pipefail; unset ROCKSIEVE_SKIP_PACKAGES\n" + "".join(
    re.findall(r"(?m)^(?:show_steps|need)\(\) \{\n(?:.*\n)*?\}\n", (ROOT / "run").read_text()))

STEPS = r"""
{ echo '[1/2] Building the first of two sources, whose name is longer than the line'; sleep 3.3
  echo '[2/2] Linking'; } | show_steps
"""


def programs(directory, **scripts):
    """Makes them; "_" stands for "-" in their names."""
    for name, script in scripts.items():
        path = directory / name.replace("_", "-")
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)


class Steps(Sandbox):
    def test_a_line_that_fits_each_second_anew(self):
        for columns in (40, 80):
            lines = [line for line in lines_on_terminal(columns, "bash", "-c", FUNCTIONS + STEPS)
                     if line]
            self.assertLess(max(map(len, lines)), columns)
            seconds = [int(re.match(r"(\d+) s  \[", line)[1]) for line in lines]
            self.assertEqual(sorted(seconds), seconds)
            # Three seconds and a bit: a busy machine may skip one of them.
            self.assertGreaterEqual(len(set(seconds)), 3, lines)
            self.assertRegex(lines[-1], r"^\d+ s  \[2/2\] Linking$")

    def test_nothing_where_nobody_looks(self):
        finished = run("bash", "-c", FUNCTIONS + STEPS)
        self.assertEqual((0, "", ""), (finished.code, finished.out, finished.err))

    def need(self, what, **scripts):
        """A script that installs it, with programs of which these come first on its PATH."""
        programs(self.directory, sudo='exec "$@"', **scripts)
        return "bash", "-c", FUNCTIONS + f"PATH={self.directory}:$PATH\nneed {what}"

    def test_what_apt_says_is_shown_if_it_fails(self):
        finished = run(*self.need("gcc cmake", dpkg_query="exit 1",
                                  apt_get='echo "apt-get $1"; [ "$1" = update ]'))
        self.assertEqual(1, finished.code, finished)
        self.assertEqual("run: installing gcc cmake\napt-get update\napt-get install\n", finished.err)

    def test_what_is_installed_is_not_installed_again(self):
        finished = run(*self.need("gcc", dpkg_query="echo install ok installed", apt_get="exit 1"))
        self.assertEqual((0, ""), (finished.code, finished.err))

    def test_packages_on_a_terminal_are_one_line(self):
        lines = lines_on_terminal(40, *self.need(
            "gcc", dpkg_query="exit 1",
            apt_get='printf "Reading ... 5%%\\rReading ... done\\n"; sleep 1.5'))
        self.assertEqual("run: installing gcc", lines[0])
        for line in lines[1:]:
            self.assertRegex(line, r"^(\d s  Reading \.\.\..{0,24})?$")


@unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "no repository, or no git")
class Packages(Sandbox):
    """debian/make_packages, with programs of Debian's that do nothing."""

    def make(self, *flags, **scripts):
        tree = self.class_directory / "tree"
        if not tree.exists():
            run_ok("git", "-c", "safe.directory=*", "clone", "--quiet", "--depth=1", f"file://{ROOT}", tree)
        script = tree / "debian" / "make_packages"
        script.write_text((ROOT / "debian" / "make_packages").read_text())
        programs(self.directory, dpkg_parsechangelog="echo 1.0.0-1", xz="cat", **scripts)
        return run(script, *flags,
                   variables={"PATH": f"{self.directory}:{os.environ['PATH']}"})

    def test_exit_codes(self):
        done = {"dpkg_buildpackage": "touch ../a+next1.deb ../a.deb ../a.changes", "lintian": "exit 0"}
        finished = self.make(**done)
        self.assertEqual(0, finished.code, finished)
        self.assertIn("build/packages/a.deb\n", finished.out)
        self.assertNotIn("*", finished.out)
        finished = self.make("--next", **done)
        self.assertEqual(0, finished.code, finished)
        self.assertIn("build/packages/next/a+next1.deb\n", finished.out)
        for program in done:
            finished = self.make(**{**done, program: "echo broken; exit 3"})
            self.assertEqual((1, ""), (finished.code, finished.out), finished)
            self.assertIn("broken", finished.err)


# Instead of db_crashtest.py: starts what it is to start three times, on a database that is there
# already, and waits for its end instead of killing it.
UPSTREAM = """\
import subprocess, sys
command = next(word.split("=", 1)[1] for word in sys.argv if word.startswith("--stress_cmd="))
for _ in range(3):
    finished = subprocess.run([command, "--db={database}"])
    if finished.returncode != 0:
        sys.exit("Exit Before Killing")
"""


@thorough
class Stress(Sandbox):
    def tree(self, version):
        """All that is looked for in a tree, of a version such as "7.8.3"."""
        for part in PARTS:
            path = self.directory / part
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        (self.directory / PARTS[0]).write_text("".join(
            f"#define ROCKSDB_{name} {number}\n"
            for name, number in zip(("MAJOR", "MINOR", "PATCH"), version.split("."))))
        return self.directory

    def refused(self, *words, program=(ROOT / "run", "stress"), flags=()):
        finished = run(*program, *flags, variables={"ROCKSIEVE_SKIP_PACKAGES": "1"})
        self.assertEqual(2, finished.code, finished)
        for word in words:
            self.assertIn(word, finished.err)
        self.assertNotIn("building", finished.err)

    def test_a_source_tree_is_that_of_the_installed_rocksdb(self):
        installed = installed_version()

        def refused(source, *words):
            self.refused(str(source), f"--branch=v{installed}", *words, flags=[f"--rocksdb={source}"])

        refused(self.directory / "nonsuch", "is no directory")
        for part in PARTS:
            (self.tree(installed) / part).unlink()
            refused(self.directory, "is not RocksDB's source tree", part)
        refused(self.tree("6.29.5"), "6.29.5", f"{installed} is installed")
        (self.directory / PARTS[0]).write_text("#pragma once\n")
        refused(self.directory, "names no version")
        run_ok(STRESS / "source_tree.py", self.tree(installed))
        self.refused("--rocksdb=SOURCE")
        self.refused("\"bloom:10\" is no policy", program=[STRESS / "crash_test.py"],
                     flags=[f"--rocksdb={self.directory}", "--policies=bloom:10"])

    def crash_test(self, policy, spec, says=VERIFIED, upstream=UPSTREAM):
        """With a database that `load` made, and programs that do nothing."""
        directory = self.directory / "rounds"
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "tools").mkdir(parents=True)
        load(directory / "db", range(1000), spec=spec)
        (directory / "tools" / "db_crashtest.py").write_text(
            upstream.replace("{database}", str(directory / "db")))
        program = directory / "db_stress"
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        arguments = argparse.Namespace(rocksdb=directory, seconds=10, round_seconds=1)
        test = CrashTest(Policy(policy), arguments, program, directory / "record")
        test.run()
        return test

    def test_rounds_of_the_policys_filters_are_good(self):
        for policy in ("rocksieve.cuckoo:12", "rocksieve.auto:10", "rocksieve.bloom:10:salted"):
            with self.subTest(policy):
                test = self.crash_test(policy, policy)
                self.assertEqual([], test.failures)
                self.assertEqual(2, test.rounds)  # the first start finds no kill
                self.assertGreaterEqual(test.filters, 3)

    def test_other_rounds_fail(self):
        bloom, auto = "rocksieve.bloom:10", "rocksieve.auto:10"
        log = "open('{database}/LOG', 'w').write('%s')\n" + UPSTREAM
        for words, policy, spec, settings in (
                ("was written by rocksieve.bloom:10, not rocksieve.cuckoo:12", "rocksieve.cuckoo:12",
                 bloom, {}),
                ("has a filter whose layout is full", "rocksieve.bloom:10+partitioned", bloom, {}),
                ("no log says that it follows rocksieve.listener", auto, auto, {"upstream": log % ""}),
                ("LOG: its own history", auto, auto,
                 {"upstream": log % "its own history of built filters"}),
                ("no kill was followed by a verification", bloom, bloom,
                 {"says": "Starting database operations"}),
                ("db_crashtest.py ended with 1", bloom, bloom,
                 {"upstream": "raise SystemExit('Verification failed')"}),
                ("no filter was found", bloom, bloom,
                 {"upstream": UPSTREAM.replace("{database}", "/nonexistent")})):
            with self.subTest(words):
                self.assertIn(words, "\n".join(self.crash_test(policy, spec, **settings).failures))


if __name__ == "__main__":
    unittest.main(verbosity=2)
