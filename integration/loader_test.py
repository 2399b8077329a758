# SPDX-License-Identifier: Apache-2.0
"""librocksieve.so in all kinds of processes: it loads the build for the RocksDB that it finds there,
and leaves all others alone."""

import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from programs import Database, Report, options_text
from environment import PLUGIN, SERIES, Sandbox, compile_program, run, run_ok

# This makes librocksdb pass for another release, the one in STUB_ROCKSDB_VERSION; or a process that
# has none for one that has.
STUB = r"""
#include <cstdlib>
#include <string>

namespace rocksdb {

std::string GetRocksVersionAsString(bool /*with_patch*/) {
  const char* version = std::getenv("STUB_ROCKSDB_VERSION");
  return version != nullptr ? version : "the variable STUB_ROCKSDB_VERSION is not set";
}

#ifdef WITH_REGISTRY
struct ObjectRegistry {
  static void NewInstance();
};
void ObjectRegistry::NewInstance() {}
struct ObjectLibrary {
  static void* Default();
};
void* ObjectLibrary::Default() { return nullptr; }
extern "C" void open_database() { ObjectLibrary::Default(); }
#endif

}  // namespace rocksdb
"""

# Opens a database with a wrong spec: an error if the plugin is known, else a database without filters.
C_PROGRAM = r"""
#include <rocksdb/c.h>
#include <stdio.h>

int main(void) {
  char* error = NULL;
  rocksdb_options_t* base = rocksdb_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(base, "create_if_missing=true;"
      "block_based_table_factory={filter_policy=rocksieve.blom:10}", options, &error);
  rocksdb_open(options, "db", &error);
  puts(error == NULL ? "opened" : error);
  return 0;
}
"""

# The same by ctypes; `rocksdb` and `rocksieve` are libraries.
PYTHON_PROGRAM = """
import ctypes, os, sys
def text_of(function, *arguments):
    error = ctypes.c_char_p()
    result = function(*arguments, ctypes.byref(error))
    return result, (error.value or b"").decode()
def known(rocksdb):
    rocksdb.rocksdb_options_create.restype = ctypes.c_void_p
    base, options = (ctypes.c_void_p(rocksdb.rocksdb_options_create()) for _ in range(2))
    text_of(rocksdb.rocksdb_get_options_from_string, base, b"create_if_missing=true;"
            b"block_based_table_factory={filter_policy=rocksieve.blom:10}", options)
    rocksdb.rocksdb_open.restype = ctypes.c_void_p
    return "blom" in text_of(rocksdb.rocksdb_open, options, b"db")[1]
def create(rocksieve, spec):
    rocksieve.rocksieve_filterpolicy_create.restype = ctypes.c_void_p
    policy, error = text_of(rocksieve.rocksieve_filterpolicy_create, spec)
    return policy is not None, error
PLUGIN = sys.argv[1]
"""


