#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --node: the package for npm, with the plugin for the releases of RocksDB below, into
build/packages-node."""

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin"))
import releases  # noqa: E402

BUILDS = ("9.7.4", "10.5.1", "11.8.1")
WORK = ROOT / "build" / "node" / "rocksieve"
PACKAGES = ROOT / "build" / "packages-node"


def main():
    if not shutil.which("npm"):
        sys.exit("package: npm is needed: apt-get install npm")
    releases.version_of(ROOT / "plugin" / "node" / "package.json", '"version": "%s"')
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT / "plugin" / "node", WORK, ignore=shutil.ignore_patterns("*.py"))
    for name in ("LICENSE", "NOTICE"):
        shutil.copy2(ROOT / name, WORK)
    (WORK / "lib").mkdir()
    for release in BUILDS:
        libraries = releases.build(release, "rocksieve_plugin", "rocksieve_loader")
        series = release.rsplit(".", 1)[0]
        for name in (f"librocksieve-{series}.so.1", "librocksieve.so"):
            releases.must("strip.log", "strip", "-o", WORK / "lib" / name, libraries / name)
    shutil.rmtree(PACKAGES, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    releases.must("npm.log", "npm", "pack", "--pack-destination", PACKAGES, directory=WORK)
    for package in PACKAGES.iterdir():
        print(f"{package.relative_to(ROOT)}: {package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
