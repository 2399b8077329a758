# SPDX-License-Identifier: Apache-2.0
"""librocksieve_filters.so: what it needs and exports, from C, and from Python by the package rocksieve.
Rates and errors of the toolbox are tests/toolbox's concern."""

import inspect
import os
import pickle
import re
import resource
import sys
import typing
import unittest

from environment import BUILD, COMMAND, ROOT, Sandbox, compile_program, run, run_ok

EXAMPLE = ROOT / "examples" / "python" / "filters.py"
LIBRARY = BUILD / "lib" / "librocksieve_filters.so"
PACKAGE = {"PYTHONPATH": str(ROOT / "lib" / "python"), "LD_LIBRARY_PATH": str(BUILD / "lib"),
           "PYTHONDONTWRITEBYTECODE": "1"}
sys.path.insert(0, str(ROOT / "lib" / "python"))
sys.dont_write_bytecode = True

import rocksieve
from rocksieve import _c

rocksieve.use_libraries_of(BUILD / "lib")

SPECS = ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5", "rocksieve.ribbon:1%:verified")


def declared(*objects):
    """The functions of rocksieve/c.h and c_arrow.h on these objects."""
    headers = "".join((ROOT / "include" / "rocksieve" / name).read_text()
                      for name in ("c.h", "c_arrow.h"))
    code = re.sub(r"(?s)/\*.*?\*/", "", headers)
    return set(re.findall(rf"\b(rocksieve_(?:{'|'.join(objects)})_\w+)\(", code))


class Library(Sandbox):
    FUNCTIONS = declared("arrow", "builder", "filter", "dynamic", "estimator")

    def test_needs_only_the_cpp_runtime_and_exports_only_its_api(self):
        dynamic = run_ok("readelf", "-dW", LIBRARY).out
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\.so\b.*\]", dynamic))
        self.assertLessEqual(needed, {"libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64"})
        exported = run_ok("nm", "-D", "--defined-only", LIBRARY).out
        self.assertEqual(self.FUNCTIONS, set(re.findall(r" T (rocksieve_\S+)$", exported, re.MULTILINE)))
        self.assertNotIn("rocksieve::", run_ok("nm", "-DC", "--defined-only", LIBRARY).out)

    def test_the_header_is_c_and_cpp(self):
        source = self.directory / "header.c"
        source.write_text("#include <rocksieve/c_arrow.h>\nint main(void) { return 0; }\n")
        for compiler, flags in (("gcc", ["-std=c99"]), ("gcc", []), ("g++", ["-xc++"])):
            compile_program(source, self.directory / "header", "-pedantic", "-Werror", *flags,
                            compiler=compiler)

    def test_each_function_does_what_the_header_says(self):
        source = ROOT / "integration" / "c_filters.c"
        called = set(re.findall(r"\b(rocksieve_\w+)\(", source.read_text()))
        self.assertEqual(set(), self.FUNCTIONS - called)
        program = compile_program(source, self.directory / "c_filters", "-Wall", "-Werror", "-pedantic",
                                  "-lrocksieve_filters", "-lm", compiler="gcc")
        # It asks for more memory than there is, which some systems promise all the same.
        limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
        self.assertEqual("all as promised\n", run_ok(program, before=limited).out)

    def test_python_declares_each_function(self):
        self.assertEqual(self.FUNCTIONS, {f"rocksieve_{name}" for name in _c._FILTERS})
        self.assertEqual(declared("join", "scan", "server"), {f"rocksieve_{name}" for name in _c._JOIN})


