#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run test --languages[=NAME,...] and --engines: rocksieve in other languages, as people install it.

  languages.py [NAME...]

For each language (go, java, node, python, rust; all, if none is named; further, engines) the package is made
as ./run package makes it, and installed into a fresh folder below build/languages, beside the RocksDBs that
the language's registry has. There the examples and tests run. It needs the language's tools, a C++ compiler,
and the registries.

Exit codes: 0 all passed, 1 something failed, 2 bad usage or something is missing.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "languages"
sys.path.insert(0, str(ROOT / "plugin"))
import releases  # noqa: E402


def run(what, *command, directory, must_print="", **variables):
    """Runs a command in the directory, and returns what it wrote, in which `must_print` has to be."""
    began = time.monotonic()
    finished = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=3600, cwd=directory,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, **variables))
    log = WORK / (what.replace(" ", "_").replace("/", "_") + ".log")
    log.write_text(finished.stdout)
    if finished.returncode != 0 or must_print not in finished.stdout:
        print(f"languages: {what} failed ({finished.returncode}), the end of {log}:\n"
              f"{finished.stdout[-6000:]}", file=sys.stderr)
        sys.exit(1)
    print(f"languages: {what}: passed, {time.monotonic() - began:.0f} s", flush=True)
    return finished.stdout


def fresh_copy(source, name):
    """A copy of what the repository has, where nothing else of it is."""
    directory = WORK / name
    shutil.rmtree(directory, ignore_errors=True)
    return pathlib.Path(shutil.copytree(ROOT / source, directory))


def go():
    """grocksdb with the system's librocksdb, of which it has to be the release: Debian 12's."""
    libraries = WORK / "go-libraries"
    releases.must("go.log", "cmake", "-S", ROOT, "-B", libraries, "-G", "Ninja", "-DROCKSIEVE_TESTS=OFF",
                  "-DROCKSIEVE_BENCH=OFF", "-DROCKSIEVE_TRANSPORT=OFF", "-DROCKSIEVE_JOIN=OFF",
                  "-DROCKSIEVE_EXPORTER=OFF")
    releases.must("go.log", "cmake", "--build", libraries, "--target", "rocksieve_plugin",
                  "rocksieve_loader")
    example = fresh_copy("examples/go", "go")
    places = {"CGO_CFLAGS": f"-I{ROOT}/include",
              "CGO_LDFLAGS": f"-L{libraries}/lib -Wl,-rpath,{libraries}/lib"}
    run("go tests", "go", "test", "-count=1", "./...", directory=example, must_print="ok ", **places)
    run("go example", "go", "run", ".", example / "database", directory=example,
        must_print="1000 keys in a file", **places)


# What the registry had newest on 2026-11-27, and what Kafka Streams and Flink bring.
ROCKSDBJNI = ("7.9.2", "8.10.0", "9.7.3", "9.7.4", "10.1.3", "10.10.1", "11.8.1")
KAFKA = {"3.9.2": "7.9.2", "4.1.2": "9.7.3", "4.4.0": "10.1.3"}
FLINK = "2.3.0"


