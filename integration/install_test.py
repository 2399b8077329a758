# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` makes, used by a project outside of this one (integration/consumer); that
debian/ knows all that is installed, exported and needed to build; that all places agree on the version;
and the licence in every source file. What the packages do: ./run test --packages."""

import fnmatch
import pathlib
import re
import unittest

from environment import (BUILD, HAS_EXPORTER, HAS_JOIN, PLUGIN, RELEASE_PLUGIN, ROOT, SERIES, Sandbox,
                         run, run_ok, thorough)

DEBIAN = ROOT / "debian"
LICENCE = "SPDX-License-Identifier: Apache-2.0"


class Installed(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        staging = cls.class_directory / "staging"
        run_ok("cmake", "--install", BUILD, "--prefix", staging)
        # Moved, since a package must not depend on where it was installed first.
        cls.prefix = staging.rename(cls.class_directory / "prefix")
        cls.files = {str(path.relative_to(cls.prefix)) for path in cls.prefix.rglob("*")
                     if path.is_symlink() or not path.is_dir()}

    def configure(self, source, *flags, code=0):
        finished = run("cmake", "-G", "Ninja", "-S", source, "-B", self.directory / "build",
                       f"-DCMAKE_PREFIX_PATH={self.prefix}", *flags)
        self.assertEqual(code, finished.code, finished)
        return finished


class Layout(Installed):
    @unittest.skipUnless(HAS_JOIN, "built without joins")
    def test_the_service_starts_what_was_installed(self):
        unit = (self.prefix / "lib/systemd/system/rocksieve-serve.service").read_text()
        self.assertIn(f"\nExecStart={self.class_directory}/staging/bin/rocksieve serve ", unit)

    def test_files(self):
        headers = {str(path.relative_to(ROOT))
                   for path in (ROOT / "include" / "rocksieve").rglob("*.h")
                   if (HAS_JOIN or path.parent.name != "join")
                   and (HAS_EXPORTER or path.name != "metrics_exporter.h")}
        self.assertEqual(headers, {file for file in self.files if file.startswith("include/")})
        [libraries] = {str(pathlib.PurePath(file).parent) for file in self.files
                       if file.endswith("librocksieve.so")}
        for file in (f"{libraries}/librocksieve_core.a", f"{libraries}/librocksieve_filters.so.1",
                     f"{libraries}/librocksieve.so.1", f"{libraries}/{RELEASE_PLUGIN.name}",
                     f"{libraries}/cmake/rocksieve/rocksieveConfig.cmake",
                     f"{libraries}/cmake/rocksieve/rocksieveConfigVersion.cmake",
                     *([f"{libraries}/librocksieve_exporter.so.1", "share/rocksieve/prometheus/rules.yml",
                        "share/rocksieve/grafana/dashboard.json"] if HAS_EXPORTER else [])):
            self.assertIn(file, self.files)
        self.assertRegex(" ".join(self.files), "/LICENSE\\b")

    def test_every_file_is_in_one_package(self):
        # Where Debian has libraries.
        files = {re.sub(r"^lib/(?!systemd/|python3/)(?:[^/]+-linux-gnu[^/]*/)?", "lib/ARCH/", file)
                 for file in self.files}
        patterns = {package: listed(f"{package}.install") for package in PACKAGES}
        patterns["nowhere"] = listed("not-installed")
        # It goes elsewhere, and both lists name it.
        for file in sorted(files - {"share/zsh/site-functions/_rocksieve"}):
            places = {package for package, all_of in patterns.items()
                      if any(matches(f"usr/{file}", pattern) for pattern in all_of)}
            self.assertEqual(1, len(places), f"{file} is in {places or 'no package'}")
        for pattern in (pattern for all_of in patterns.values() for pattern in all_of):
            if HAS_JOIN and "zsh" not in pattern:
                self.assertTrue(any(matches(f"usr/{file}", pattern) for file in files),
                                f"nothing is {pattern}")

    def test_it_works_where_it_is_now(self):
        places = [str(place).encode() for place in (BUILD, ROOT, self.class_directory / "staging")]
        for path in self.prefix.rglob("*.cmake"):
            for place in places:
                self.assertNotIn(place, path.read_bytes(), path)
        for path in self.prefix.rglob("librocksieve[.-]*.so*"):
            self.assertNotRegex(run_ok("readelf", "-dW", path).out, r"\((RPATH|RUNPATH)\)")
        [installed] = self.prefix.rglob(PLUGIN.name)
        self.assertEqual("", run_ok("ldb", "--version", preload=[installed]).err)
        command = self.prefix / "bin" / "rocksieve"
        if not command.exists():
            self.skipTest("this build has no command")
        self.assertIn("rocksieve", run_ok(command, "--help").out)
        for file in ("man/man1/rocksieve.1", "man/man1/rocksieve-demo.1",
                     "bash-completion/completions/rocksieve", "zsh/site-functions/_rocksieve",
                     "fish/vendor_completions.d/rocksieve.fish"):
            self.assertTrue((self.prefix / "share" / file).exists(), file)


class Consumer(Installed):
    def build_consumer(self, *flags):
        configured = self.configure(ROOT / "integration" / "consumer", *flags)
        run_ok("cmake", "--build", self.directory / "build", timeout=120)
        found, of, false_positives = self.numbers(
            r"(\d+) of (\d+) keys, (\d+) false positives\n", "core_program")
        self.assertEqual((10000, 10000), (found, of))
        self.assertAlmostEqual(100, false_positives, delta=50)  # 1 %, and five standard deviations
        return configured

    def said(self, program, *arguments):
        return run_ok(self.directory / "build" / program, *arguments).out

    def numbers(self, pattern, *words):
        return [int(number) for number in re.fullmatch(pattern, self.said(*words)).groups()]

    def needed(self, program):
        return run_ok("readelf", "-dW", self.directory / "build" / program).out

    def test_all_programs(self):
        # As on systems whose linker drops libraries that nothing calls.
        self.build_consumer("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed")
        self.assertEqual("5000 keys found, 1 filters built with 5000 keys\n",
                         self.said("plugin_program", self.directory / "db"))
        results = [self.numbers(r"(\d+) keys found, rocksdb.bloom.filter.useful COUNT : (\d+)\n",
                                f"{program}_program", self.directory / f"{program}_db")
                   for program in ("c", "static")]
        self.assertEqual(*results)
        self.assertEqual(5000, results[0][0])
        self.assertGreater(results[0][1], 4900)
        self.assertNotRegex(self.needed("static_program"), "librocks(db|ieve)")
        if HAS_EXPORTER:
            self.assertRegex(self.said("exporter_program"), r"serves at 127.0.0.1:\d+\n")
        if HAS_JOIN:
            self.assertEqual("5000 keys in both, 0 in one only\n",
                             self.said("join_program", self.directory / "join_db"))
            # gRPC and its like come with the library: programs need not know them.
            self.assertNotRegex(self.needed("join_program"), "grpc|absl|protobuf")

    @thorough
    def test_the_examples_can_be_built_by_themselves(self):
        self.configure(ROOT / "examples", "-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON")
        # One with a header of its own, and one with another folder's and the toolbox.
        run_ok("cmake", "--build", self.directory / "build", "--target", "example_spell_checker",
               "example_filter_tree", timeout=120)

    def test_core_needs_no_rocksdb(self):
        configured = self.build_consumer("-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON")
        self.assertIn(f"rocksieve::plugin needs RocksDB {SERIES}, which was not found", configured.out)
        self.assertNotIn("rocksdb", self.needed("core_program"))
        self.assertFalse((self.directory / "build" / "plugin_program").exists())

    def find(self, arguments, code=0):
        """find_package(rocksieve ...) where RocksDB cannot be found."""
        (self.directory / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(finder LANGUAGES NONE)\n"
            f"find_package(rocksieve {arguments})\n"
            f'message(STATUS "found: ${{rocksieve_FOUND}}")\n'
            f'get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)\n'
            f'message(STATUS "targets: ${{targets}}")\n')
        return self.configure(self.directory, "-DCMAKE_DISABLE_FIND_PACKAGE_RocksDB=ON", code=code)

    def test_find_package(self):
        for arguments, says_what_is_missing in (
                ("", True), ("QUIET", False), ("COMPONENTS core", False), ("REQUIRED", True),
                ("1.0 REQUIRED", True), ("REQUIRED COMPONENTS core", False),
                ("REQUIRED COMPONENTS core OPTIONAL_COMPONENTS plugin", True)):
            with self.subTest(arguments=arguments):
                out = self.find(arguments).out
                self.assertRegex(out, "found: (1|TRUE)\n")
                self.assertIn("targets: rocksieve::core;rocksieve::toolbox\n", out)
                self.assertEqual(says_what_is_missing, "RocksDB" in out, out)
        for arguments, reason in (
                ("REQUIRED COMPONENTS plugin", f"rocksieve::plugin needs RocksDB {SERIES}"),
                ("REQUIRED COMPONENTS join",
                 f"rocksieve::join needs RocksDB {SERIES}" if HAS_JOIN else
                 "this rocksieve was built without rocksieve::join"),
                ("REQUIRED COMPONENTS core jon", "rocksieve has no component jon"),
                ("99 REQUIRED", 'compatible with requested version "99"')):
            with self.subTest(arguments=arguments):
                self.assertIn(reason, " ".join(self.find(arguments, code=1).err.split()))


def cmake_value(pattern):
    return re.search(pattern, (ROOT / "CMakeLists.txt").read_text())[1]


VERSION = cmake_value(r"project\(rocksieve VERSION (\S+) ")
ABI = cmake_value(r"set\(rocksieve_abi (\d+)\)")


def names(relation):
    return {re.match(r"[a-z0-9+.-]+", part.strip())[0] for part in relation.split(",")}


# Of debian/control: {field: value} for the source, then for each package.
SOURCE, *BINARIES = [
    {name: value.strip() for name, value in re.findall(r"(?m)^([\w-]+):(.*(?:\n[ \t].*)*)", text)}
    for text in (DEBIAN / "control").read_text().strip().split("\n\n")]
PACKAGES = {paragraph["Package"] for paragraph in BINARIES}


def listed(name):
    """The patterns of an .install file or its like, without where the files go."""
    return [line.split()[0] for line in (DEBIAN / name).read_text().splitlines() if line]


def matches(path, pattern):
    """As dh_install: a pattern may name a directory, and * never matches a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


