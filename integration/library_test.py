# SPDX-License-Identifier: Apache-2.0
"""The shared libraries: what they need and export, and how they treat programs that have nothing to
do with them."""

import platform
import re
import sys
import unittest

from environment import PLUGIN, RELEASE_PLUGIN, Sandbox, run, run_ok


class Linking(unittest.TestCase):
    def needed(self, library, name):
        dynamic = run_ok("readelf", "-dW", library).out
        self.assertRegex(dynamic, rf"\(SONAME\).*\[{re.escape(name)}\]")
        self.assertNotRegex(dynamic, r"\((RPATH|TEXTREL)\)")
        # The dynamic linker, which is in every process, gives threads their own variables.
        return {needed for needed in re.findall(r"\(NEEDED\).*\[(.+)\.so\b.*\]", dynamic)
                if not needed.startswith("ld-linux")}

    def test_the_loader_needs_libc_alone(self):
        self.assertEqual({"libc"}, self.needed(PLUGIN, "librocksieve.so.1"))
        exported = run_ok("nm", "-D", "--defined-only", PLUGIN).out
        instead = {"_ZN7rocksdb13ObjectLibrary7DefaultEv", "_ZN7rocksdb20NewBloomFilterPolicyEdb",
                   "_ZN7rocksdb21NewRibbonFilterPolicyEdi"}
        self.assertEqual({"rocksieve_filterpolicy_create", "rocksieve_load", "rocksieve_load_instead_of",
                          "napi_register_module_v1"} | instead,
                         set(re.findall(r" T (\S+)$", exported, re.MULTILINE)))

    def test_a_build_needs_the_cpp_runtime_and_the_rocksdb_that_is_there(self):
        needed = self.needed(RELEASE_PLUGIN, RELEASE_PLUGIN.name + ".1")
        self.assertLessEqual(needed, {"libstdc++", "libgcc_s", "libm", "libc"})
        # Nothing is missing that RocksDB does not have.
        missing = run("ldd", "-r", RELEASE_PLUGIN).out
        self.assertRegex(missing, "undefined symbol: .*rocksdb")
        complete = run_ok("ldd", "-r", RELEASE_PLUGIN, preload=["librocksdb.so"])
        self.assertNotIn("undefined", complete.out + complete.err)

    def test_needs_no_type_information_of_rocksdb(self):
        """Releases of RocksDB are built without."""
        undefined = run_ok("nm", "-DC", "--undefined-only", RELEASE_PLUGIN).out
        self.assertIn("rocksdb::", undefined)
        self.assertNotIn("typeinfo for rocksdb", undefined)

    def test_exports_only_its_api(self):
        exported = run_ok("nm", "-DC", "--defined-only", RELEASE_PLUGIN).out.splitlines()
        names = {}
        for line in exported:
            _, kind, name = line.split(maxsplit=2)
            names[re.split(r"[(\[]", name)[0]] = kind
        api = ("rocksieve::NewFilterPolicy", "rocksieve::GetFilterStats", "rocksieve::NewListener",
               "rocksieve::NewJournal",
               "rocksieve::GetFilterQueries", "rocksieve::PrometheusText",
               "rocksieve::CollectMetrics", "rocksieve::ConfigureRangeFilters",
               "rocksieve::GetRangeQueries")
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