class Loading(Sandbox):
    """librocksieve.so finds the RocksDB in its process, whichever came first."""

    def python(self, program, *arguments, **settings):
        finished = run_ok(sys.executable, "-c", PYTHON_PROGRAM + program, PLUGIN, *arguments,
                          cwd=self.directory, **settings)
        return finished.out.rstrip("\n"), finished.err

    def test_linked_in_any_order(self):
        source = self.directory / "program.c"
        source.write_text(C_PROGRAM)
        for libraries in (("-lrocksieve", "-lrocksdb"), ("-lrocksdb", "-lrocksieve"),
                          (f"-lrocksieve-{SERIES}", "-lrocksdb"),
                          ("-lrocksdb", f"-lrocksieve-{SERIES}")):
            with self.subTest(libraries=libraries):
                program = compile_program(source, self.directory / "program",
                                          "-Wl,--no-as-needed", *libraries, compiler="gcc")
                for preload in ((), (PLUGIN,)):
                    finished = run_ok(program, cwd=self.directory, preload=preload)
                    self.assertRegex(finished.out, "^Invalid argument: .*blom")
                    self.assertEqual("", finished.err)

    def test_opened_after_rocksdb(self):
        for mode in ("RTLD_LOCAL", "RTLD_GLOBAL"):
            with self.subTest(mode=mode):
                self.assertEqual(("True (True, '') (0, '')", ""), self.python(f"""
rocksdb = ctypes.CDLL("librocksdb.so", ctypes.{mode})
rocksieve = ctypes.CDLL(PLUGIN)
print(known(rocksdb), create(rocksieve, b"rocksieve.ribbon:10"),
      (text_of(rocksieve.rocksieve_load, None)[0] - 1, ""))
"""))

    def test_by_many_threads_at_once(self):
        self.assertEqual(("{(True, '')}", ""), self.python("""
import threading
rocksieve, results = ctypes.CDLL(PLUGIN), []
rocksdb = ctypes.CDLL("librocksdb.so")
start = threading.Barrier(8)
def run():
    start.wait()
    results.extend(create(rocksieve, b"rocksieve.ribbon:10") for _ in range(100))
threads = [threading.Thread(target=run) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(set(results) if len(results) == 800 else results)
"""))

    def test_opened_before_rocksdb(self):
        self.assertEqual(
            ("(0, 'rocksieve: there is no RocksDB in this process') (1, '') True", ""),
            self.python("""
rocksieve = ctypes.CDLL(PLUGIN)
before = text_of(rocksieve.rocksieve_load, None)
rocksdb = ctypes.CDLL("librocksdb.so")
print(before, text_of(rocksieve.rocksieve_load, None), known(rocksdb))
"""))

    def test_preloaded_and_rocksdb_opened_later(self):
        self.assertEqual(("True", ""), self.python("""
print(known(ctypes.CDLL("librocksdb.so")))
""", preload=[PLUGIN]))

    def test_preloaded_and_called_by_code_that_does_not_need_rocksdb(self):
        """The caller tells nothing of the function that it would have found without us."""
        self.assertEqual(("False True", ""), self.python("""
new_bloom = ctypes.CDLL(None)._ZN7rocksdb20NewBloomFilterPolicyEdb
new_bloom.restype, new_bloom.argtypes = ctypes.c_void_p, [ctypes.c_double, ctypes.c_bool]
before = new_bloom(10, False)
rocksdb = ctypes.CDLL("librocksdb.so")
policy = new_bloom(10, False)
rocksdb.rocksdb_filterpolicy_destroy(ctypes.c_void_p(policy))
print(before is not None, policy is not None)
""", preload=[PLUGIN]))

    def test_preloaded_and_a_library_with_a_rocksdb_of_its_own_opened_later(self):
        other = compile_program(STUB, self.directory / "addon.so", "-shared", "-fPIC",
                                "-DWITH_REGISTRY")
        out, err = self.python("""
other = ctypes.CDLL(sys.argv[2])
other.open_database(), other.open_database()
print(hasattr(ctypes.CDLL(None), "open_database"))
""", other, preload=[PLUGIN])
        self.assertEqual("False", out)
        self.assertRegex(err, f"^rocksieve: the RocksDB inside of {other} is visible to nobody.*\n$")

    def test_without_rocksdb(self):
        self.assertEqual(("(False, 'rocksieve: there is no RocksDB in this process')", ""),
                         self.python("""
print(create(ctypes.CDLL(PLUGIN), b"rocksieve.ribbon:10"))
"""))

    def test_hostile_callers(self):
        self.assertEqual(("0 True 0 True True True", ""), self.python("""
rocksdb, rocksieve = ctypes.CDLL("librocksdb.so"), ctypes.CDLL(PLUGIN)
create = rocksieve.rocksieve_filterpolicy_create
create.restype = ctypes.c_void_p
libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
error = ctypes.c_char_p(libc.strdup(b"an error from before, which is freed"))
no_spec = create(None, ctypes.byref(error))
said = error.value.startswith(b"")
no_error = create(b"rocksieve.ribbon:0", None)
long = create(b"rocksieve.ribbon:" + b"9" * 1000000, ctypes.byref(error))
policy = create(b"rocksieve.auto:10", ctypes.byref(error))
rocksdb.rocksdb_filterpolicy_destroy(ctypes.c_void_p(policy))
print(no_spec or 0, said, no_error or 0, long is None, len(error.value) > 0, policy is not None)
"""))

    def test_two_that_only_their_users_see(self):
        other = compile_program(STUB, self.directory / "other.so", "-shared", "-fPIC",
                                "-DWITH_REGISTRY")
        out, err = self.python("""
rocksdb, other = ctypes.CDLL("librocksdb.so"), ctypes.CDLL(sys.argv[2])
rocksieve = ctypes.CDLL(PLUGIN)
print(create(rocksieve, b"rocksieve.ribbon:10")[0], known(rocksdb))
print(text_of(rocksieve.rocksieve_load, b"/nowhere")[0])
print(text_of(rocksieve.rocksieve_load, b"librocksdb.so"), known(rocksdb))
print(text_of(rocksieve.rocksieve_load, sys.argv[2].encode())[0])
""", other)
        self.assertEqual("False False\n0\n(1, '') True\n0", out)
        self.assertRegex(err, "^rocksieve: there are 2 RocksDBs in this process: .*librocksdb.*"
                              f"{other}.*\n$")

    def test_another_than_the_one_that_all_libraries_see(self):
        other = compile_program(STUB, self.directory / "other.so", "-shared", "-fPIC",
                                "-DWITH_REGISTRY")
        self.assertRegex(self.python("""
rocksieve = ctypes.CDLL(PLUGIN)
ctypes.CDLL("librocksdb.so", ctypes.RTLD_GLOBAL), ctypes.CDLL(sys.argv[2])
print(text_of(rocksieve.rocksieve_load, sys.argv[2].encode()))
""", other)[0], f"^\\(0, 'rocksieve: .*librocksdb.* can serve no other; {other} is not it")

    def test_found_by_a_link_in_another_directory(self):
        (self.directory / "l.so").symlink_to(PLUGIN)
        self.assertEqual("", run_ok("ldb", "--version", preload=[self.directory / "l.so"]).err)

    def test_a_loader_without_builds(self):
        alone = self.directory / "librocksieve.so"
        shutil.copy(PLUGIN, alone)
        for name in ("librocksieve-.so", "librocksieve-x.so", "librocksieve-7..so.2",
                     f"librocksieve-{SERIES}.so", f"librocksieve-{SERIES}.so.2"):
            (self.directory / name).touch()
        finished = run_ok("ldb", "--version", preload=[alone])
        self.assertRegex(finished.err, rf"^rocksieve: the RocksDB in this process is {SERIES}\..*"
                                       rf"{self.directory} are for no release.*\n$")
        (self.directory / f"librocksieve-{SERIES}.so.1").write_text("not a library")
        finished = run_ok("ldb", "--version", preload=[alone])
        self.assertRegex(finished.err, "^rocksieve: .*cannot be loaded.*too short.*\n$")


