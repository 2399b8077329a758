# SPDX-License-Identifier: Apache-2.0
"""Filters by the C interface: examples/python, and callers that pass nonsense."""

import ctypes
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, Sandbox, compile_program, run, run_ok

EXAMPLE = ROOT / "examples" / "python" / "filters.py"
LIBRARY = BUILD / "lib" / "librocksieve_filters.so"
sys.path.insert(0, str(EXAMPLE.parent))

from filters import Filters

SPECS = ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5:salted", "rocksieve.ribbon:1%:verified")


class Library(Sandbox):
    def test_needs_only_the_cpp_runtime_and_exports_only_its_api(self):
        dynamic = run_ok("readelf", "-dW", LIBRARY).out
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\.so\b.*\]", dynamic))
        self.assertLessEqual(needed, {"libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64"})
        header = (ROOT / "include" / "rocksieve" / "c.h").read_text()
        declared = set(re.findall(r"\b(rocksieve_(?:builder|filter)_\w+)\(", header))
        exported = run_ok("nm", "-D", "--defined-only", LIBRARY).out
        self.assertEqual(declared, set(re.findall(r" T (rocksieve_\S+)$", exported, re.MULTILINE)))
        self.assertNotIn("rocksieve::", run_ok("nm", "-DC", "--defined-only", LIBRARY).out)

    def test_the_header_is_c_and_cpp(self):
        source = self.directory / "header.c"
        source.write_text("#include <rocksieve/c.h>\nint main(void) { return 0; }\n")
        for compiler, flags in (("gcc", ["-std=c99"]), ("gcc", []), ("g++", ["-xc++"])):
            compile_program(source, self.directory / "header", "-pedantic", "-Werror", *flags,
                            compiler=compiler)


class Python(Sandbox):
    def setUp(self):
        super().setUp()
        self.filters = Filters(LIBRARY)

    def test_the_example(self):
        keys = self.directory / "keys"
        keys.write_text("".join(f"key{i}\n" for i in range(1000)))
        asked = "".join(f"key{i}\n" for i in range(0, 2000))
        for spec in SPECS:
            finished = run_ok(sys.executable, EXAMPLE, LIBRARY, spec, keys, stdin=asked)
            absent = finished.out.split()
            self.assertEqual([], [key for key in absent if int(key[3:]) < 1000])
            self.assertGreater(len(absent), 960)
            self.assertRegex(finished.err, r"^\d+ bytes\n$")
        wrong = run(sys.executable, EXAMPLE, LIBRARY, "rocksieve.blom:10", keys)
        self.assertIn("blom", wrong.err)
        self.assertNotEqual(0, wrong.code)

    def test_no_key_is_lost(self):
        keys = [b"", b"\0", b"\0\0", b"x" * 100_000] + [b"%d" % i for i in range(10_000)]
        for spec in SPECS:
            for count in (0, 1, 3, len(keys)):
                block = self.filters.build(spec, keys[:count])
                opened = self.filters.open(block)
                self.assertEqual([], [key for key in keys[:count] if key not in opened])
                if count == 0:
                    self.assertNotIn(b"anything", opened)

    def test_damaged_bytes_are_no_filter(self):
        block = self.filters.build("rocksieve.ribbon:10", [b"%d" % i for i in range(50)])
        for length in range(len(block)):
            with self.assertRaises(ValueError):
                self.filters.open(block[:length])
        for place in range(len(block)):
            damaged = bytearray(block)
            damaged[place] ^= 1 << place % 8
            with self.assertRaisesRegex(ValueError, "damaged|not a filter|later version"):
                self.filters.open(bytes(damaged))

    def test_nonsense(self):
        c = self.filters.c
        c.rocksieve_builder_add(None, b"key", 3)
        c.rocksieve_builder_destroy(None)
        c.rocksieve_filter_destroy(None)
        self.assertEqual(1, c.rocksieve_filter_may_contain(None, b"key", 3))
        self.assertIsNone(c.rocksieve_builder_create(None, None))
        self.assertIsNone(c.rocksieve_filter_open(None, 10**9, None))
        size = ctypes.c_size_t()
        self.assertIsNone(c.rocksieve_builder_finish(None, ctypes.byref(size), None))
        builder = c.rocksieve_builder_create(b"rocksieve.bloom:10", None)
        self.assertIsNone(c.rocksieve_builder_finish(builder, None, None))
        # A key that could not be taken must not become one that "is not there".
        c.rocksieve_builder_add(builder, None, 5)
        self.assertIsNone(c.rocksieve_builder_finish(builder, ctypes.byref(size), None))
        self.filters.free(c.rocksieve_builder_finish(builder, ctypes.byref(size), None))
        self.assertGreater(size.value, 0)
        c.rocksieve_builder_destroy(builder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
