# SPDX-License-Identifier: Apache-2.0
"""librocksieve.so in all kinds of processes: it loads the build for the RocksDB that it finds there,
and leaves all others alone."""

import re
import shutil
import sys
import unittest

from environment import PLUGIN, RELEASE_PLUGIN, SERIES, Sandbox, compile_program, run, run_ok
from programs import Database, Report, options_text

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

    def python(self, program, *arguments, preload=()):
        finished = run_ok(sys.executable, "-c", PYTHON_PROGRAM + program, PLUGIN, *arguments,
                          cwd=self.directory, preload=preload)
        return finished.out.rstrip("\n"), finished.err

    def library(self):
        """With a RocksDB of its own inside."""
        return compile_program(STUB, self.directory / "other.so", "-shared", "-fPIC", "-DWITH_REGISTRY")

    def test_linked_in_any_order(self):
        for ours in ("-lrocksieve", f"-lrocksieve-{SERIES}"):
            for libraries in ((ours, "-lrocksdb"), ("-lrocksdb", ours)):
                program = compile_program(C_PROGRAM, self.directory / "program",
                                          "-Wl,--no-as-needed", *libraries, compiler="gcc")
                for preload in ((), (PLUGIN,)):
                    with self.subTest(libraries=libraries, preload=preload):
                        finished = run_ok(program, cwd=self.directory, preload=preload)
                        self.assertRegex(finished.out, "^Invalid argument: .*blom")
                        self.assertEqual("", finished.err)

    def test_from_a_program_that_opens_libraries(self):
        none = "'rocksieve: there is no RocksDB in this process'"
        after = """
rocksdb = ctypes.CDLL("librocksdb.so", ctypes.{})
rocksieve = ctypes.CDLL(PLUGIN)
print(known(rocksdb), create(rocksieve, b"rocksieve.ribbon:10"),
      (text_of(rocksieve.rocksieve_load, None)[0] - 1, ""))
"""
        for preload, said, program in (
                ((), "True (True, '') (0, '')", after.format("RTLD_LOCAL")),
                ((), "True (True, '') (0, '')", after.format("RTLD_GLOBAL")),
                ((), f"(0, {none}) (1, '') True", """
rocksieve = ctypes.CDLL(PLUGIN)
before = text_of(rocksieve.rocksieve_load, None)
rocksdb = ctypes.CDLL("librocksdb.so")
print(before, text_of(rocksieve.rocksieve_load, None), known(rocksdb))
"""),
                ([PLUGIN], "True", "print(known(ctypes.CDLL('librocksdb.so')))"),
                # The caller tells nothing of the function that it would have found without us.
                ([PLUGIN], "False True", """
new_bloom = ctypes.CDLL(None)._ZN7rocksdb20NewBloomFilterPolicyEdb
new_bloom.restype, new_bloom.argtypes = ctypes.c_void_p, [ctypes.c_double, ctypes.c_bool]
before = new_bloom(10, False)
rocksdb = ctypes.CDLL("librocksdb.so")
policy = new_bloom(10, False)
rocksdb.rocksdb_filterpolicy_destroy(ctypes.c_void_p(policy))
print(before is not None, policy is not None)
"""),
                ((), f"(False, {none})", "print(create(ctypes.CDLL(PLUGIN), b'rocksieve.ribbon:10'))"),
                # Many threads at once.
                ((), "{(True, '')} 800", """
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
print(set(results), len(results))
"""),
                # Hostile callers.
                ((), "0 True 0 True True True", """
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
""")):
            with self.subTest(program=program, preload=preload):
                self.assertEqual((said, ""), self.python(program, preload=preload))

    def test_a_library_with_a_rocksdb_of_its_own_opened_later(self):
        other = self.library()
        out, err = self.python("""
other = ctypes.CDLL(sys.argv[2])
other.open_database(), other.open_database()
print(hasattr(ctypes.CDLL(None), "open_database"))
""", other, preload=[PLUGIN])
        self.assertEqual("False", out)
        self.assertRegex(err, f"^rocksieve: the RocksDB inside of {other} is visible to nobody.*\n$")

    def test_two_that_only_their_users_see(self):
        other = self.library()
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

    def test_the_one_that_was_asked_for_before_it_came(self):
        rocksdb, _ = self.python("ctypes.CDLL('librocksdb.so'); print(next("
                                 "line.split()[-1] for line in open('/proc/self/maps') if 'librocksdb' in line))")
        without = compile_program("", self.directory / "without.so", "-shared", "-fPIC",
                                  "-Wl,--no-as-needed", "-lrocksdb")
        for asked, *libraries in ((rocksdb, self.library(), rocksdb), (without, without), ("/none", rocksdb)):
            with self.subTest(asked=asked):
                self.assertEqual(("0 True (True, '')", ""), self.python("""
rocksieve = ctypes.CDLL(PLUGIN, ctypes.RTLD_GLOBAL)
asked = text_of(rocksieve.rocksieve_load, sys.argv[2].encode())[0]
for library in sys.argv[3:]:
    getattr(ctypes.CDLL(library), "open_database", lambda: None)()
print(asked, known(ctypes.CDLL("librocksdb.so")), create(rocksieve, b"rocksieve.ribbon:10"))
""", asked, *libraries))

    def test_another_than_the_one_that_all_libraries_see(self):
        other = self.library()
        self.assertRegex(self.python("""
rocksieve = ctypes.CDLL(PLUGIN)
ctypes.CDLL("librocksdb.so", ctypes.RTLD_GLOBAL), ctypes.CDLL(sys.argv[2])
print(text_of(rocksieve.rocksieve_load, sys.argv[2].encode()))
""", other)[0], f"^\\(0, 'rocksieve: .*librocksdb.* can serve no other; {other} is not it")

    def test_builds_are_looked_for_beside_the_library_itself(self):
        (self.directory / "l.so").symlink_to(PLUGIN)
        self.assertEqual("", run_ok("ldb", "--version", preload=[self.directory / "l.so"]).err)
        alone = shutil.copy(PLUGIN, self.directory)
        for name in ("librocksieve-.so", "librocksieve-x.so", "librocksieve-7..so.2",
                     f"librocksieve-{SERIES}.so", f"librocksieve-{SERIES}.so.2"):
            (self.directory / name).touch()
        self.assertRegex(run_ok("ldb", "--version", preload=[alone]).err,
                         rf"^rocksieve: the RocksDB in this process is {SERIES}\..*"
                         rf"{self.directory} are for no release.*\n$")
        (self.directory / f"librocksieve-{SERIES}.so.1").write_text("not a library")
        self.assertRegex(run_ok("ldb", "--version", preload=[alone]).err,
                         "^rocksieve: .*cannot be loaded.*too short.*\n$")