def java():
    run("java package", ROOT / "plugin" / "java" / "make_package.py", directory=ROOT)
    repository = WORK / "maven"  # kept, since it is half a gigabyte
    shutil.rmtree(repository / "org" / "rocksieve", ignore_errors=True)
    maven = ("mvn", "-B", "-q", f"-Dmaven.repo.local={repository}")
    packages = ROOT / "build" / "packages-java"
    jar = next(packages.glob("rocksieve-*[0-9].jar"))
    run("java install", *maven, "install:install-file", f"-Dfile={jar}",
        f"-DpomFile={jar.with_suffix('.pom')}", directory=WORK)
    tests = fresh_copy("integration/java", "java")
    example = fresh_copy("examples/java", "java-example")
    for release in ROCKSDBJNI:
        run(f"java rocksdbjni {release}", *maven, "-Procksjava", f"-Drocksdb={release}", "clean", "test",
            directory=tests)
    for release in ROCKSDBJNI[-2:]:
        print(run(f"java example {release}", *maven, "compile", "exec:java", "-Dexec.mainClass=Example",
                  f"-Drocksdb={release}", directory=example, must_print="rocksieve.ribbon:10"))
    for release, rocksdb in KAFKA.items():
        # Before Kafka 4.4 TopologyTestDriver flushes a store after each record.
        which = "*Test" if release == list(KAFKA)[-1] else "RestoreTest"
        run(f"java Kafka Streams {release} with rocksdbjni {rocksdb}", *maven, "-Pkafka",
            f"-Dkafka={release}", f"-Dtest={which}", "clean", "test", directory=tests)
    run(f"java Flink {FLINK}", *maven, "-Pflink", f"-Dflink={FLINK}", "clean", "test", directory=tests)


# Package of npm, its version, its RocksDB, and the addon.
ADDONS = (
    ("@nxtedition/rocksdb", "12.2.12", "9.7.4", "prebuilds/linux-x64/@nxtedition+rocksdb.node"),
    ("rocksdb-native", "3.18.1", "10.5.1", "prebuilds/linux-x64/rocksdb-native.node"),
    ("@harperfast/rocksdb-js-linux-x64-glibc", "2.10.0", "11.8.1", "rocksdb-js.node"),
)


def node():
    run("node package", ROOT / "plugin" / "node" / "make_package.py", directory=ROOT)
    package = next((ROOT / "build" / "packages-node").glob("*.tgz"))
    work = fresh_copy("integration/node", "node")
    (work / "package.json").write_text('{"private": true}\n')
    run("node install", "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", package,
        *(f"{name}@{version}" for name, version, _, _ in ADDONS), directory=work)
    modules = work / "node_modules"
    for name, version, release, addon in ADDONS:
        look_for_lost_keys(work, release, modules / name / addon, modules / "rocksieve" / "lib")
    example = fresh_copy("examples/node", "node/example")
    run("node example", "node", "example.js", directory=example, must_print="found all 20000 keys")
    for addon, specs in (("@nxtedition/rocksdb", ("bloom:10", "cuckoo:12", "ribbon:10", "auto:10")),
                         ("rocksdb-native", ("bloom:10", "ribbon:10", "auto:10"))):
        for spec in specs:
            databases = work / f"databases-{spec}-{addon.replace('/', '-')}"
            databases.mkdir()
            run(f"node {addon} {spec}", "node", "filters.js", addon, f"rocksieve.{spec}", databases,
                directory=work, must_print="lookups right")
    run("node errors", "node", "errors.js", directory=work, must_print="errors as expected")


def look_for_lost_keys(work, release, addon, libraries):
    """integration/oracle.cc and range_oracle.cc, linked to the addon, by the library in the package."""
    # Addons are found by their path; a program that is linked to one looks for its SONAME.
    named = re.search(r"\(SONAME\).*\[(.+)\]",
                      releases.must("readelf.log", "readelf", "-dW", addon))
    link = work / f"link-{release}" / (named[1] if named else addon.name)
    link.parent.mkdir()
    link.symlink_to(addon)
    for oracle, *parts in (("oracle",), ("range_oracle", "range_walk")):
        program = work / f"{oracle}-{release}"
        # Node's own functions, which the addon calls, are in no library: nothing here calls them.
        releases.must(f"{oracle}.log", "g++", "-std=c++20", "-O1", f"-I{ROOT}",
                      f"-I{releases.headers(release)}", "-DROCKSIEVE_ORACLE_WITHOUT_OPTIONS_FILE",
                      *(ROOT / "integration" / f"{part}.cc" for part in (oracle, *parts)), "-o", program,
                      link, "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-Wl,-z,lazy",
                      f"-Wl,-rpath,{link.parent}")
        run(f"node {oracle}.cc with RocksDB {release}", program, directory=work,
            must_print=f"RocksDB {release};", LD_PRELOAD=str(libraries / "librocksieve.so"))


