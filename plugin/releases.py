# SPDX-License-Identifier: Apache-2.0
"""The plugin for releases of RocksDB that are not installed: from their headers, which packages of
crates.io have.

Needs a C++ compiler, cmake, ninja and libxxhash-dev. What is fetched and built goes into build/releases.
"""

import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "releases"

# Release of RocksDB: the crate, its version, and its SHA-256.
CRATES = {
    "7.9.2": ("librocksdb-sys", "0.10.0+7.9.2",
              "0fe4d5874f5ff2bc616e55e8c6086d478fcda13faf9495768a4aa1c22042d30b"),
    "8.10.0": ("librocksdb-sys", "0.16.0+8.10.0",
               "ce3d60bc059831dc1c83903fb45c103f75db65c5a7bf22272764d9cc683e348c"),
    "9.7.3": ("rust-librocksdb-sys", "0.28.0+9.7.3",
              "b91b2caa438327a23244d87d00ea8dacb160720f76c055e32c0a4d6d973394bf"),
    "9.7.4": ("rust-librocksdb-sys", "0.29.0+9.7.4",
              "7431f14c28485bd13140e5b27298c22a3b96a0cc9f60a4f5318ae782b7288e9c"),
    "10.1.3": ("rust-librocksdb-sys", "0.36.0+10.1.3",
               "21cab9b39797aece5d2c58cdbbc87c225075074383fe095c9cc94450cf6410d3"),
    "10.5.1": ("rust-librocksdb-sys", "0.39.0+10.5.1",
               "29bd25c12159c153158008a67cb95a879b09e317c7be19362c7c1a833611844c"),
    "10.7.5": ("rust-librocksdb-sys", "0.40.0+10.7.5",
               "c00d2a200a5d3a21d9c2d39785d8542b2226cf3d132976c04f32eae31d3c0394"),
    "10.10.1": ("rust-librocksdb-sys", "0.42.0+10.10.1",
                "6522f8dfc02acd618477cd9aa94234f6a823ce578bba66215f15df8cb09a97d5"),
    "11.8.1": ("rust-librocksdb-sys", "0.48.1+11.8.1",
               "8b206e7f3519b9ab5f791603a6a93227071e1f13b0be01d7b36fcd0fad32bdfa"),
}


def version_of(description, pattern):
    """The version in CMakeLists.txt, which a package's description has as well: by the pattern, in which
    %s stands for it. Ends the program if it has another one."""
    version = re.search(r"project\(rocksieve VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    if pattern % version not in description.read_text():
        sys.exit(f"package: {description} has another version than CMakeLists.txt, {version}")
    return version


def must(log, *command, variables=None, directory=None):
    """Runs a command, its output into a file of WORK, and returns what it wrote. Ends the program if it
    fails."""
    finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=3600, cwd=directory,
                              env=dict(os.environ, **(variables or {})))
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / log, "a", encoding="utf-8") as file:
        file.write(finished.stdout)
    if finished.returncode != 0:
        sys.exit(f"{command[0]} ended with {finished.returncode}, the end of {WORK / log}:\n"
                 f"{finished.stdout[-4000:]}")
    return finished.stdout


def headers(release):
    """The directory that has rocksdb/version.h of the release."""
    directory = WORK / f"headers-{release}"
    if directory.exists():
        return directory
    crate, version, expected = CRATES[release]
    address = f"https://static.crates.io/crates/{crate}/{crate}-{version}.crate"
    print(f"headers of RocksDB {release}: {address}", file=sys.stderr)
    with urllib.request.urlopen(address, timeout=300) as response:
        archive = response.read()
    if hashlib.sha256(archive).hexdigest() != expected:
        sys.exit(f"{address} is not the file that it was: SHA-256 "
                 f"{hashlib.sha256(archive).hexdigest()} instead of {expected}")
    unfinished = WORK / f"headers-{release}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    top = f"{crate}-{version}/rocksdb/include/"
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if not member.isfile() or not member.name.startswith(top) or ".." in member.name:
                continue
            file = unfinished / member.name[len(top):]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(tar.extractfile(member).read())
    unfinished.rename(directory)
    return directory


def build(release, *targets, old_strings=False, jni_include=""):
    """Builds the targets for the release. Returns the directory of the libraries: those of other
    releases are in it as well."""
    directory = WORK / ("build-old-strings" if old_strings else "build")
    log = f"{directory.name}-{release}.log"
    print(f"building for RocksDB {release}", file=sys.stderr)
    must(log, "cmake", "-S", ROOT, "-B", directory, "-G", "Ninja",
         f"-DROCKSIEVE_ROCKSDB_INCLUDE={headers(release)}", f"-DROCKSIEVE_JNI_INCLUDE={jni_include}",
         f"-DROCKSIEVE_OLD_STRINGS={'ON' if old_strings else 'OFF'}")
    must(log, "cmake", "--build", directory, "--target", *targets)
    return directory / "lib"