class OtherReleasesOfRocksDb(Sandbox):
    """A stub makes librocksdb pass for another release."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stub = compile_program(STUB, cls.class_directory / "stub.so", "-shared", "-fPIC")

    def new_policy(self, version):
        """Whether there is one, and why not; of the build for a release, loaded by itself."""
        return run(sys.executable, "-c", PYTHON_PROGRAM + """
ctypes.CDLL("librocksdb.so", ctypes.RTLD_GLOBAL)
print(*create(ctypes.CDLL(PLUGIN), b"rocksieve.bloom:10"))
""", RELEASE_PLUGIN, preload=[self.stub], variables={"STUB_ROCKSDB_VERSION": version})

    def loader_says(self, version, stub=None):
        """What it says in a process where nothing else is of RocksDB; never more than a line."""
        finished = run_ok("/bin/true", preload=[stub or self.stub, PLUGIN],
                          variables={"STUB_ROCKSDB_VERSION": version})
        self.assertRegex(finished.err, r"\Arocksieve: the RocksDB in this process .*\n\Z")
        return finished.err

    def test_any_patch_of_its_release_and_no_other(self):
        finished = self.new_policy(f"{SERIES}.17")
        self.assertEqual(("True \n", ""), (finished.out, finished.err))
        for version in ("8.9.1", "7.9.2", f"{SERIES}0.0", f"1{SERIES}.3"):
            with self.subTest(version=version):
                finished = self.new_policy(version)
                refusal = rf"rocksieve: .*built for RocksDB {re.escape(SERIES)}\b"
                self.assertRegex(finished.err, rf"^{refusal}")
                self.assertIn(f"RocksDB in this process is {version}", finished.err)
                self.assertEqual(1, finished.err.count("\n"), "one line, once")
                self.assertRegex(finished.out, rf"^False .*{refusal}.*{version}")

    def test_releases_that_are_not_what_they_say_are_refused_by_name(self):
        for version in ("7.0.1", "7.0.2", "10.1.0"):
            finished = self.new_policy(version)
            self.assertRegex(finished.err, rf"^rocksieve: .*RocksDB {version} .*next patch release")
            self.assertIn("False", finished.out)
            self.assertRegex(self.loader_says(version), f"is {version} .* No rocksieve fits it")

    def test_nothing_is_registered_with_another_release(self):
        database = Database(self.directory, keys=10_000)
        # A policy that is registered would stop db_bench at the second of these specs.
        for spec in ("rocksieve.bloom:10", "rocksieve.blom:10"):
            with self.subTest(spec=spec):
                finished = database.try_bench(
                    "fillrandom,compact,readmissing", options_text(spec), existing=False,
                    preload=[self.stub, PLUGIN], variables={"STUB_ROCKSDB_VERSION": "8.9.1"})
                self.assertEqual(0, finished.code, finished)
                self.assertRegex(finished.err, rf"two RocksDBs .*8\.9\.1 .*{SERIES}\.")
                # RocksDB does not know the policy, says nothing, and works without filters.
                report = Report(finished)
                self.assertEqual([0], [found for _, found, _ in report.found])
                self.assertEqual(0, report.useful + report.positive)
                self.assertEqual({"N/A"}, {table["filter policy name"]
                                           for table in database.table_properties()})

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

    def test_what_is_no_release(self):
        for version in ("", "x", "7", "7.", "../7.8", "7.8/../7.8", "-7.8", "7.-8", "%s.%n",
                        "9" * 500):
            with self.subTest(version=version):
                self.assertIn("and there is no such", self.loader_says(version))

    def test_a_rocksdb_that_cannot_be_served(self):
        self.assertRegex(self.loader_says(f"{SERIES}.9"), "cannot be loaded.*undefined symbol")
        old = compile_program(STUB, self.class_directory / "old.so", "-shared", "-fPIC",
                              "-D_GLIBCXX_USE_CXX11_ABI=0")
        self.assertIn("_GLIBCXX_USE_CXX11_ABI=0", self.loader_says(f"{SERIES}.3", old))
        older = compile_program('extern "C" void rocksdb_open() {}\n',
                                self.class_directory / "older.so", "-shared", "-fPIC")
        self.assertIn("before 6.15", self.loader_says("", older))


if __name__ == "__main__":
    unittest.main(verbosity=2)