class Debian(unittest.TestCase):
    def test_all_places_agree(self):
        self.assertRegex((DEBIAN / "changelog").read_text(),
                         rf"\Arocksieve \({re.escape(VERSION)}-\d+\) ")
        self.assertRegex((ROOT / "CHANGELOG.md").read_text(), rf"(?m)^## {re.escape(VERSION)}\b")
        self.assertIn(f'\n__version__ = "{VERSION}"\n',
                      (ROOT / "lib" / "python" / "rocksieve" / "__init__.py").read_text())

    def test_sonames_and_packages_have_the_number_of_the_interface(self):
        for library in (BUILD / "lib").glob("librocksieve*.so"):
            soname = re.search(r"\(SONAME\).*\[(.+)\]", run_ok("readelf", "-dW", library).out)[1]
            self.assertEqual(f"{library.name}.{ABI}", soname)
        for package in PACKAGES - {"librocksieve-dev", "python3-rocksieve", "rocksieve-tools"}:
            self.assertTrue(package.endswith(ABI), package)
        functions = (ROOT / "lib" / "python" / "rocksieve" / "_c.py").read_text()
        self.assertRegex(functions, rf"(?m)^ABI = {ABI}\b")

    def test_what_a_build_needs_is_what_run_installs(self):
        run = (ROOT / "run").read_text()
        needed = re.search(r"(?m)^filter_packages=\((.*?)\)$", run)[1].split()
        body = re.search(r"(?ms)^need_build\(\) \{\n(.*?)^\}", run)[1].replace("\\\n", " ")
        needed += [word for word in body.split() if re.fullmatch(r"[a-z][a-z0-9+.-]+", word)]
        # g++ is on every machine that builds packages; what only packages are made with, ./run package
        # installs.
        self.assertEqual(set(needed) - {"need", "g++"},
                         names(SOURCE["Build-Depends"]) -
                         {"debhelper-compat", "dh-python", "python3"})

    @unittest.skipUnless(HAS_JOIN, "this build has not all libraries")
    def test_no_symbol_is_lost_and_none_comes_unnoticed(self):
        """One that is lost takes a new SONAME: rocksieve_abi in CMakeLists.txt."""
        lists = {}  # {library: {symbol}}
        for path in DEBIAN.glob("*.symbols.in"):
            for line in path.read_text().replace("@SERIES@", SERIES).splitlines():
                if line.startswith("lib"):
                    soname, package = line.split()[:2]
                    symbols = lists.setdefault(soname, set())
                    self.assertEqual(path.name.split(".")[0], package.split("-rocksdb")[0], line)
                elif line.strip():
                    symbols.add(re.fullmatch(r' (?:\(c\+\+\)")?(.+)@Base"? [\d.]+', line)[1])
        self.assertEqual({f"{path.name}.{ABI}" for path in (BUILD / "lib").glob("librocksieve*.so")},
                         set(lists))
        for soname, symbols in lists.items():
            with self.subTest(library=soname):
                exported = run_ok("nm", "-D", "--defined-only", BUILD / "lib" / soname).out.splitlines()
                names_of = run_ok("c++filt", stdin="\n".join(line.split()[-1] for line in exported))
                self.assertEqual(symbols, set(names_of.out.splitlines()))


