#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder may include from which, and that a path names one file.

Includes are written from the root of the repository. ALLOWED is the whole table of arrows between
folders of the product; an arrow that is not in it fails, and so does one that nobody uses any more.
Tests, benchmarks and examples may include whatever they test; nothing of the product includes them.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PRODUCT = ("include", "lib", "plugin", "support", "tools")
GENERATED = {"join.pb.h", "join.grpc.pb.h"}  # by protoc

# Folder: those that it may include from. include/rocksieve is left out: all may.
ALLOWED = {
    # The filter library: a family knows no other one; lib/filter is the door to them.
    "lib/bloom": "lib/cpu lib/format lib/hash",
    "lib/cuckoo": "lib/cpu lib/format lib/hash",
    "lib/ribbon": "lib/cpu lib/format lib/hash lib/memory",
    # Parts of a range filter are ribbons.
    "lib/range": "lib/cpu lib/format lib/hash lib/ribbon",
    "lib/hash": "lib/memory",
    "lib/format": "lib/hash lib/memory",
    "lib/filter": "lib/bloom lib/cuckoo lib/format lib/hash lib/range lib/ribbon",
    "lib/budget": "lib/filter lib/format lib/range",
    "lib/c_api": "lib/arrow",
    # The toolbox.
    "lib/toolbox": "lib/format lib/hash",
    # The join: no RocksDB and no gRPC up to lib/join/session.
    "lib/sketch": "lib/cpu lib/format lib/hash lib/memory",
    "lib/sketch/pinsketch": "lib/cpu lib/format lib/hash lib/memory",
    "lib/join/rows": "lib/format lib/join lib/memory support",
    "lib/join/sort": "lib/format lib/join/rows support",
    "lib/join/text": "lib/join/rows lib/join/sort support",
    "lib/join/join_key": "lib/hash lib/join/rows lib/join/sort support",
    "lib/join/matching": "lib/cpu lib/filter lib/format lib/hash lib/join lib/join/rows lib/memory "
                         "lib/sketch lib/sketch/pinsketch support",
    "lib/join/existing": "lib/format lib/hash lib/join lib/join/matching lib/join/rows support",
    "lib/join/session": "lib/format lib/hash lib/join lib/join/join_key lib/join/matching "
                        "lib/join/existing lib/join/rows lib/memory lib/sketch support",
    "lib/transport": "lib/format lib/join lib/join/matching lib/join/rows lib/join/session "
                     "lib/join/sort support",
    # What knows RocksDB.
    "plugin/auto": "lib/budget lib/range",
    "plugin": "lib/budget lib/filter lib/hash plugin/auto plugin/exporter plugin/journal plugin/range",
    "plugin/range": "lib/range",
    "plugin/java/native": "plugin/loader",
    "plugin/tables": "lib/filter lib/format plugin plugin/range support",
    "plugin/database": "lib/budget lib/filter lib/format plugin/tables support",
    "plugin/journal": "lib/hash",
    "plugin/unshared": "plugin/database plugin/journal plugin/tables support",
    "plugin/probe": "plugin/database support",
    "plugin/join": "lib/format lib/join/rows lib/join/sort plugin/tables support",
    "plugin/join_api": "lib/arrow lib/c_api lib/format lib/hash lib/join lib/join/join_key lib/join/matching lib/join/rows "
                       "lib/join/session lib/join/sort lib/join/text lib/transport "
                       "plugin/database plugin/join plugin/unshared support",
    # The command: a subcommand knows no other one; joins are made by the public API alone.
    "tools/command": "plugin/database support",
    "tools/demo": "lib/hash plugin/database plugin/tables support tools/command",
    "tools/doctor": "plugin/database support tools/command",
    "tools/doctor/checks": "lib/budget plugin plugin/database plugin/range support tools/doctor",
    "tools/explain": "plugin/database plugin/probe support tools/command",
    # What both say of a database, as metrics.
    "tools/exporter": "plugin/database support tools/command tools/doctor tools/explain",
    "tools/filter": "support tools/command",
    "tools/inspect": "lib/format plugin/database plugin/tables support tools/command",
    "tools/join": "plugin/database support tools/command tools/load",
    "tools/load": "plugin/database support tools/command",
    # What these say of a database, as a page.
    "tools/report": "plugin/database support tools/command tools/doctor tools/explain "
                    "tools/whatif",
    "tools/whatif": "lib/budget lib/filter plugin plugin/database plugin/probe plugin/tables support "
                    "tools/command",
    "tools": "support tools/command",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def sources():
    top = [folder for folder in ROOT.iterdir()
           if folder.is_dir() and folder.name[0] != "." and not folder.name.startswith("build")]
    return sorted(pathlib.PurePosixPath(path.relative_to(ROOT)) for folder in top
                  for path in folder.rglob("*") if path.suffix in (".cc", ".h", ".inc"))


def includes(source):
    """Those of our own headers, as paths from the root; and those of others, as they are written."""
    ours, others = [], []
    for quoted, angled in INCLUDE.findall((ROOT / source).read_text(encoding="utf-8")):
        if quoted and source.parts[0] == "include":  # RocksDB installs them under another name
            ours.append(str(source.parent / quoted))
        elif quoted:
            ours.append(quoted)
        elif angled.startswith("rocksieve/"):
            ours.append("include/" + angled)
        else:
            others.append(angled)
    return ours, others


def arrows():
    found = {}
    for source in sources():
        folder = str(source.parent)
        for path in includes(source)[0]:
            target = str(pathlib.PurePosixPath(path).parent)
            if target != folder and path not in GENERATED:
                found.setdefault((folder, target), source)
    return found


class LayersTest(unittest.TestCase):
    def test_a_path_names_one_file(self):
        wrong = [f"{source} includes {path}" for source in sources()
                 if source.parts[0] != "examples" and source.parts[:2] != ("tests", "stress") and
                 source.parts[:2] != ("integration", "consumer")
                 for path in includes(source)[0]
                 if path not in GENERATED and not (ROOT / path).is_file()]
        self.assertEqual([], wrong, "write includes from the root: \"lib/hash/key_hash.h\"")

    def test_arrows_are_allowed(self):
        allowed = {(folder, target) for folder, targets in ALLOWED.items()
                   for target in targets.split()}
        found = {(folder, target): source for (folder, target), source in arrows().items()
                 if folder.split("/")[0] in PRODUCT and not target.startswith("include/")}
        wrong = [f"{source} includes from {target}" for (folder, target), source in found.items()
                 if (folder, target) not in allowed]
        self.assertEqual([], wrong, "not in ALLOWED")
        self.assertEqual([], sorted(allowed - set(found)), "arrows that nobody uses any more")

    def test_only_the_filter_library_asks_which_family_it_has(self):
        asks = re.compile(r"(case|[=!]=)\s+(rocksieve::)?Family::k(Bloom|Cuckoo|Ribbon)\b")
        wrong = [str(source) for source in sources()
                 if source.parts[0] in PRODUCT and source.parts[:2] != ("lib", "filter")
                 and asks.search((ROOT / source).read_text(encoding="utf-8"))]
        self.assertEqual([], wrong, "put it into FamilyEntry (lib/filter/family.h)")

    def test_no_folders_know_each_other(self):
        below = {}
        for folder, target in arrows():
            below.setdefault(folder, set()).add(target)

        def reached(folder, seen):
            for target in below.get(folder, ()):
                if target not in seen:
                    seen.add(target)
                    reached(target, seen)
            return seen

        self.assertEqual([], [folder for folder in sorted(below) if folder in reached(folder, set())])

    def test_the_filter_library_knows_no_rocksdb(self):
        wrong = [f"{source} includes <{path}>" for source in sources() if source.parts[0] == "lib"
                 for path in includes(source)[1] if path.startswith("rocksdb/")]
        self.assertEqual([], wrong)


class InsideOfRocksDbTest(unittest.TestCase):
    """rocksieve.mk says to RocksDB's own build what the plugin consists of."""

    @classmethod
    def setUpClass(cls):
        cls.assignments = dict(re.findall(r"^rocksieve_(\w+) = (.*)$",
                                          (ROOT / "rocksieve.mk").read_text(encoding="utf-8"),
                                          re.MULTILINE))

    def sources_in(self, cmake_lists, target):
        text = (ROOT / cmake_lists).read_text(encoding="utf-8")
        listed = re.search(rf"add_library\({target} [A-Z]+([^)]*)\)", text)[1].split()
        folder = pathlib.PurePosixPath(cmake_lists).parent
        return {str(folder / source) for source in listed}

    def test_it_has_the_sources_of_the_plugin_and_of_its_filters(self):
        filters = self.sources_in("lib/CMakeLists.txt", "rocksieve_filter_objects")
        plugin = self.sources_in("plugin/CMakeLists.txt", "rocksieve_plugin_objects")
        self.assertEqual(filters | plugin, set(self.assignments["SOURCES"].split()))

    def test_its_headers_are_there(self):
        for header in self.assignments["HEADERS"].split():
            self.assertTrue((ROOT / header).is_file(), header)


if __name__ == "__main__":
    unittest.main()
