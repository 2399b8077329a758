#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run test --npm: rocksieve beside the RocksDBs that three packages of npm bring.

  npm.py [--rocksdb=REPOSITORY]

Each package has a RocksDB inside of an extension of Node (Linux on x86-64 only). For each, the plugin is
built from the headers of that release, and integration/oracle.cc and range_oracle.cc, linked to the
extension, look for lost keys. The headers of one release lie in its package; those of the others are taken from a
clone of RocksDB's repository, with its tags, and without --rocksdb these releases are left out, which
is said. Then examples/node runs in Node itself. What is installed and built goes into build/npm.

Exit codes: 0 all passed, 1 something failed, 2 bad usage or something is missing.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "npm"
MODULES = WORK / "node_modules"


class Package:
    def __init__(self, name, version, rocksdb, extension, headers=None):
        self.name, self.version, self.rocksdb = name, version, rocksdb
        self.extension = MODULES / name / extension
        self.headers = headers and MODULES / name / headers

    @property
    def series(self):
        return ".".join(self.rocksdb.split(".")[:2])


PACKAGES = (
    Package("@nxtedition/rocksdb", "12.2.12", "9.7.4",
            "prebuilds/linux-x64/@nxtedition+rocksdb.node", "deps/rocksdb/rocksdb/include"),
    Package("rocksdb-native", "3.18.1", "10.5.1", "prebuilds/linux-x64/rocksdb-native.node"),
    Package("@harperfast/rocksdb-js-linux-x64-glibc", "2.10.0", "11.8.1", "rocksdb-js.node"),
)


def fail(code, what):
    print(f"npm: {what}", file=sys.stderr)
    sys.exit(code)


def must(log, *command, variables=None, directory=None):
    """Runs a command and returns what it wrote."""
    finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=3600, cwd=directory,
                              env=dict(os.environ, **(variables or {})))
    with open(WORK / log, "a", encoding="utf-8") as file:
        file.write(finished.stdout)
    if finished.returncode != 0:
        fail(1, f"{command[0]} ended with {finished.returncode}, the end of {WORK / log}:\n"
                f"{finished.stdout[-4000:]}")
    return finished.stdout


def install():
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "package.json").write_text('{"private": true}\n')
    print(f"npm: packages into {WORK}", file=sys.stderr)
    must("install.log", "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
         *(f"{package.name}@{package.version}" for package in PACKAGES), directory=WORK)


def headers_of(package, repository):
    if package.headers:
        return package.headers
    if repository is None:
        return None
    directory = WORK / f"headers-{package.rocksdb}"
    if not (directory / "include" / "rocksdb" / "version.h").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        archive = subprocess.run(["git", "-C", repository, "archive", f"v{package.rocksdb}", "include"],
                                 capture_output=True)
        if archive.returncode != 0:
            fail(2, f"{repository} has no tag v{package.rocksdb}: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "x", "-C", directory], input=archive.stdout, check=True)
    return directory / "include"


def build(package, headers):
    """Returns the directory with the plugin's libraries."""
    directory = WORK / f"build-{package.rocksdb}"
    log = f"build-{package.rocksdb}.log"
    must(log, "cmake", "-S", ROOT, "-B", directory, "-G", "Ninja",
         f"-DROCKSIEVE_ROCKSDB_INCLUDE={headers}")
    must(log, "cmake", "--build", directory)
    return directory / "lib"


def under_its_own_name(package):
    """Extensions are found by their path; a program that is linked to one looks for its SONAME."""
    named = re.search(r"\(SONAME\).*\[(.+)\]",
                      must("readelf.log", "readelf", "-dW", package.extension))
    directory = WORK / f"link-{package.rocksdb}"
    directory.mkdir(exist_ok=True)
    link = directory / (named[1] if named else package.extension.name)
    link.unlink(missing_ok=True)
    link.symlink_to(package.extension)
    return link


def look_for_lost_keys(package, headers, libraries):
    """How many cases the oracle had, and what the range oracle said."""
    extension = under_its_own_name(package)
    said = []
    for oracle, *parts in (("oracle",), ("range_oracle", "range_walk")):
        program = WORK / f"{oracle}-{package.rocksdb}"
        log = f"{oracle}-{package.rocksdb}.log"
        # Node's own functions, which the extension calls, are in no library: nothing here calls them.
        must(log, "g++", "-std=c++20", "-O1", f"-I{ROOT}", f"-I{headers}",
             "-DROCKSIEVE_ORACLE_WITHOUT_OPTIONS_FILE",
             *(ROOT / "integration" / f"{part}.cc" for part in (oracle, *parts)), "-o", program, extension, "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-Wl,-z,lazy",
             f"-Wl,-rpath,{extension.parent}")
        out = must(log, program, variables={"LD_PRELOAD": str(libraries / "librocksieve.so")})
        if f"RocksDB {package.rocksdb};" not in out:
            fail(1, f"{package.name} has another RocksDB than {package.rocksdb}: {out}")
        said.append(out)
    return said[0].count("lookups ended at a filter"), said[1].splitlines()[-1]


def run_example(package, libraries):
    out = must("node.log", "node", ROOT / "examples" / "node" / "example.js",
               libraries / "librocksieve.so", variables={"NODE_PATH": str(MODULES)})
    if "found all 20000 keys" not in out:
        fail(1, f"examples/node printed {out}")


def main():
    parser = argparse.ArgumentParser(prog="./run test --npm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rocksdb", type=pathlib.Path, metavar="REPOSITORY")
    arguments = parser.parse_args()
    for program in ("node", "npm", "git"):
        if shutil.which(program) is None:
            fail(2, f"{program} is needed: apt-get install nodejs npm git")
    install()
    left_out = []
    for package in PACKAGES:
        headers = headers_of(package, arguments.rocksdb)
        if headers is None:
            left_out.append(package)
            continue
        libraries = build(package, headers)
        cases, ranges = look_for_lost_keys(package, headers, libraries)
        print(f"npm: RocksDB {package.rocksdb} in {package.name} {package.version}: {cases} cases, "
              f"no key lost; ranges: {ranges}", flush=True)
        if package.headers:
            run_example(package, libraries)
            print("npm: examples/node: passed", flush=True)
    for package in left_out:
        print(f"npm: RocksDB {package.rocksdb} in {package.name} was left out: its headers are not in "
              "the package; give --rocksdb=CLONE_OF_ROCKSDB")


if __name__ == "__main__":
    main()