# Prints what rocksieve::NewFilterPolicy(SPEC) returns, and the name of the policy if there is one.
NEW_FILTER_POLICY = r"""
#include <cstdio>
#include <memory>

#include <rocksieve/filter_policy.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status = rocksieve::NewFilterPolicy(argv[1], &policy);
  std::printf("%s\n", status.ToString().c_str());
  std::printf("policy: %s\n", policy ? policy->Name() : "none");
}
"""


class OtherReleasesOfRocksDb(Sandbox):
    """A stub makes librocksdb pass for another release."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stub = compile_program(STUB, cls.class_directory / "stub.so", "-shared", "-fPIC")
        cls.program = compile_program(NEW_FILTER_POLICY, cls.class_directory / "new_filter_policy",
                                      f"-lrocksieve-{SERIES}", "-lrocksdb")

    def with_version(self, version, *command, **settings):
        return run(*command, preload=[self.stub, PLUGIN],
                   variables={"STUB_ROCKSDB_VERSION": version}, **settings)

    def test_the_program_works_with_the_right_release(self):
        self.assertEqual("OK\npolicy: rocksieve.bloom:10\n",
                         run_ok(self.program, "rocksieve.bloom:10").out)
        wrong = run_ok(self.program, "rocksieve.blom:10").out
        self.assertRegex(wrong, r'^Invalid argument: .*"blom".*for example .*\npolicy: none\n$')

    def test_another_patch_release_is_accepted(self):
        finished = self.with_version(f"{SERIES}.17", self.program, "rocksieve.bloom:10")
        self.assertEqual(("OK\npolicy: rocksieve.bloom:10\n", ""), (finished.out, finished.err))

    def test_another_release_is_refused(self):
        for version in ("8.9.1", "7.9.2", f"{SERIES}0.0", f"1{SERIES}.3"):
            with self.subTest(version=version):
                finished = self.with_version(version, self.program, "rocksieve.bloom:10")
                refusal = rf"rocksieve: .*built for RocksDB {re.escape(SERIES)}\b"
                self.assertRegex(finished.err, f"^{refusal}")
                self.assertIn(f"RocksDB in this process is {version}", finished.err)
                self.assertEqual(1, finished.err.count("\n"), "one line, once")
                self.assertRegex(finished.out, f"^Not implemented: {refusal}")
                self.assertIn(version, finished.out)
                self.assertIn("policy: none\n", finished.out)

    def test_releases_that_are_not_what_they_say_are_refused_by_name(self):
        for version in ("7.0.1", "7.0.2", "10.1.0"):
            finished = self.with_version(version, self.program, "rocksieve.bloom:10")
            self.assertRegex(finished.err, rf"^rocksieve: .*RocksDB {version} .*next patch release")
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
                self.assertRegex(finished.err, rf"two RocksDBs .*8\.9\.1 .*{SERIES}\.")
                # RocksDB does not know the policy, says nothing, and works without filters.
                report = Report(finished)
                self.assertEqual([("readmissing", 0, 10000)], report.found)
                self.assertEqual(0, report.useful + report.positive)
                self.assertEqual({"N/A"}, {table["filter policy name"]
                                        for table in database.table_properties()})

    def loader_says(self, version, stub=None):
        """What it says in a process where nothing else is of RocksDB; never more than a line."""
        finished = run_ok("/bin/true", preload=[stub or self.stub, PLUGIN],
                          variables={"STUB_ROCKSDB_VERSION": version})
        self.assertRegex(finished.err, r"\Arocksieve: the RocksDB in this process .*\n\Z")
        return finished.err

    def test_a_release_without_a_build(self):
        for version, series in (("8.9.1", "8.9"), ("11.80.1", "11.80"), ("6.20.3", "6.20"),
                                (f"{SERIES}0.1", f"{SERIES}0"), ("12.0", "12.0")):
            with self.subTest(version=version):
                said = self.loader_says(version)
                self.assertIn(f"is {version} (", said)
                self.assertIn(f"builds of rocksieve in {PLUGIN.parent} are for {SERIES}. ", said)
                self.assertTrue(said.endswith(f"build rocksieve against RocksDB {series}.\n"), said)

    def test_of_several_builds_the_one_that_fits_is_loaded(self):
        shutil.copy(PLUGIN, self.directory)
        releases = ("8.9", "8.90", "18.9", "10.1", "7.0")
        for series in releases:
            compile_program(f"""#include <cstdio>
                extern "C" const char rocksieve_built_for[] = "rocksieve_built_for:{series}";
                const int loaded = std::printf("{series}\\n");
                """, self.directory / f"librocksieve-{series}.so.1", "-shared", "-fPIC")
        for version, series in (*((f"{series}.5", series) for series in releases), ("8.9", "8.9"),
                                ("8.91.0", None), ("7.0.2", None), ("10.1.0", None)):
            with self.subTest(version=version):
                finished = run_ok("/bin/true", preload=[self.stub, self.directory / PLUGIN.name],
                                  variables={"STUB_ROCKSDB_VERSION": version})
                self.assertEqual(f"{series}\n" if series else "", finished.out)
                self.assertEqual(0 if series else 1, finished.err.count("\n"), finished.err)
                if version == "8.91.0":
                    named = re.search(r"are for (.*)\. The", finished.err)[1].split(", ")
                    self.assertEqual(sorted(releases), sorted(named))

    def test_releases_that_are_refused_by_name(self):
        for version in ("7.0.1", "7.0.2", "10.1.0"):
            self.assertRegex(self.loader_says(version), f"is {version} .* No rocksieve fits it")

    def test_what_is_no_release(self):
        for version in ("", "x", "7", "7.", "../7.8", "7.8/../7.8", "-7.8", "7.-8", "%s.%n",
                        "9" * 500):
            with self.subTest(version=version):
                self.assertIn("and there is no such", self.loader_says(version))

    def test_a_rocksdb_that_lacks_what_the_build_needs(self):
        self.assertRegex(self.loader_says(f"{SERIES}.9"), "cannot be loaded.*undefined symbol")

    def test_a_rocksdb_of_other_strings_or_before_releases_were_told(self):
        old = compile_program(STUB, self.class_directory / "old.so", "-shared", "-fPIC",
                              "-D_GLIBCXX_USE_CXX11_ABI=0")
        self.assertIn("_GLIBCXX_USE_CXX11_ABI=0", self.loader_says(f"{SERIES}.3", old))
        older = compile_program('extern "C" void rocksdb_open() {}\n',
                                self.class_directory / "older.so", "-shared", "-fPIC")
        self.assertIn("before 6.15", self.loader_says("", older))


if __name__ == "__main__":
    unittest.main(verbosity=2)