class Filters(Sandbox):
    def test_the_example(self):
        keys = self.directory / "keys"
        keys.write_text("".join(f"key{i}\n" for i in range(1000)))
        asked = "".join(f"key{i}\n" for i in range(0, 2000))
        for spec in SPECS:
            finished = run_ok(sys.executable, EXAMPLE, spec, keys, stdin=asked, variables=PACKAGE)
            absent = finished.out.split()
            self.assertEqual([], [key for key in absent if int(key[3:]) < 1000])
            self.assertGreater(len(absent), 960)
            self.assertRegex(finished.err, r"^\d+ bytes\n$")
        wrong = run(sys.executable, EXAMPLE, "rocksieve.blom:10", keys, variables=PACKAGE)
        self.assertIn("blom", wrong.err)
        self.assertNotEqual(0, wrong.code)

    def test_no_key_is_lost(self):
        keys = [b"", b"\0", b"\0\0", b"x" * 100_000, "Grüße", bytearray(b"ab"), memoryview(b"cd")]
        keys += [b"%d" % i for i in range(10_000)]
        for spec in SPECS:
            for count in (0, 1, 3, len(keys)):
                opened = rocksieve.Filter.build(keys[:count], spec)
                self.assertEqual([], [key for key in keys[:count] if key not in opened])
                self.assertEqual(count, opened.key_count)
                if count == 0:
                    self.assertNotIn(b"anything", opened)
        self.assertIn("Grüße".encode(), opened)
        self.assertLess(opened.false_positive_rate, 0.02)

    def test_files_are_those_of_the_command(self):
        path = self.directory / "filter"
        built = rocksieve.Filter.build(["a", "b"])
        built.save(path)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(0o666 & ~mask, path.stat().st_mode & 0o777)
        self.assertEqual("a\n", run_ok(COMMAND, "filter", "query", path, stdin="a\nc\n").out)
        run_ok(COMMAND, "filter", "build", "--spec=rocksieve.ribbon:1%", "-o", path, stdin="a\nb\n")
        self.assertEqual(bytes(built), path.read_bytes())
        self.assertIn("b", rocksieve.Filter.load(path))
        self.assertEqual(["filter"], os.listdir(self.directory))
        with self.assertRaises(OSError):
            built.save(self.directory / "nowhere" / "filter")
        path.write_bytes(b"nonsense")
        with self.assertRaisesRegex(ValueError, "filter: these bytes are not a filter"):
            rocksieve.Filter.load(path)

    def test_ranges(self):
        number = lambda i: i.to_bytes(8, "big")
        ranges = rocksieve.Filter.build(map(number, range(0, 100_000, 100)), "rocksieve.range:14")
        passed = 0
        for i in range(0, 90_000, 100):
            self.assertTrue(ranges.may_contain_range(number(i), number(i + 1)))
            passed += ranges.may_contain_range(number(i + 10), number(i + 60))
        self.assertLess(passed, 100)
        self.assertTrue(rocksieve.Filter.build(["a"]).may_contain_range("x", "y"))  # another family

    def test_copies_and_keys_that_end_by_an_exception(self):
        built = rocksieve.Filter.build(["a"])
        self.assertEqual(bytes(built), bytes(pickle.loads(pickle.dumps(built))))
        self.assertIn("1 keys", repr(built))

        def keys():
            yield "a"
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            rocksieve.Filter.build(keys())


