#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run test --in-tree=SOURCE: rocksieve built inside of RocksDB, and used by its db_bench.

  in_tree.py SOURCE [--build=cmake|make]

SOURCE is a source tree of RocksDB 7.2 or later; it is only read: what is built, and the plugin, go into
a tree of links to it below build/in_tree. There db_bench is built with ROCKSDB_PLUGINS=rocksieve, with
RocksDB's own flags and warnings, but not optimized; then it fills a database whose OPTIONS say
filter_policy=rocksieve.ribbon:10, and reads it: all keys must be found, the filters must be ours, and
keep off the lookups of absent keys; then integration/oracle.cc looks for lost keys. Takes half an hour
of processor time for a first build, 2 GB of disk.

Exit codes: 0 all is well, 1 something failed, 2 bad usage or not the source of a RocksDB.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "integration"), str(ROOT / "tests" / "stress" / "rocksdb")]

import environment
import programs
from source_tree import version_of

OLDEST = (7, 2)
KEYS = 200_000
# A quarter of what 10 bits a key cost RocksDB's Bloom filter in false positives, at most.
MOST_FALSE_POSITIVES = 0.0025


def fail(code, what):
    print(f"in-tree: {what}", file=sys.stderr)
    sys.exit(code)


def must(log, *command, directory=None, variables=None):
    with open(log, "a", encoding="utf-8") as output:
        code = subprocess.run([str(word) for word in command], cwd=directory, stdout=output,
                              stderr=subprocess.STDOUT,
                              env=dict(os.environ, **(variables or {}))).returncode
    if code != 0:
        tail = log.read_text(encoding="utf-8", errors="replace")[-4000:]
        fail(1, f"{command[0]} failed; the end of {log}:\n{tail}")


def tree_of_links(source, version):
    """Of the sources, with this repository in its folder plugin/."""
    tree = ROOT / "build" / "in_tree" / version
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        made = pathlib.Path(tempfile.mkdtemp(prefix="tree-", dir=tree.parent))
        shutil.copytree(source, made, dirs_exist_ok=True, symlinks=True, copy_function=os.symlink,
                        ignore=shutil.ignore_patterns(".git", "*.o", "*.a", "build", "rocksieve"))
        (made / "plugin" / "rocksieve").symlink_to(ROOT)
        made.rename(tree)
    return tree


def build_by_cmake(tree, log):
    build = tree / "build"
    must(log, "cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DROCKSDB_PLUGINS=rocksieve",
         "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", "-DPORTABLE=1",
         "-DWITH_TESTS=OFF", "-DWITH_ALL_TESTS=OFF", "-DWITH_GFLAGS=ON",
         "-DWITH_BENCHMARK_TOOLS=ON", "-DROCKSDB_BUILD_SHARED=OFF", "-DWITH_LIBURING=OFF")
    must(log, "cmake", "--build", build, "--target", "db_bench")
    return build


def build_by_make(tree, log):
    build = tree / "made"
    # Without what it would find on this machine, as by CMake.
    absent = ("SNAPPY", "ZLIB", "BZIP", "LZ4", "ZSTD", "NUMA", "TBB", "JEMALLOC", "MEMKIND", "LIBURING")
    must(log, "make", f"-j{os.cpu_count()}", "ROCKSDB_PLUGINS=rocksieve", "DEBUG_LEVEL=0",
         "OPTIMIZE_LEVEL=-O0", "PORTABLE=1", "DISABLE_WARNING_AS_ERROR=1", f"OBJ_DIR={build}",
         "db_bench", "static_lib", directory=tree, variables={f"ROCKSDB_DISABLE_{name}": "1" for name in absent})
    # RocksDB's own sources have some without those libraries.
    ours = re.findall(r"plugin/rocksieve/.* warning: .*", log.read_text(errors="replace"))
    if ours:
        fail(1, "our sources have warnings: " + "; ".join(ours[:5]))
    for name in ("db_bench", "librocksdb.a"):
        (build / name).unlink(missing_ok=True)
        (build / name).symlink_to(tree / name)
    return build


def check(program):
    with tempfile.TemporaryDirectory(prefix="rocksieve-in-tree-") as directory:
        database = programs.Database(directory, keys=KEYS, program=program)
        options = programs.options_text("rocksieve.ribbon:10")

        def bench(benchmarks, **settings):
            try:
                return database.bench(benchmarks, options, stock=True, timeout=1200, **settings)
            except AssertionError as error:
                fail(1, str(error))

        bench("fillseq,compact", existing=False)
        written = database.path.glob("OPTIONS-*")
        if not any("filter_policy=rocksieve.ribbon:10" in one.read_text() for one in written):
            fail(1, "the OPTIONS file does not name rocksieve.ribbon:10")
        if not database.tables():
            fail(1, "db_bench left no table file")
        for table in database.tables():
            shown = environment.run(environment.COMMAND, "inspect", table)
            if shown.code != 0 or "ribbon" not in shown.out:
                fail(1, f"the filter of a table file is not an intact ribbon filter: {shown}")
        [(_, found, asked)] = bench("readrandom").found
        if found != asked:
            fail(1, f"keys were lost: only {found} of {asked} were found")
        absent = bench("readmissing")
        questions = absent.useful + absent.positive
        rate = absent.positive / questions
        print(f"in-tree: {found} of {asked} present keys found; of {questions} questions of absent keys "
              f"the filters let {absent.positive} pass ({100 * rate:.3f} %)")
        if absent.useful < asked / 2 or rate > MOST_FALSE_POSITIVES:
            fail(1, "that is not what rocksieve.ribbon:10 does")


def look_for_lost_keys(tree, build, log):
    program = build / "oracle"
    must(log, "g++", "-std=c++20", "-O1", f"-I{ROOT}", f"-I{tree / 'include'}",
         ROOT / "integration" / "oracle.cc", "-o", program, build / "librocksdb.a",
         "-ldl", "-lpthread")
    finished = environment.run(program, timeout=1200)
    if finished.code != 0:
        fail(1, f"keys were lost: {finished}")
    cases = finished.out.count("lookups ended at a filter")
    print(f"in-tree: {cases} cases, no key lost")


def main():
    parser = argparse.ArgumentParser(prog="./run test --in-tree=SOURCE", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--build", choices=("cmake", "make"), default="cmake")
    arguments = parser.parse_args()
    source = arguments.source.resolve()
    version = version_of(source) if (source / "include/rocksdb/version.h").is_file() else None
    if version is None:
        fail(2, f"{source} is not RocksDB's source tree: it has no include/rocksdb/version.h with a "
                "version")
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        fail(2, f"RocksDB {version} has no ROCKSDB_PLUGINS for filter policies: 7.2 and later have")
    tree = tree_of_links(source, version)
    log = tree / "in_tree.log"
    print(f"in-tree: building RocksDB {version} with rocksieve by {arguments.build}, in {tree}",
          file=sys.stderr)
    build = (build_by_make if arguments.build == "make" else build_by_cmake)(tree, log)
    check(build / "db_bench")
    look_for_lost_keys(tree, build, log)
    print(f"in-tree: RocksDB {version}, {arguments.build}: passed")


if __name__ == "__main__":
    main()
