#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run package --java: the jar, its sources and its documentation, into build/packages-java.

The jar has the plugin for each release of RocksDB below, as Maven's org.rocksdb:rocksdbjni has it, and
Flink's fork of it. Those up to 10.10 were built with the std::string from before GCC 5.
"""

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin"))
import releases  # noqa: E402

# The first release of rocksdbjni whose std::string is today's is 11.8.1, as far as served.
BUILDS = (("7.9.2", True), ("8.10.0", True), ("9.7.3", True), ("10.1.3", True), ("10.10.1", True),
          ("11.8.1", False))
WORK = ROOT / "build" / "java"
PACKAGES = ROOT / "build" / "packages-java"


def jni_include():
    compiler = shutil.which("javac")
    home = compiler and pathlib.Path(compiler).resolve().parent.parent
    if not home or not (home / "include" / "jni.h").exists() or not shutil.which("mvn"):
        sys.exit("package: a JDK of Java 17 and Maven are needed: "
                 "apt-get install openjdk-17-jdk-headless maven")
    return home / "include"


def main():
    pom = ROOT / "plugin" / "java" / "pom.xml"
    version = releases.version_of(pom, "<artifactId>rocksieve</artifactId>\n  <version>%s</version>")
    natives = WORK / "natives" / "linux-x86_64"
    shutil.rmtree(WORK, ignore_errors=True)
    natives.mkdir(parents=True)
    for release, old_strings in BUILDS:
        series = release.rsplit(".", 1)[0]
        libraries = releases.build(release, "rocksieve_java_plugin", "rocksieve_java_finder",
                                   old_strings=old_strings, jni_include=jni_include()) / "java"
        plugin = f"librocksieve-{series}{'-old-strings' if old_strings else ''}.so"
        for name in (plugin, "librocksieve_jni.so"):
            shutil.copy2(libraries / name, natives)
    (natives / "builds.txt").write_text("".join(
        f"{release.rsplit('.', 1)[0]}{' with old strings' if old else ''}\n" for release, old in BUILDS))
    print("building the jar", file=sys.stderr)
    releases.must("maven.log", "mvn", "-B", "-q", "-f", pom, f"-Dnatives={WORK / 'natives'}",
                  f"-Dwork={WORK / 'maven'}", "package")
    shutil.rmtree(PACKAGES, ignore_errors=True)
    PACKAGES.mkdir(parents=True)
    for kind in ("", "-sources", "-javadoc"):
        shutil.copy2(WORK / "maven" / f"rocksieve-{version}{kind}.jar", PACKAGES)
    shutil.copy2(pom, PACKAGES / f"rocksieve-{version}.pom")
    for package in sorted(PACKAGES.iterdir()):
        print(f"{package.relative_to(ROOT)}: {package.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
