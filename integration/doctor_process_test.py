# SPDX-License-Identifier: Apache-2.0
"""`rocksieve doctor --pid=N`: programs with the plugin, without it, with another RocksDB and with
one of their own; what cannot be looked at; and what docs/command.md and docs/json.md say."""

import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from doctor import BUILT_IN, COMMAND, OURS, Examined
from environment import PLUGIN, RELEASE_PLUGIN, ROOT, SERIES, compile_program, preloadable, run, run_ok


# A program with a RocksDB of its own inside, such as Rust, Go and Java packages bring: opens a
# database with the options that it has, and keeps it open until its input ends.
STATIC_HOST = r"""
#include <rocksdb/db.h>
#include <rocksdb/utilities/options_util.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::Status status =
      rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), argv[1], &options, &families);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  if (status.ok()) status = rocksdb::DB::Open(options, argv[1], families, &handles, &db);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  delete db;
  return 0;
}
"""


class Processes(Examined):
    @contextlib.contextmanager
    def process(self, *command, variables=None):
        """A program that has the database open for as long as its input is."""
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=dict(variables or {}))
        try:
            for _ in range(500):
                report = json.loads(run(COMMAND, "doctor", f"--db={self.database}", "--json").out)
                # The lock is taken early in an opening; this line is logged at its end.
                if (report["open_in_process"] == process.pid
                        and "DB pointer" in (self.database / "LOG").read_text(errors="replace")):
                    break
                time.sleep(0.02)
            else:
                raise AssertionError(f"{command} has not opened the database")
            yield f"--pid={process.pid}"
        finally:
            process.kill()
            process.communicate()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.hosts = {}  # by flags, each compiled once

    def static_host(self, *flags):
        if flags not in self.hosts:
            self.hosts[flags] = compile_program(
                STATIC_HOST, self.class_directory / f"static_host_{len(self.hosts)}", *flags,
                "-Wl,-Bstatic", "-lrocksdb", "-Wl,-Bdynamic", "-lsnappy", "-llz4", "-lzstd", "-lbz2",
                "-lz", "-lpthread", "-ldl")
        return shutil.copy(self.hosts[flags], self.directory / "static_host")

    def ldb(self, **variables):
        return self.process("ldb", f"--db={self.database}", "load", variables=variables)

    def test_healthy_with_the_plugin_linked(self):
        self.load()
        with self.process(COMMAND, "load", f"--db={self.database}", f"--spec={OURS}", "--add",
                          "--input=-") as pid:
            self.assert_healthy(pid)
            self.assert_healthy(is_open=True)

    def test_healthy_with_the_plugin_preloaded(self):
        self.load()
        with self.ldb(LD_PRELOAD=preloadable(PLUGIN)) as pid:
            self.assert_healthy(pid)

    def test_healthy_without_a_need_of_it(self):
        self.load(BUILT_IN)
        with self.ldb() as pid:
            self.assert_healthy(pid)

    def test_not_loaded(self):
        self.load()
        with self.ldb(LD_PRELOAD="/nonexistent/librocksieve.so") as pid:
            self.assert_evidence(self.assert_found("plugin-not-loaded", "policy-lost", flags=[pid]),
                                 rf"librocksdb\.so\.{SERIES}.*no librocksieve\.so",
                                 "LD_PRELOAD=/nonexistent/librocksieve.so")

    def test_static(self):
        host = self.static_host()
        for name, variables in (("plain", {}), ("preloaded", {"LD_PRELOAD": preloadable(PLUGIN)}),
                                ("stripped", {})):
            with self.subTest(name):
                shutil.rmtree(self.database, ignore_errors=True)
                self.load()
                if name == "stripped":
                    run_ok("strip", host)
                with self.process(host, self.database, variables=variables) as pid:
                    found = self.assert_found("static-rocksdb", "policy-lost", flags=[pid])
                self.assert_evidence(found, f"{host} has RocksDB's code inside",
                                     f"{host} exports none of RocksDB's functions")
                if variables:
                    self.assert_evidence(found, "librocksieve.so.* is loaded", "no librocksdb.so")

    def test_static_and_exported(self):
        """As in an extension of Node: a plugin could register, and has not."""
        self.load()
        host = self.static_host("-Wl,--export-dynamic")
        with self.process(host, self.database) as pid:
            found = self.assert_found("static-rocksdb", "policy-lost", flags=[pid])
        self.assert_evidence(found, f"{host} exports RocksDB's functions")
        self.assertIn("rocksieve_load", found["remedy"])

    def test_no_policy_as_the_process_cannot_know_ours(self):
        self.load("none")
        with self.ldb() as pid:
            self.assert_found("plugin-not-loaded", "no-policy", flags=[pid])
        with self.process(self.static_host(), self.database) as pid:
            self.assert_found("static-rocksdb", "no-policy", flags=[pid])

    def test_static_with_a_policy_of_rocksdb_is_healthy(self):
        self.load(BUILT_IN)
        host = self.static_host()
        with self.process(host, self.database) as pid:
            self.assert_healthy(pid)

    def test_another_rocksdb_than_the_plugin_is_for(self):
        self.load()
        library = run_ok("ldd", shutil.which("ldb")).out
        [installed] = re.findall(r"librocksdb\.so\S* => (\S+)", library)
        other = self.directory / "librocksdb.so.8.9.1"
        shutil.copy(installed, other)
        with self.ldb(LD_PRELOAD=f"{other}:{preloadable(PLUGIN)}") as pid:
            self.assert_evidence(self.assert_found("plugin-wrong-version", flags=[pid]),
                                 f"is for RocksDB {SERIES}", r"librocksdb\.so\.8\.9\.1")

    def test_no_build_for_the_rocksdb(self):
        self.load()
        alone = self.directory / "librocksieve.so"
        shutil.copy(PLUGIN, alone)
        with self.ldb(LD_PRELOAD=str(alone)) as pid:
            self.assert_evidence(
                self.assert_found("plugin-wrong-version", "policy-lost", flags=[pid]),
                f"{alone} has loaded no librocksieve-MAJOR.MINOR.so")

    def test_a_plugin_that_was_replaced(self):
        self.load()
        shutil.copy(PLUGIN, self.directory)
        copy = pathlib.Path(shutil.copy(RELEASE_PLUGIN, self.directory / f"{RELEASE_PLUGIN.name}.1"))
        with self.ldb(LD_PRELOAD=str(self.directory / PLUGIN.name)) as pid:
            copy.unlink()
            self.assert_evidence(self.assert_found("plugin-replaced", flags=[pid]), "deleted")


