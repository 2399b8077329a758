"""The shared library: what it needs and exports, how it treats programs that have nothing to do with
it or have another RocksDB, and that installing it on an existing database and removing it loses no
key and no filter."""

import pathlib
import platform
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import PARTITIONED, READS, Database, Report, options_text
from environment import PLUGIN, RELEASE_PLUGIN, SEED, SERIES, Sandbox, compile_program, run, run_ok


class Linking(unittest.TestCase):
    def needed(self, library, name):
        dynamic = run_ok("readelf", "-dW", library).out
        self.assertRegex(dynamic, rf"\(SONAME\).*\[{re.escape(name)}\]")
        self.assertNotRegex(dynamic, r"\((RPATH|TEXTREL)\)")
        # The dynamic linker, which is in every process, gives threads their own variables.
        return {needed for needed in re.findall(r"\(NEEDED\).*\[(.+)\.so\b.*\]", dynamic)
                if not needed.startswith("ld-linux")}

    def test_the_loader_needs_libc_alone(self):
        self.assertEqual({"libc"}, self.needed(PLUGIN, "librocksieve.so.0"))
        exported = run_ok("nm", "-D", "--defined-only", PLUGIN).out
        self.assertEqual({"rocksieve_filterpolicy_create", "rocksieve_load"},
                         set(re.findall(r" T (\S+)$", exported, re.MULTILINE)))

    def test_a_build_needs_the_cpp_runtime_and_the_rocksdb_that_is_there(self):
        needed = self.needed(RELEASE_PLUGIN, RELEASE_PLUGIN.name)
        self.assertLessEqual(needed, {"libstdc++", "libgcc_s", "libm", "libc"})
        # Nothing is missing that RocksDB does not have.
        missing = run("ldd", "-r", RELEASE_PLUGIN).out
        self.assertRegex(missing, "undefined symbol: .*rocksdb")
        complete = run_ok("ldd", "-r", RELEASE_PLUGIN, preload=["librocksdb.so"])
        self.assertNotIn("undefined", complete.out + complete.err)

    def test_exports_only_its_api(self):
        exported = run_ok("nm", "-DC", "--defined-only", RELEASE_PLUGIN).out.splitlines()
        names = {}
        for line in exported:
            _, kind, name = line.split(maxsplit=2)
            # Type information that every library has which uses these classes of libstdc++.
            of_libstdcpp = re.match(r"(typeinfo (name )?for )?std::", name) and kind in "VWu"
            if not of_libstdcpp:
                names[name.split("(")[0]] = kind
        api = ("rocksieve::NewFilterPolicy", "rocksieve::GetFilterStats", "rocksieve::NewListener",
               "rocksieve::GetFilterQueries", "rocksieve::PrometheusText")
        functions = {name: "T" for name in (*api, "rocksieve_filterpolicy_create")}
        self.assertEqual({**functions, "rocksieve_built_for": "R"}, names)

    @unittest.skipUnless(platform.machine() == "x86_64", "knows the instructions of x86-64")
    def test_only_kernels_use_instructions_that_some_processors_lack(self):
        """A kernel is chosen at run time. What is compiled along with one, such as a template of
        the standard library, may end up as the only copy in the library, for everybody."""
        beyond_baseline = re.compile(
            r"^ .*\t(v[a-z]\w+|popcnt|lzcnt|mulx|pdep|pext|andn|bextr|bls\w+|rorx|sarx|sh[lr]x"
            r"|pshufb|ptest|pmul(ld|dq|hrsw)|pblendvb|palignr|pinsr[dq]|pextr[dq]|crc32)\b")
        functions, function = set(), None
        for line in run_ok("objdump", "-dC", "--no-show-raw-insn", RELEASE_PLUGIN).out.splitlines():
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
rocksdb = ctypes.CDLL("librocksdb.so")
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

    def test_opened_before_rocksdb(self):
        self.assertEqual(
            ("(0, 'rocksieve: there is no RocksDB in this process') (1, '') True", ""),
            self.python("""
rocksieve = ctypes.CDLL(PLUGIN)
before = text_of(rocksieve.rocksieve_load, None)
rocksdb = ctypes.CDLL("librocksdb.so")
print(before, text_of(rocksieve.rocksieve_load, None), known(rocksdb))
"""))

    def test_without_rocksdb(self):
        self.assertEqual(("(False, 'rocksieve: there is no RocksDB in this process')", ""),
                         self.python("""
print(create(ctypes.CDLL(PLUGIN), b"rocksieve.ribbon:10"))
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
""", other)
        self.assertEqual("False False\n0\n(1, '') True", out)
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
        for name in ("librocksieve-.so", "librocksieve-x.so", "librocksieve-7..so.1"):
            (self.directory / name).touch()
        finished = run_ok("ldb", "--version", preload=[alone])
        self.assertRegex(finished.err, rf"^rocksieve: the RocksDB in this process is {SERIES}\..*"
                                       rf"{self.directory} are for no release.*\n$")
        (self.directory / f"librocksieve-{SERIES}.so").write_text("not a library")
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


BUILT_IN = "bloomfilter:10:false"
LAYOUTS = {"full": None, "partitioned": PARTITIONED}
READING = "readmissing,readrandom,multireadrandom"


class Transitions(Sandbox):
    def setUp(self):
        super().setUp()
        self.database = Database(self.directory)

    def policies_of_tables(self):
        return {table["filter policy name"] for table in self.database.table_properties()}

    def test_filters_of_an_old_database_work_as_before(self):
        for layout, table in LAYOUTS.items():
            for built_in in (BUILT_IN, "ribbonfilter:10:-1"):
                with self.subTest(layout=layout, built_in=built_in):
                    before = options_text(built_in, table=table)
                    self.database.create(before, stock=True)
                    stock = self.database.bench(READING, before, stock=True)
                    # The names of the built-in policies, as properties have them.
                    names = {"bloomfilter", "ribbonfilter"}
                    self.assertLessEqual(self.policies_of_tables(), names)
                    for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5"):
                        after = options_text(spec, table=table)
                        preloaded = self.database.bench(READING, after)
                        # The same blocks, the same keys: the same answers, false ones included.
                        self.assertEqual(stock.found, preloaded.found)
                        self.assertEqual(stock.useful, preloaded.useful)
                        self.assertEqual(stock.positive, preloaded.positive)
                        self.assertGreater(preloaded.useful, READS)
                    self.assertLessEqual(self.policies_of_tables(), names)

    def test_compaction_replaces_old_filters(self):
        self.database.create(options_text(BUILT_IN), stock=True)
        old = self.database.bench(READING, options_text(BUILT_IN), stock=True)
        for spec in ("rocksieve.cuckoo:12.5", "rocksieve.bloom:16"):
            with self.subTest(spec=spec):
                self.database.bench("compact", options_text(spec))
                self.assertEqual({spec}, self.policies_of_tables())
                new = self.database.bench(READING, options_text(spec))
                self.assertEqual(old.found, new.found)
                false_positives = [report.positive - report.true_positive for report in (old, new)]
                self.assertLess(false_positives[1], false_positives[0] / 2)

    def test_a_database_with_filters_of_all_kinds(self):
        """Files of the old and the new policies beside each other, and keys in several of them."""
        no_compaction = {"disable_auto_compactions": "true",
                         "level0_slowdown_writes_trigger": "1000",
                         "level0_stop_writes_trigger": "1000"}
        policies = [(BUILT_IN, True), ("rocksieve.bloom:10", False), ("ribbonfilter:10:-1", True),
                    ("rocksieve.cuckoo:12.5", False)]

        def fill(policy_of):
            for step, (policy, stock) in enumerate(policies):
                self.database.bench("overwrite,flush" if step > 0 else "fillrandom,flush",
                                    options_text(policy_of(policy), no_compaction),
                                    "--writes=20000", f"--seed={SEED + step}", stock=stock,
                                    existing=step > 0)

        def read(policy):
            return self.database.bench(READING, options_text(policy, no_compaction))

        fill(lambda policy: "nullptr")
        unfiltered = read("nullptr")
        self.assertEqual({"N/A"}, self.policies_of_tables())
        fill(lambda policy: policy)
        mixed = read("rocksieve.bloom:10")
        self.assertEqual({"bloomfilter", "ribbonfilter", "rocksieve.bloom:10",
                          "rocksieve.cuckoo:12.5"}, self.policies_of_tables())
        self.assertEqual(unfiltered.found, mixed.found)
        # Every filter works: of all checks of keys that a file does not have, about 1 % pass.
        false_positives = mixed.positive - mixed.true_positive
        self.assertLess(false_positives, 0.015 * mixed.useful)

    def test_without_the_plugin_no_key_is_lost(self):
        for layout, table in LAYOUTS.items():
            for spec in ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5"):
                with self.subTest(layout=layout, spec=spec):
                    self.database.create(options_text(spec, table=table))
                    self.assertEqual({spec}, self.policies_of_tables())
                    preloaded = self.database.bench(READING, options_text(spec, table=table))

                    # RocksDB's own reader is given our blocks, and answers "may match" to all.
                    removed = self.database.bench(READING, options_text(BUILT_IN, table=table),
                                                  stock=True)
                    self.assertEqual(preloaded.found, removed.found)
                    self.assertEqual(0, removed.useful)
                    self.assertGreater(removed.positive, 0.999 * 3 * READS)

                    # The old spec, which nobody knows any more: no filters at all.
                    unknown = self.database.bench(READING, options_text(spec, table=table),
                                                  stock=True)
                    self.assertEqual(preloaded.found, unknown.found)
                    self.assertEqual(0, unknown.useful + unknown.positive)

    def test_without_the_plugin_compaction_brings_back_built_in_filters(self):
        self.database.create(options_text("rocksieve.cuckoo:12.5"))
        preloaded = self.database.bench(READING, options_text("rocksieve.cuckoo:12.5"))
        self.database.bench("compact", options_text(BUILT_IN), stock=True)
        self.assertEqual({"bloomfilter"}, self.policies_of_tables())
        removed = self.database.bench(READING, options_text(BUILT_IN), stock=True)
        self.assertEqual(preloaded.found, removed.found)
        self.assertGreater(removed.useful, READS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