def comment_of(path):
    """How its first comment begins, or None if it is no source file."""
    if path.suffix in (".cc", ".h", ".c", ".rs", ".js", ".proto"):
        return "/* " if path.suffix == ".c" or path.name in ("c.h", "c_arrow.h", "c_load.h") else "// "
    if path.suffix in (".py", ".sh", ".awk", ".cmake", ".mk") or path.name == "CMakeLists.txt":
        return "# "
    try:
        return "# " if path.read_bytes()[:2] == b"#!" else None
    except IsADirectoryError:
        return None


class Licences(unittest.TestCase):
    def test_every_source_file_says_its_licence_in_its_first_lines(self):
        top = [ROOT / name for name in ("CMakeLists.txt", "run", "rocksieve.mk")]
        folders = (".ci", "bench", "cmake", "debian", "docs", "examples",
                   "include", "integration", "lib", "plugin", "support", "tests", "tools")
        sources = [path for folder in folders for path in (ROOT / folder).rglob("*")
                   if "__pycache__" not in path.parts and "node_modules" not in path.parts]
        checked = 0
        for path in top + sources:
            if path.is_file() and (comment := comment_of(path)):
                checked += 1
                lines = path.read_text().splitlines()[:2]
                if lines and lines[0].startswith("#!"):
                    lines = lines[1:]
                self.assertTrue(lines and lines[0].startswith(comment + LICENCE),
                                f"{path.relative_to(ROOT)}: its first line must be {comment}{LICENCE}")
        self.assertGreater(checked, 500)


if __name__ == "__main__":
    unittest.main(verbosity=2)