def python():
    run("python package", ROOT / "lib" / "python" / "make_package.py", directory=ROOT)
    wheel = next((ROOT / "build" / "packages-python").glob("rocksieve-*.whl"))
    tests = fresh_copy("integration/python", "python")
    run("python environment", sys.executable, "-m", "venv", tests / "venv", directory=tests)
    run("python install", tests / "venv" / "bin" / "pip", "install", "-q", wheel, "pyrex-rocksdb==0.6.0",
        "rocksdict==0.3.29", directory=tests)
    run("python tests", tests / "venv" / "bin" / "python", "wheel_test.py", directory=tests,
        must_print="OK")


# What PyPI had newest on 2026-11-28, but for Spark: 4.0, the oldest that is served.
ENGINES = ("pyspark[sql]==4.0.1", "dask[dataframe,distributed]==2026.8.0", "pyarrow==26.0.1",
           "duckdb==2.0.1", "polars==2.1.0")


def engines_environment():
    """The Python of a virtual environment with the engines and both wheels."""
    run("engines package", ROOT / "lib" / "python" / "make_package.py", directory=ROOT)
    environment = WORK / "engines-venv"
    if not environment.exists():
        run("engines environment", sys.executable, "-m", "venv", environment, directory=ROOT)
    pip = environment / "bin" / "pip"
    run("engines install", pip, "install", "-q", *ENGINES, directory=ROOT)
    wheels = sorted((ROOT / "build" / "packages-python").glob("*.whl"))
    run("engines wheels", pip, "install", "-q", "--no-deps", "--force-reinstall", *wheels, directory=ROOT)
    return environment / "bin" / "python"


def engines():
    python = engines_environment()
    tests = fresh_copy("integration/engines", "engines")
    for name in sorted(tests.glob("*_test.py")):
        run(f"engines {name.stem}", python, name.name, directory=tests, must_print="OK")


def rust():
    run("rust package", ROOT / "plugin" / "rust" / "make_package.py", directory=ROOT)
    crate = next((ROOT / "build" / "packages-rust").glob("*.crate"))
    tests = fresh_copy("integration/rust", "rust")
    run("rust unpack", "tar", "xzf", crate, directory=tests)
    (tests / crate.stem).rename(tests / "package")
    # RocksDB is compiled once, a quarter of an hour of processor, for both.
    target = f"--target-dir={WORK / 'rust-target'}"
    run("rust tests", "cargo", "test", "--release", target, directory=tests)
    run("rust documentation", "cargo", "test", "--release", target, directory=tests / "package",
        must_print="Doc-tests rocksieve")
    print(run("rust example", "cargo", "run", "--release", "--quiet", target, "--example", "absent_keys",
              directory=tests / "package", must_print="rocksieve.ribbon:10"))


LANGUAGES = {
    "go": (go, ("go", "g++", "cmake")),
    "java": (java, ("javac", "mvn")),
    "node": (node, ("node", "npm", "g++", "readelf")),
    "python": (python, ("g++", "cmake")),
    "engines": (engines, ("g++", "cmake", "java")),
    "rust": (rust, ("cargo", "g++")),
}


def main():
    parser = argparse.ArgumentParser(prog="./run test --languages", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(LANGUAGES))
    names = parser.parse_args().names or [name for name in LANGUAGES if name != "engines"]
    for name in names:
        if name not in LANGUAGES:
            parser.error(f"no language {name}; there are {', '.join(LANGUAGES)}")
        missing = [tool for tool in LANGUAGES[name][1] if shutil.which(tool) is None]
        if missing:
            parser.error(f"{name} needs {', '.join(missing)}")
    WORK.mkdir(parents=True, exist_ok=True)
    for name in names:
        LANGUAGES[name][0]()


if __name__ == "__main__":
    main()
