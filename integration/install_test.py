# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` makes, used by a project outside of this one (integration/consumer)."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, PLUGIN, RELEASE_PLUGIN, ROOT, SERIES, Sandbox, run, run_ok, thorough

CONSUMER = ROOT / "integration" / "consumer"
HAS_JOIN = (BUILD / "lib" / "librocksieve_join.so").exists()
HAS_EXPORTER = (BUILD / "lib" / "librocksieve_exporter.so").exists()


class Installed(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        staging = cls.class_directory / "staging"
        run_ok("cmake", "--install", BUILD, "--prefix", staging)
        # Moved, since a package must not depend on where it was installed first.
        cls.prefix = staging.rename(cls.class_directory / "prefix")

    def configure(self, source, *flags):
        return run("cmake", "-G", "Ninja", "-S", source, "-B", self.directory / "build",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", *flags)

    def build_consumer(self, *flags):
        configured = self.configure(CONSUMER, *flags)
        self.assertEqual(0, configured.code, configured)
        run_ok("cmake", "--build", self.directory / "build", timeout=120)
        return configured

    def run_consumer(self, program, *arguments):
        return run_ok(self.directory / "build" / program, *arguments).out

    def assert_core_program_works(self):
        found, of, false_positives = map(int, re.fullmatch(
            r"(\d+) of (\d+) keys, (\d+) false positives\n",
            self.run_consumer("core_program")).groups())
        self.assertEqual((10000, 10000), (found, of))
        self.assertAlmostEqual(100, false_positives, delta=50)  # 1 %, and five standard deviations


class Layout(Installed):
    @unittest.skipUnless(HAS_JOIN, "built without joins")
    def test_the_service_starts_what_was_installed(self):
        unit = (self.prefix / "lib/systemd/system/rocksieve-serve.service").read_text()
        self.assertIn(f"\nExecStart={self.class_directory}/staging/bin/rocksieve serve ", unit)

    def test_files(self):
        files = {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*")
                 if not path.is_dir()}
        headers = {str(path.relative_to(ROOT))
                   for path in (ROOT / "include" / "rocksieve").rglob("*.h")
                   if (HAS_JOIN or path.parent.name != "join")
                   and (HAS_EXPORTER or path.name != "metrics_exporter.h")}
        self.assertEqual(headers, {file for file in files if file.startswith("include/")})
        [library_directory] = {str(pathlib.PurePath(file).parent) for file in files
                               if file.endswith("librocksieve.so")}
        package = f"{library_directory}/cmake/rocksieve"
        for file in (f"{library_directory}/librocksieve_core.a",
                     f"{library_directory}/librocksieve_filters.so.1",
                     f"{library_directory}/librocksieve.so.1",
                     f"{library_directory}/{RELEASE_PLUGIN.name}", f"{package}/rocksieveConfig.cmake",
                     f"{package}/rocksieveConfigVersion.cmake"):
            self.assertIn(file, files)
        if HAS_EXPORTER:
            for file in (f"{library_directory}/librocksieve_exporter.so.1",
                         "share/rocksieve/prometheus/rules.yml",
                         "share/rocksieve/grafana/dashboard.json"):
                self.assertIn(file, files)
        self.assertTrue(any(file.endswith("/LICENSE") for file in files), files)

    def test_nothing_points_to_where_it_was_built(self):
        places = [str(place).encode() for place in (BUILD, ROOT, self.class_directory / "staging")]
        for path in self.prefix.rglob("*.cmake"):
            for place in places:
                self.assertNotIn(place, path.read_bytes(), path)
        for path in self.prefix.rglob("librocksieve[.-]*.so*"):
            self.assertNotRegex(run_ok("readelf", "-dW", path).out, r"\((RPATH|RUNPATH)\)")

    def test_the_installed_plugin_can_be_preloaded(self):
        [installed] = self.prefix.rglob(PLUGIN.name)
        finished = run_ok("ldb", "--version", preload=[installed])
        self.assertEqual("", finished.err)

    def test_the_installed_command_runs(self):
        command = self.prefix / "bin" / "rocksieve"
        if not command.exists():
            self.skipTest("this build has no command")
        self.assertIn("rocksieve", run_ok(command, "--help").out)
        for file in ("man/man1/rocksieve.1", "man/man1/rocksieve-demo.1",
                     "bash-completion/completions/rocksieve", "zsh/site-functions/_rocksieve",
                     "fish/vendor_completions.d/rocksieve.fish"):
            self.assertTrue((self.prefix / "share" / file).exists(), file)


class Consumer(Installed):
    def test_all_programs(self):
        # As on systems whose linker drops libraries that nothing calls.
        self.build_consumer("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed")
        self.assert_core_program_works()
        self.assertEqual("5000 keys found, 1 filters built with 5000 keys\n",
                         self.run_consumer("plugin_program", self.directory / "db"))

        found, useful = map(int, re.fullmatch(
            r"(\d+) keys found, rocksdb.bloom.filter.useful COUNT : (\d+)\n",
            self.run_consumer("c_program", self.directory / "c_db")).groups())
        self.assertEqual(5000, found)
        self.assertGreater(useful, 4900)

        self.assertEqual((found, useful), tuple(map(int, re.fullmatch(
            r"(\d+) keys found, rocksdb.bloom.filter.useful COUNT : (\d+)\n",
            self.run_consumer("static_program", self.directory / "static_db")).groups())))
        if HAS_EXPORTER:
            self.assertRegex(self.run_consumer("exporter_program"), r"serves at 127.0.0.1:\d+\n")

        needed = run_ok("readelf", "-dW", self.directory / "build" / "static_program").out
        self.assertNotRegex(needed, "librocks(db|ieve)")

    @unittest.skipUnless(HAS_JOIN, "built without the join")
    def test_join(self):
        self.build_consumer()
        self.assertEqual("5000 keys in both, 0 in one only\n",
                         self.run_consumer("join_program", self.directory / "join_db"))
        # gRPC and its like come with the library: programs need not know them.
        needed = run_ok("readelf", "-dW", self.directory / "build" / "join_program").out
        for name in ("grpc", "absl", "protobuf"):
            self.assertNotIn(name, needed)

    @thorough
    def test_the_examples_can_be_built_by_themselves(self):
        configured = self.configure(ROOT / "examples",
                                    "-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON")
        self.assertEqual(0, configured.code, configured)
        # One with a header of its own, and one with another folder's and the toolbox.
        run_ok("cmake", "--build", self.directory / "build", "--target", "example_spell_checker",
               "example_filter_tree", timeout=120)

    def test_core_needs_no_rocksdb(self):
        configured = self.build_consumer("-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON")
        self.assertIn(f"rocksieve::plugin needs RocksDB {SERIES}, which was not found", configured.out)
        self.assert_core_program_works()
        needed = run_ok("readelf", "-dW", self.directory / "build" / "core_program").out
        self.assertNotIn("rocksdb", needed)
        self.assertFalse((self.directory / "build" / "plugin_program").exists())


class Package(Installed):
    """find_package(rocksieve ...) with arguments, where RocksDB cannot be found."""

    def find(self, arguments):
        (self.directory / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(finder LANGUAGES NONE)\n"
            f"find_package(rocksieve {arguments})\n"
            f'message(STATUS "found: ${{rocksieve_FOUND}}")\n'
            f'get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)\n'
            f'message(STATUS "targets: ${{targets}}")\n')
        return self.configure(self.directory, "-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON")

    def assert_core_is_found(self, arguments):
        finished = self.find(arguments)
        self.assertEqual(0, finished.code, finished)
        self.assertRegex(finished.out, "found: (1|TRUE)\n")
        self.assertIn("targets: rocksieve::core;rocksieve::toolbox\n", finished.out)
        return finished

    def test_core(self):
        for arguments in ("REQUIRED", "1.0 REQUIRED", "REQUIRED COMPONENTS core",
                          "REQUIRED COMPONENTS core OPTIONAL_COMPONENTS plugin"):
            with self.subTest(arguments=arguments):
                self.assert_core_is_found(arguments)

    def test_it_says_what_is_missing_unless_told_to_be_quiet(self):
        self.assertIn("RocksDB", self.assert_core_is_found("").out)
        self.assertNotIn("RocksDB", self.assert_core_is_found("QUIET").out)
        self.assertNotIn("RocksDB", self.assert_core_is_found("COMPONENTS core").out)

    def test_what_cannot_be_had_is_an_error(self):
        for arguments, reason in (
                ("REQUIRED COMPONENTS plugin", f"rocksieve::plugin needs RocksDB {SERIES}"),
                ("REQUIRED COMPONENTS join",
                 f"rocksieve::join needs RocksDB {SERIES}" if HAS_JOIN else
                 "this rocksieve was built without rocksieve::join"),
                ("REQUIRED COMPONENTS core jon", "rocksieve has no component jon"),
                ("99 REQUIRED", 'compatible with requested version "99"')):
            with self.subTest(arguments=arguments):
                finished = self.find(arguments)
                self.assertEqual(1, finished.code, finished)
                self.assertIn(reason, " ".join(finished.err.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
