# SPDX-License-Identifier: Apache-2.0
"""What `./run stress --rocksdb` says where there is no source tree of the installed RocksDB, and that it
takes no run for a good one in which the filters were not the policy's. db_stress itself is not here: it
is built from that tree."""

import argparse
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, Sandbox, run, run_ok

STRESS = ROOT / "tests" / "stress" / "rocksdb"
sys.path.insert(0, str(STRESS))

from crash_test import CrashTest
from round import DEFAULT, VERIFIED, Policy, Record
from source_tree import PARTS, installed_version

COMMAND = BUILD / "bin" / "rocksieve"

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


class SourceTree(Sandbox):
    def tree(self, version):
        """All that is looked for in a tree, of a version such as "7.8.3"."""
        for part in PARTS:
            path = self.directory / part
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        names = ("MAJOR", "MINOR", "PATCH")
        (self.directory / PARTS[0]).write_text("".join(
            f"#define ROCKSDB_{name} {number}\n" for name, number in zip(names, version.split("."))))
        return self.directory

    def refused(self, source, *words):
        finished = run(ROOT / "run", "stress", f"--rocksdb={source}",
                       variables={"ROCKSIEVE_SKIP_PACKAGES": "1"})
        self.assertEqual(finished.code, 2, finished)
        for word in (str(source), f"--branch=v{installed_version()}", *words):
            self.assertIn(word, finished.err)
        self.assertNotIn("building", finished.err)

    def test_it_must_be_there(self):
        self.refused(self.directory / "nonsuch", "is no directory")

    def test_it_must_be_rocksdb(self):
        for part in PARTS:
            with self.subTest(part):
                (self.tree(installed_version()) / part).unlink()
                self.refused(self.directory, "is not RocksDB's source tree", part)

    def test_it_must_be_of_the_installed_version(self):
        self.refused(self.tree("6.29.5"), "6.29.5", f"{installed_version()} is installed")

    def test_it_must_say_its_version(self):
        self.tree("7.8.3")
        (self.directory / PARTS[0]).write_text("#pragma once\n")
        self.refused(self.directory, "names no version")

    def test_the_right_one_is_taken(self):
        run_ok(STRESS / "source_tree.py", self.tree(installed_version()))

    def test_a_mode_is_needed(self):
        finished = run(ROOT / "run", "stress")
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("--rocksdb=SOURCE", finished.err)

    def test_a_policy_is_a_spec(self):
        tree = self.tree(installed_version())
        finished = run(STRESS / "crash_test.py", f"--rocksdb={tree}", "--policies=bloom:10")
        self.assertEqual(finished.code, 2, finished)
        self.assertIn("\"bloom:10\" is no policy", finished.err)


class Rounds(Sandbox):
    """One crash test, with a database that `rocksieve load` made, and programs that do nothing."""

    def crash_test(self, policy, spec, says=VERIFIED, upstream=UPSTREAM):
        database = self.directory / "db"
        run_ok(COMMAND, "load", f"--db={database}", f"--spec={spec}", "--input=-",
               stdin="".join(f"{number}\n" for number in range(1000)))
        (self.directory / "tools").mkdir()
        (self.directory / "tools" / "db_crashtest.py").write_text(
            upstream.replace("{database}", str(database)))
        program = self.directory / "db_stress"
        program.write_text(f"#!/bin/sh\necho '{says}'\n")
        program.chmod(0o755)
        arguments = argparse.Namespace(rocksdb=self.directory, seconds=10, round_seconds=1)
        test = CrashTest(Policy(policy), arguments, program, self.directory / "record")
        test.run()
        return test

    def test_of_the_policys_filters_are_good(self):
        for policy in ("rocksieve.cuckoo:12", "rocksieve.auto:10", "rocksieve.bloom:10:salted"):
            with self.subTest(policy):
                self.directory = self.directory / "next"
                self.directory.mkdir()
                test = self.crash_test(policy, policy)
                self.assertEqual(test.failures, [])
                self.assertEqual(test.rounds, 2)  # the first start finds no kill
                self.assertGreaterEqual(test.filters, 3)

    def fails(self, words, *arguments, **settings):
        failures = self.crash_test(*arguments, **settings).failures
        self.assertIn(words, "\n".join(failures))

    def test_of_another_policy_fail(self):
        self.fails("was written by rocksieve.bloom:10, not rocksieve.cuckoo:12",
                   "rocksieve.cuckoo:12", "rocksieve.bloom:10")

    def test_without_partitions_fail(self):
        self.fails("has a filter whose layout is full",
                   "rocksieve.bloom:10+partitioned", "rocksieve.bloom:10")

    def test_without_the_listener_fail(self):
        for log, words in (("", "no log says that it follows rocksieve.listener"),
                           ("its own history of built filters", "LOG: its own history")):
            with self.subTest(log):
                self.directory = self.directory / "next"
                self.directory.mkdir()
                self.fails(words, "rocksieve.auto:10", "rocksieve.auto:10",
                           upstream=f"open('{{database}}/LOG', 'w').write('{log}')\n{UPSTREAM}")

    def test_that_verified_nothing_fail(self):
        self.fails("no kill was followed by a verification", "rocksieve.bloom:10",
                   "rocksieve.bloom:10", says="Starting database operations")

    def test_of_a_program_that_fails_fail(self):
        self.fails("db_crashtest.py ended with 1", "rocksieve.bloom:10", "rocksieve.bloom:10",
                   upstream="raise SystemExit('Verification failed')")

    def test_without_filters_fail(self):
        self.fails("no filter was found", "rocksieve.bloom:10", "rocksieve.bloom:10",
                   upstream=UPSTREAM.replace("{database}", "/nonexistent"))


class Policies(unittest.TestCase):
    def test_the_usual_ones_are_all_that_there_is(self):
        policies = [Policy(text) for text in DEFAULT]
        self.assertEqual({policy.family for policy in policies},
                         {"rocksieve.bloom", "rocksieve.cuckoo", "rocksieve.range",
                          "rocksieve.ribbon", None})
        self.assertEqual([policy.text for policy in policies if policy.has_listener],
                         ["rocksieve.auto:10", "rocksieve.auto:12:range+partitioned"])
        self.assertEqual([policy.text for policy in policies if policy.answers_ranges],
                         ["rocksieve.range:12", "rocksieve.auto:12:range+partitioned"])
        self.assertEqual(sum(policy.partitioned for policy in policies), 2)

    def test_a_record_counts_from_the_second_round(self):
        self.assertEqual(Record(pathlib.Path("/nonexistent")).verified_kills(), 0)


if __name__ == "__main__":
    unittest.main()
