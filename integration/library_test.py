"""The shared library itself: what it needs, what it exports, and how it treats programs that have
nothing to do with it, or have another RocksDB."""

import pathlib
import platform
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import Database, Report, options_text
from environment import PLUGIN, PROGRAMS, Sandbox, compile_program, run, run_ok


class Linking(unittest.TestCase):
    def test_needs_only_rocksdb_and_the_cpp_runtime(self):
        dynamic = run_ok("readelf", "-dW", PLUGIN).out
        needed = re.findall(r"\(NEEDED\).*\[(.+)\.so\b.*\]", dynamic)
        self.assertIn("librocksdb", needed)
        # The loader, which is in every process, gives threads their own variables.
        needed = [name for name in needed if not name.startswith("ld-linux")]
        self.assertLessEqual(set(needed), {"librocksdb", "libstdc++", "libgcc_s", "libm", "libc"})
        self.assertIn("[librocksieve.so.0]", dynamic)
        self.assertNotRegex(dynamic, r"\((RPATH|TEXTREL)\)")

    def test_exports_only_its_api(self):
        exported = run_ok("nm", "-DC", "--defined-only", PLUGIN).out.splitlines()
        names = {}
        for line in exported:
            _, kind, name = line.split(maxsplit=2)
            # Type information that every library has which uses these classes of libstdc++.
            of_libstdcpp = re.match(r"(typeinfo (name )?for )?std::", name) and kind in "VWu"
            if not of_libstdcpp:
                names[name.split("(")[0]] = kind
        api = ("rocksieve::NewFilterPolicy", "rocksieve::GetFilterStats", "rocksieve::NewListener",
               "rocksieve::GetFilterQueries", "rocksieve::PrometheusText")
        self.assertEqual({name: "T" for name in api}, names)

    @unittest.skipUnless(platform.machine() == "x86_64", "knows the instructions of x86-64")
    def test_only_kernels_use_instructions_that_some_processors_lack(self):
        """A kernel is chosen at run time. What is compiled along with one, such as a template of
        the standard library, may end up as the only copy in the library, for everybody."""
        beyond_baseline = re.compile(
            r"^ .*\t(v[a-z]\w+|popcnt|lzcnt|mulx|pdep|pext|andn|bextr|bls\w+|rorx|sarx|sh[lr]x"
            r"|pshufb|ptest|pmul(ld|dq|hrsw)|pblendvb|palignr|pinsr[dq]|pextr[dq]|crc32)\b")
        functions, function = set(), None
        for line in run_ok("objdump", "-dC", "--no-show-raw-insn", PLUGIN).out.splitlines():
            heading = re.match("[0-9a-f]+ <(.*)>:$", line)
            if heading:
                function = heading[1]
            elif beyond_baseline.match(line):
                functions.add(function)
        in_a_kernel = re.compile(r"(\w+ )?rocksieve::\w+::\(anonymous namespace\)::")
        self.assertEqual(set(), {name for name in functions if not in_a_kernel.match(name)})


class UnrelatedPrograms(Sandbox):
    def test_preloading_is_silent(self):
        for command in (["/bin/true"], ["/bin/echo", "hello"], ["/bin/sh", "-c", "echo hello"],
                        [sys.executable, "-c", "print('hello')"]):
            with self.subTest(command=command):
                plain = run_ok(*command)
                preloaded = run_ok(*command, preload=[PLUGIN])
                self.assertEqual((plain.out, ""), (preloaded.out, preloaded.err))

    def test_loading_at_run_time_is_silent(self):
        finished = run_ok(sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(PLUGIN)!r})")
        self.assertEqual(("", ""), (finished.out, finished.err))

    def test_the_library_stays_when_it_is_unloaded(self):
        """RocksDB keeps the registration for good, and would call into nowhere."""
        program = f"""
import _ctypes, ctypes
rocksdb = ctypes.CDLL("librocksdb.so.7.8")
_ctypes.dlclose(_ctypes.dlopen({str(PLUGIN)!r}, 2))
rocksdb.rocksdb_options_create.restype = ctypes.c_void_p
base, options = (ctypes.c_void_p(rocksdb.rocksdb_options_create()) for _ in range(2))
error = ctypes.c_char_p()
rocksdb.rocksdb_get_options_from_string(
    base, b"create_if_missing=true;block_based_table_factory={{filter_policy=rocksieve.blom:10}}",
    options, ctypes.byref(error))
rocksdb.rocksdb_open(options, b"db", ctypes.byref(error))
print(error.value)
"""
        finished = run_ok(sys.executable, "-c", program, cwd=self.directory)
        self.assertRegex(finished.out, r"Invalid argument: .*blom")


