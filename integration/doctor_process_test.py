# SPDX-License-Identifier: Apache-2.0
"""`rocksieve doctor --pid=N`: programs with the plugin, without it, with another RocksDB and with
one of their own."""

import contextlib
import os
import re
import shutil
import subprocess
import unittest

from doctor_test import OURS, Examined
from environment import (BUILT_IN, COMMAND, PLUGIN, RELEASE_PLUGIN, SERIES, compile_program, document,
                         preloadable, run_ok, wait_for)

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
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}
"""


class Processes(Examined):
    @contextlib.contextmanager
    def process(self, *command, **variables):
        """A program that has the database open for as long as its input is."""
        process = self.spawn(*command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=variables)

        def has_opened():
            # The lock is taken early in an opening; this line is logged at its end.
            log = (self.database / "LOG").read_text(errors="replace")
            return "DB pointer" in log and document(
                "doctor", f"--db={self.database}", code=None)["open_in_process"] == process.pid

        wait_for(has_opened, what=f"opening by {command}")
        yield f"--pid={process.pid}"
        process.kill()
        process.wait()

    def ldb(self, **variables):
        return self.process("ldb", f"--db={self.database}", "load", **variables)

    def found_in(self, process, ids, *patterns):
        with process as pid:
            return self.assert_found(ids, *patterns, flags=[pid])

    def static_host(self, *flags):
        return compile_program(
            STATIC_HOST, self.directory / "static_host", *flags, "-Wl,-Bstatic", "-lrocksdb",
            "-Wl,-Bdynamic", "-lsnappy", "-llz4", "-lzstd", "-lbz2", "-lz", "-lpthread", "-ldl")

    def test_healthy(self):
        plugged = {"LD_PRELOAD": preloadable(PLUGIN)}
        for spec, command, variables in (
                (OURS, (COMMAND, "load", f"--db={self.database}", f"--spec={OURS}", "--add",
                        "--input=-"), {}),
                (OURS, ("ldb", f"--db={self.database}", "load"), plugged),
                (BUILT_IN, ("ldb", f"--db={self.database}", "load"), {})):
            with self.subTest(spec=spec, command=command[0]):
                shutil.rmtree(self.database, ignore_errors=True)
                self.load(spec)
                with self.process(*command, **variables) as pid:
                    self.assert_healthy(pid)
                    self.assert_healthy(is_open=True)

    def test_not_loaded(self):
        self.load()
        self.found_in(self.ldb(LD_PRELOAD="/nonexistent/librocksieve.so"),
                      "plugin-not-loaded policy-lost", rf"librocksdb\.so\.{SERIES}.*no librocksieve\.so",
                      "LD_PRELOAD=/nonexistent/librocksieve.so")

    def test_the_command_has_no_rocksdb_inside(self):
        """Though it knows by which words to tell."""
        self.load()
        with self.process(COMMAND, "load", f"--db={self.database}", "--spec=none", "--add",
                          "--input=-") as pid:
            looked = document("doctor", f"--db={self.database}", pid, code=None)
        self.assertEqual(["policy-lost"], [finding["id"] for finding in looked["findings"]])

    def test_static(self):
        host = self.static_host()
        for name, variables in (("plain", {}), ("preloaded", {"LD_PRELOAD": preloadable(PLUGIN)}),
                                ("stripped", {}), ("made from a tarball", {})):
            with self.subTest(name):
                shutil.rmtree(self.database, ignore_errors=True)
                self.load()
                if name == "stripped":
                    run_ok("strip", host)
                elif name == "made from a tarball":  # by RocksDB's Makefile, which knows no revision
                    host.write_bytes(host.read_bytes().replace(b"_build_git_sha:0", b"_build_git_sha:\0"))
                self.found_in(self.process(host, self.database, **variables),
                              "static-rocksdb policy-lost", f"{host} has RocksDB's code inside",
                              f"{host} exports none of RocksDB's functions",
                              *(["librocksieve.so.* is loaded", "no librocksdb.so"] * bool(variables)))

    def test_static_and_exported(self):
        """As in an extension of Node: a plugin could register, and has not."""
        self.load()
        self.found_in(self.process(self.static_host("-Wl,--export-dynamic"), self.database),
                      "static-rocksdb policy-lost", "exports RocksDB's functions", "rocksieve_load")

    def test_no_policy_as_the_process_cannot_know_ours(self):
        self.load("none")
        self.found_in(self.ldb(), "plugin-not-loaded no-policy")
        host = self.static_host()
        self.found_in(self.process(host, self.database), "static-rocksdb no-policy")
        shutil.rmtree(self.database)
        self.load(BUILT_IN)
        with self.process(host, self.database) as pid:
            self.assert_healthy(pid)

    def test_another_rocksdb_than_the_plugin_is_for(self):
        self.load()
        [installed] = re.findall(r"librocksdb\.so\S* => (\S+)", run_ok("ldd", shutil.which("ldb")).out)
        other = shutil.copy(installed, self.directory / "librocksdb.so.8.9.1")
        self.found_in(self.ldb(LD_PRELOAD=f"{other}:{preloadable(PLUGIN)}"), "plugin-wrong-version",
                      f"is for RocksDB {SERIES}", r"librocksdb\.so\.8\.9\.1")

    def test_no_build_for_the_rocksdb(self):
        self.load()
        alone = shutil.copy(PLUGIN, self.directory)
        self.found_in(self.ldb(LD_PRELOAD=str(alone)), "plugin-wrong-version policy-lost",
                      f"{alone} has loaded no librocksieve-MAJOR.MINOR.so")

    def test_a_plugin_that_was_replaced(self):
        self.load()
        alone = shutil.copy(PLUGIN, self.directory)
        copy = shutil.copy(RELEASE_PLUGIN, self.directory / f"{RELEASE_PLUGIN.name}.1")
        with self.ldb(LD_PRELOAD=str(alone)) as pid:
            os.unlink(copy)
            self.assert_found("plugin-replaced", "deleted", flags=[pid])

    def test_a_build_in_memory(self):
        """As one for a RocksDB that is not installed is loaded."""
        self.load()
        alone = shutil.copy(PLUGIN, self.directory)
        with open(os.memfd_create(RELEASE_PLUGIN.name), "wb", buffering=0) as build:
            build.write(RELEASE_PLUGIN.read_bytes())
            path = f"/proc/{os.getpid()}/fd/{build.fileno()}"
            with self.ldb(LD_PRELOAD=f"{alone}:{path}") as pid:
                self.assert_healthy(pid)


if __name__ == "__main__":
    unittest.main(verbosity=2)