class CannotLook(Examined):
    def assert_cannot(self, says, *flags, database=None):
        finished = run(COMMAND, "doctor", f"--db={database or self.database}", *flags)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        self.assertIn(says, finished.err)

    def test_no_database(self):
        self.assert_cannot("there is no directory")
        self.assert_cannot("there is no RocksDB database", database=self.directory)

    def test_wrong_processes(self):
        self.load(text="a\n")
        self.assert_cannot("there is no process 999999999", "--pid=999999999")
        with subprocess.Popen(["sleep", "60"]) as process:
            try:
                self.assert_cannot("no file of", f"--pid={process.pid}")
            finally:
                process.kill()
        self.assert_cannot("is not the number of a process", "--pid=x")

    def test_corrupt_manifest(self):
        self.load(text="a\n")
        [manifest] = self.database.glob("MANIFEST-*")
        manifest.write_bytes(b"x" * 1000)
        self.assert_cannot("MANIFEST")


class Documentation(Examined):
    """docs/command.md has every finding, and docs/json.md every key."""

    def test_every_finding(self):
        sources = (ROOT / "tools" / "doctor" / "checks").glob("*.cc")
        code = "".join(path.read_text() for path in sources)
        ids = set(re.findall(r'Add\(findings,\s+"([a-z-]+)",\s+(?:Severity|does_not_fit)', code))
        self.assertGreater(len(ids), 15)
        page = (ROOT / "docs" / "command.md").read_text()
        page = page[page.index("\nThe findings, "):page.index("\n## load\n")]
        self.assertEqual(ids, set(re.findall(r"(?m)^\| `([a-z-]+)` \|", page)))

    def test_every_key(self):
        self.load("none")
        with subprocess.Popen([COMMAND, "load", f"--db={self.database}", "--spec=none", "--add",
                               "--input=-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as process:
            for _ in range(500):
                finished = run(COMMAND, "doctor", f"--db={self.database}", "--json",
                               f"--pid={process.pid}")
                if finished.code == 1:
                    break
                time.sleep(0.02)
        keys = set(re.findall(r'"(\w+)":', finished.out))
        self.assertIn("program", keys)
        page = (ROOT / "docs" / "json.md").read_text()
        page = page[page.index("\n## doctor\n"):page.index("\n## load\n")]
        for key in keys:
            self.assertIn(f"`{key}`", page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