class OtherReleasesOfRocksDb(Sandbox):
    """A stub makes librocksdb pass for another release."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stub = compile_program(PROGRAMS / "stub_rocksdb_version.cc",
                                   cls.class_directory / "stub.so", "-shared", "-fPIC")
        cls.program = compile_program(PROGRAMS / "new_filter_policy.cc",
                                      cls.class_directory / "new_filter_policy",
                                      "-lrocksieve", "-lrocksdb")

    def with_version(self, version, *command, **settings):
        return run(*command, preload=[self.stub, PLUGIN],
                   variables={"STUB_ROCKSDB_VERSION": version}, **settings)

    def test_the_program_works_with_the_right_release(self):
        self.assertEqual("OK\npolicy: rocksieve.bloom:10\n",
                         run_ok(self.program, "rocksieve.bloom:10").out)
        wrong = run_ok(self.program, "rocksieve.blom:10").out
        self.assertRegex(wrong, r'^Invalid argument: .*"blom".*for example .*\npolicy: none\n$')

    def test_another_patch_release_is_accepted(self):
        finished = self.with_version("7.8.17", self.program, "rocksieve.bloom:10")
        self.assertEqual(("OK\npolicy: rocksieve.bloom:10\n", ""), (finished.out, finished.err))

    def test_another_release_is_refused(self):
        for version in ("8.9.1", "7.9.2", "7.80.0", "17.8.3"):
            with self.subTest(version=version):
                finished = self.with_version(version, self.program, "rocksieve.bloom:10")
                refusal = r"rocksieve: .*built for RocksDB 7\.8\b"
                self.assertRegex(finished.err, f"^{refusal}")
                self.assertIn(f"RocksDB in this process is {version}", finished.err)
                self.assertEqual(1, finished.err.count("\n"), "one line, once")
                self.assertRegex(finished.out, f"^Not implemented: {refusal}")
                self.assertIn(version, finished.out)
                self.assertIn("policy: none\n", finished.out)

    def test_nothing_is_registered_with_another_release(self):
        database = Database(self.directory)
        options = self.directory / "OPTIONS"
        # A policy that is registered would stop db_bench at the second of these specs.
        for spec in ("rocksieve.bloom:10", "rocksieve.blom:10"):
            with self.subTest(spec=spec):
                options.write_text(options_text(spec))
                finished = self.with_version(
                    "8.9.1", "db_bench", f"--db={database.path}", f"--options_file={options}",
                    "--benchmarks=fillrandom,compact,readmissing", "--num=10000", "--statistics")
                self.assertEqual(0, finished.code, finished)
                self.assertIn("built for RocksDB 7.8", finished.err)
                self.assertIn("8.9.1", finished.err)
                # RocksDB does not know the policy, says nothing, and works without filters.
                report = Report(finished)
                self.assertEqual([("readmissing", 0, 10000)], report.found)
                self.assertEqual(0, report.useful + report.positive)
                self.assertEqual({"N/A"}, {table["filter policy name"]
                                        for table in database.table_properties()})


if __name__ == "__main__":
    unittest.main(verbosity=2)
