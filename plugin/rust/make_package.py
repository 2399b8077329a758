#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --rust: the crate, with the plugin's sources, into build/packages-rust."""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin"))
import releases  # noqa: E402

WORK = ROOT / "build" / "rust" / "rocksieve"
PACKAGES = ROOT / "build" / "packages-rust"


def with_headers(sources):
    """The sources and all that they include from here."""
    found, todo = set(), list(sources)
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        for quoted, angled in re.findall(r'^#include (?:"([^"]+)"|<([^>]+)>)',
                                         (ROOT / path).read_text(), re.MULTILINE):
            places = ([quoted, str(pathlib.Path(path).parent / quoted)] if quoted
                      else [f"include/{angled}"])
            todo += [place for place in places if (ROOT / place).is_file()]
    return found


def main():
    if not shutil.which("cargo"):
        sys.exit("package: cargo 1.88 or later is needed, for example Debian's package cargo-web")
    version = releases.version_of(ROOT / "plugin" / "rust" / "Cargo.toml",
                                  'name = "rocksieve"\nversion = "%s"')
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT / "plugin" / "rust", WORK, ignore=shutil.ignore_patterns("*.py"))
    sources = re.search(r"^rocksieve_SOURCES = (.+)$", (ROOT / "rocksieve.mk").read_text(), re.MULTILINE)
    for path in sorted(with_headers(sources[1].split()) | {"rocksieve.mk"}):
        (WORK / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, WORK / "source" / path)
    # One header, under the BSD licence that stands in it.
    (WORK / "source" / "xxhash").mkdir()
    shutil.copy2("/usr/include/xxhash.h", WORK / "source" / "xxhash")
    for name in ("LICENSE", "NOTICE"):
        shutil.copy2(ROOT / name, WORK)
    # It is compiled when it is tried: ./run test --languages=rust.
    finished = subprocess.run(["cargo", "package", "--quiet", "--no-verify", "--allow-dirty",
                               "--manifest-path", WORK / "Cargo.toml", "--target-dir",
                               WORK.parent / "target"])
    if finished.returncode != 0:
        sys.exit("package: cargo package failed")
    shutil.rmtree(PACKAGES, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    package = shutil.copy2(WORK.parent / "target" / "package" / f"rocksieve-{version}.crate", PACKAGES)
    print(f"{pathlib.Path(package).relative_to(ROOT)}: {pathlib.Path(package).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