class Toolbox(unittest.TestCase):
    def test_dynamic_filters(self):
        for kind in ("bloom", "scalable-bloom", "counting-bloom", "cuckoo"):
            with self.subTest(kind=kind):
                made = rocksieve.DynamicFilter(kind, 2000)
                made.update(f"key{i}" for i in range(2000))
                self.assertTrue(all(f"key{i}" in made for i in range(2000)))
                self.assertLess(sum(f"other{i}" in made for i in range(2000)), 60)
                self.assertLess(made.false_positive_rate, 0.012)
                copy = pickle.loads(pickle.dumps(made))
                self.assertEqual((kind, bytes(made)), (copy.kind, bytes(copy)))
                self.assertGreater(copy.nbytes, 2000)
                self.assertGreaterEqual(copy.count("key1"), 1)
                self.assertIn(kind, repr(copy))
        for kind in ("counting-bloom", "cuckoo"):
            made = rocksieve.DynamicFilter(kind, 100, 0.001)
            made.update(["a", b"a"])
            self.assertEqual(2, made.count("a"))
            self.assertEqual([True, True, False], [made.remove("a") for _ in range(3)])
            self.assertNotIn("a", made)
        a, b = (rocksieve.DynamicFilter("bloom", 10, seed=7) for _ in range(2))
        a.add("a")
        b.merge(a)
        self.assertIn("a", b)

    def test_estimators(self):
        words = ["the"] * 500 + ["a"] * 200 + [f"word{i}" for i in range(300)]
        for kind in ("hyper-log-log", "k-minimum-values"):
            made = rocksieve.Estimator(kind, 0.03)
            made.update(words)
            self.assertAlmostEqual(302, made.distinct().value, delta=302 * 4 * 0.03)
            self.assertEqual(made.distinct(), pickle.loads(pickle.dumps(made)).distinct())
        for kind in ("top-k", "count-min-sketch"):
            made = rocksieve.Estimator(kind, 0.005)
            made.update(words)
            made.add("the", 10)
            found = made.count("the")
            self.assertTrue(found.times - found.excess <= 510 <= found.times, found)
            self.assertLessEqual(found.excess, 0.005 * 1010 + 1)
        top = rocksieve.Estimator("top-k", 0.005)
        top.update(words)
        self.assertEqual([b"the", b"a"], [item.key for item in top.top(2)])
        small = rocksieve.Estimator("k-minimum-values", 0.03)
        small.update(["a", "b", "a"])
        self.assertEqual((2, 0), small.distinct())

    def test_two_sets(self):
        sets = []
        for kind in ("k-minimum-values", "min-hash"):
            a, b = (rocksieve.Estimator(kind, 0.03) for _ in range(2))
            a.update(f"key{i}" for i in range(10_000))
            b.update(f"key{i}" for i in range(5000, 15_000))
            self.assertAlmostEqual(1 / 3, a.similarity(b).value, delta=0.15)
            sets.append((a, b))
        a, b = sets[0]
        self.assertAlmostEqual(5000, a.intersection(b).value, delta=1500)
        a.merge(b)
        self.assertAlmostEqual(15_000, a.distinct().value, delta=2000)

    def test_what_is_wrong_is_said(self):
        made, top = rocksieve.Estimator("hyper-log-log"), rocksieve.Estimator("top-k")
        bloom, full = rocksieve.DynamicFilter("bloom", 10), rocksieve.DynamicFilter("cuckoo", 10)
        for message, function, *arguments in (
                ("there are bloom, ", rocksieve.DynamicFilter, "blom", 10),
                ("byte 0", rocksieve.DynamicFilter, "bloom\0", 10),
                ("byte 0", rocksieve.Estimator, "top-k\0"),
                ("byte 0", rocksieve.Filter.build, "a", "rocksieve.bloom:10\0salted"),
                ("rate", rocksieve.DynamicFilter, "bloom", 10, 0),
                ("keys is -1", rocksieve.DynamicFilter, "bloom", -1),
                ("2\\^64", rocksieve.DynamicFilter, "bloom", 2**64),
                ("rate", rocksieve.DynamicFilter, "cuckoo", 10, 2),
                ("take counting-bloom or cuckoo", bloom.remove, "a"),
                ("seed", bloom.merge, rocksieve.DynamicFilter("bloom", 10, seed=8)),
                ("is no DynamicFilter", bloom.merge, made),
                ("no room", full.update, ["same"] * 9),
                *(("", rocksieve.DynamicFilter.from_bytes, block)
                  for block in (b"", b"nonsense", bytes(top))),
                ("take count-min-sketch or top-k", made.count, "a"), ("take top-k", made.top),
                ("min-hash", made.similarity, made), ("k-minimum-values", made.intersection, made),
                ("hyper-log-log", top.distinct), ("of one kind", made.merge, top),
                ("there are hyper-log-log", rocksieve.Estimator, "luck"),
                ("error", rocksieve.Estimator, "top-k", 2.0), ("count is -1", made.add, "a", -1),
                ("RSTB|cut off", rocksieve.Estimator.from_bytes, b"")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                function(*arguments)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2**33, limits[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, limits)
        with self.assertRaises(MemoryError):
            rocksieve.DynamicFilter("bloom", 20_000_000_000_000)


class Package(Sandbox):
    def test_everything_has_types_and_says_what_it_does(self):
        self.assertTrue((ROOT / "lib" / "python" / "rocksieve" / "py.typed").exists())
        checked = 0
        for name in rocksieve.__all__:
            thing = getattr(rocksieve, name)
            members = [thing] if inspect.isfunction(thing) else [
                value for member, value in vars(thing).items()
                if not member.startswith("_") or member == "__init__"]
            self.assertTrue(thing.__doc__, name)
            for member in members:
                function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
                if not inspect.isfunction(function):
                    continue
                if function.__module__.startswith("rocksieve"):
                    checked += 1
                    self.assertTrue(function.__doc__ or function.__name__ == "__init__", function)
                    hints = typing.get_type_hints(function)
                    wanted = set(inspect.signature(function).parameters) - {"self", "cls"}
                    self.assertEqual(set(), (wanted | {"return"}) - set(hints), function)
        self.assertGreater(checked, 25)

    def test_without_the_libraries_it_says_what_to_install(self):
        program = "import rocksieve; rocksieve.Filter.build(['a'])"
        finished = run(sys.executable, "-c", program,
                       variables={**PACKAGE, "LD_LIBRARY_PATH": ""})
        if finished.code != 0:  # else they are installed here
            self.assertIn("install the package librocksieve1", finished.err)
        finished = run(sys.executable, "-c", f"""
import rocksieve
rocksieve.use_libraries_of({str(self.directory)!r})
{program}""", variables=PACKAGE)
        self.assertIn(f"{self.directory}/librocksieve_filters.so.1: cannot open", finished.err)
        with self.assertRaisesRegex(RuntimeError, "comes before anything else"):
            rocksieve.Filter.build(["a"])
            rocksieve.use_libraries_of(self.directory)

    def test_memory_is_given_back(self):
        program = """
import resource, rocksieve
def round():
    for _ in range(20):
        made = rocksieve.DynamicFilter("bloom", 1_000_000)
        bytes(made); rocksieve.Filter.build([b"x" * 1000] * 1000)
        try: rocksieve.DynamicFilter("blom", 1)
        except ValueError: pass
round(); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(5): round()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
        grown = int(run_ok(sys.executable, "-c", program, variables=PACKAGE).out)
        self.assertLess(grown, 10_000)  # KiB; a hundred of them would be 120 MB


if __name__ == "__main__":
    unittest.main(verbosity=2)
