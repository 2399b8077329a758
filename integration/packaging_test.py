# SPDX-License-Identifier: Apache-2.0
"""That debian/ knows all that is installed, exported and needed to build; that all places agree on the
version; and the licence in every source file. What the packages do: ./run test --packages."""

import fnmatch
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, ROOT, SERIES, Sandbox, run_ok

DEBIAN = ROOT / "debian"
HAS_JOIN = (BUILD / "lib" / "librocksieve_join.so").exists()
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def cmake_value(pattern):
    return re.search(pattern, (ROOT / "CMakeLists.txt").read_text())[1]


VERSION = cmake_value(r"project\(rocksieve VERSION (\S+) ")
ABI = cmake_value(r"set\(rocksieve_abi (\d+)\)")


def paragraphs(control):
    """Of debian/control: {field: value} for the source, then for each package."""
    for text in control.strip().split("\n\n"):
        yield {name: value.strip() for name, value in
               re.findall(r"(?m)^([\w-]+):(.*(?:\n[ \t].*)*)", text)}


def names(relation):
    return {re.match(r"[a-z0-9+.-]+", part.strip())[0] for part in relation.split(",")}


PARAGRAPHS = list(paragraphs((DEBIAN / "control").read_text()))
PACKAGES = {paragraph["Package"] for paragraph in PARAGRAPHS[1:]}


def listed(name):
    """The patterns of an .install file or its like, without where the files go."""
    return [line.split()[0] for line in (DEBIAN / name).read_text().splitlines() if line]


def matches(path, pattern):
    """As dh_install: a pattern may name a directory, and * never matches a slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


class Versions(unittest.TestCase):
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


class Contents(Sandbox):
    def test_every_installed_file_is_in_one_package(self):
        prefix = self.directory / "usr"
        run_ok("cmake", "--install", BUILD, "--prefix", prefix)
        files = {str(path.relative_to(self.directory))
                 for path in prefix.rglob("*") if path.is_symlink() or not path.is_dir()}
        # Where Debian has libraries.
        files = {re.sub(r"^usr/lib/(?!systemd/|python3/)(?:[^/]+-linux-gnu[^/]*/)?", "usr/lib/ARCH/", file)
                 for file in files}
        patterns = {package: listed(f"{package}.install") for package in PACKAGES}
        patterns["nowhere"] = listed("not-installed")
        # It goes elsewhere, and both lists name it.
        files.discard("usr/share/zsh/site-functions/_rocksieve")
        for file in sorted(files):
            places = {package for package, all_of in patterns.items()
                      if any(matches(file, pattern) for pattern in all_of)}
            self.assertEqual(1, len(places), f"{file} is in {places or 'no package'}")
        if HAS_JOIN:
            for pattern in (pattern for all_of in patterns.values() for pattern in all_of):
                if "zsh" not in pattern:
                    self.assertTrue(any(matches(file, pattern) for file in files),
                                    f"nothing is {pattern}")

    def test_what_a_build_needs_is_what_run_installs(self):
        run = (ROOT / "run").read_text()
        needed = re.search(r"(?m)^filter_packages=\((.*?)\)$", run)[1].split()
        body = re.search(r"(?ms)^need_build\(\) \{\n(.*?)^\}", run)[1].replace("\\\n", " ")
        needed += [word for word in body.split() if re.fullmatch(r"[a-z][a-z0-9+.-]+", word)]
        # g++ is on every machine that builds packages; what only packages are made with, ./run package
        # installs.
        self.assertEqual(set(needed) - {"need", "g++"},
                         names(PARAGRAPHS[0]["Build-Depends"]) -
                         {"debhelper-compat", "dh-python", "python3"})


def symbols_of(library):
    """Both kinds of names, as debian/*.symbols.in has them."""
    lines = run_ok("nm", "-D", "--defined-only", library).out.splitlines()
    mangled = [line.split()[-1] for line in lines]
    plain = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return set(plain)


def listed_symbols():
    """{library: {symbol}}"""
    result = {}
    for path in DEBIAN.glob("*.symbols.in"):
        for line in path.read_text().replace("@SERIES@", SERIES).splitlines():
            if line.startswith("lib"):
                soname, package = line.split()[:2]
                library = result.setdefault(soname, set())
                assert package.split("-rocksdb")[0] == path.name.split(".")[0], line
            elif line.strip():
                library.add(re.fullmatch(r' (?:\(c\+\+\)")?(.+)@Base"? [\d.]+', line)[1])
    return result


@unittest.skipUnless(HAS_JOIN, "this build has not all libraries")
class Symbols(unittest.TestCase):
    maxDiff = None

    def test_none_is_lost_and_none_comes_unnoticed(self):
        """One that is lost takes a new SONAME: rocksieve_abi in CMakeLists.txt."""
        lists = listed_symbols()
        libraries = {f"{path.name}.{ABI}" for path in (BUILD / "lib").glob("librocksieve*.so")}
        self.assertEqual(libraries, set(lists))
        for soname, symbols in lists.items():
            with self.subTest(library=soname):
                self.assertEqual(symbols, symbols_of(BUILD / "lib" / soname))


def comment_of(path):
    """How its first comment begins, or None if it is no source file."""
    if path.suffix in (".cc", ".h", ".c", ".rs", ".js", ".proto"):
        return "/* " if path.suffix == ".c" or path.name == "c.h" else "// "
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


class Checks(unittest.TestCase):
    def test_patterns(self):
        self.assertTrue(matches("usr/lib/ARCH/liba.so.1", "usr/lib/*/liba.so.1*"))
        self.assertTrue(matches("usr/include/a/b.h", "usr/include"))
        self.assertFalse(matches("usr/lib/ARCH/cmake/x.a", "usr/lib/*/*.a"))
        self.assertFalse(matches("usr/include2/a.h", "usr/include"))

    def test_paragraphs(self):
        self.assertEqual([{"Source": "a", "Build-Depends": "b (>= 1),\n  c"}, {"Package": "d"}],
                         list(paragraphs("Source: a\nBuild-Depends: b (>= 1),\n  c\n\nPackage: d\n")))
        self.assertEqual({"b", "c"}, names("b (>= 1),\n  c"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
