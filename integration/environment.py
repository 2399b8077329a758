# SPDX-License-Identifier: Apache-2.0
"""What every integration test needs: the build under test, temporary directories, and programs that
run with a time limit.

ROCKSIEVE_BUILD names the build directory (default: build/ of the repository).
ROCKSIEVE_SEED repeats a run: every test file prints the seed that it used.
ROCKSIEVE_THOROUGH=1 (`./run test --thorough`): also tests with @thorough, and more cases of others.
"""

import atexit
import contextlib
import json
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ROCKSIEVE_BUILD") or ROOT / "build").resolve()
PLUGIN = BUILD / "lib" / "librocksieve.so"
CORE = BUILD / "lib" / "librocksieve_core.a"
COMMAND = BUILD / "bin" / "rocksieve"
HAS_JOIN, HAS_EXPORTER = ((BUILD / "lib" / f"librocksieve_{part}.so").exists()
                          for part in ("join", "exporter"))
BUILT_IN = "bloomfilter:10:false"
# Small buffers, files and levels: a few thousand keys are a tree.
SMALL = ("write_buffer_size=65536;target_file_size_base=65536;max_bytes_for_level_base=262144;"
         "compression=kNoCompression")

# Builds without RocksDB have no plugin, and of these tests only those that need none.
if not CORE.exists():
    sys.exit(f"{CORE} is missing: set ROCKSIEVE_BUILD to the directory of a finished build")
# What librocksieve.so loads, and the RocksDB that it is for: "7.8".
RELEASE_PLUGIN = next(BUILD.glob("lib/librocksieve-*.so"), None)
SERIES = RELEASE_PLUGIN and RELEASE_PLUGIN.stem.split("-")[1]

# db_bench takes a seed of 0 for "none".
SEED = int(os.environ.get("ROCKSIEVE_SEED") or random.SystemRandom().randrange(1, 2**31))
print(f"seed {SEED}; to repeat: ROCKSIEVE_SEED={SEED}", file=sys.stderr)
THOROUGH = os.environ.get("ROCKSIEVE_THOROUGH") == "1"


def thorough(test):
    """Of a test, or a class of them, that only `./run test --thorough` runs."""
    return unittest.skipUnless(THOROUGH, "only in ./run test --thorough")(test)


def _temporary_root():
    """In memory if there is room: what is tested does not depend on the disk, but its time does."""
    if "TMPDIR" in os.environ or not os.access("/dev/shm", os.W_OK):
        return None
    shm = os.statvfs("/dev/shm")
    executable = not shm.f_flag & os.ST_NOEXEC
    return "/dev/shm" if executable and shm.f_bavail * shm.f_frsize > 2**29 else None


class Finished:
    """A program that has ended: its exit code and what it wrote."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        def shortened(text):
            return text if len(text) < 6000 else text[:3000] + "\n[...]\n" + text[-3000:]

        return (f"{' '.join(map(str, self.command))}\nexit code {self.code}\n"
                f"--- stdout\n{shortened(self.out)}\n--- stderr\n{shortened(self.err)}")


def preloadable(library):
    """Its path, or that of a link to it: spaces and colons end a name in LD_PRELOAD."""
    library = pathlib.Path(library)
    if not re.search(r"[ :]", str(library)):
        return str(library)
    directory = tempfile.TemporaryDirectory(prefix="rocksieve-preload-", dir=_temporary_root())
    atexit.register(directory.cleanup)
    link = pathlib.Path(directory.name) / library.name
    link.symlink_to(library)
    return str(link)


def run(*command, preload=(), stdin="", timeout=60, cwd=None, variables=None, before=None):
    """Runs a program to its end, whatever its exit code. `preload` are libraries, in order;
    `before` is called in the new process."""
    environment = dict(os.environ, LC_ALL="C", **(variables or {}))
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = ":".join(map(preloadable, preload))
    # A session of its own, so that a time-out ends the program's children as well.
    process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True,
                               preexec_fn=before)
    try:
        out, err = process.communicate(stdin.encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        finished = Finished(command, None, text_of(out), text_of(err))
        raise AssertionError(f"not done after {timeout} seconds: {finished}") from None
    return Finished(command, process.returncode, text_of(out), text_of(err))


def run_ok(*command, **settings):
    """The same for a program that must succeed."""
    finished = run(*command, **settings)
    if finished.code != 0:
        raise AssertionError(f"failed: {finished}")
    return finished


def load(database, lines, *flags, spec="rocksieve.bloom:10"):
    """What the command's `load` makes of the lines, or of one text that is all of them."""
    text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
    run_ok(COMMAND, "load", f"--db={database}", f"--spec={spec}", "--input=-", *flags, stdin=text)


def random_rows(count, value_bytes=20):
    """Text of rows in no order."""
    chance = random.Random(SEED)
    return "".join(f"{chance.randrange(10**9):09}\t{'v' * value_bytes}\n" for _ in range(count))


def document(*words, code=0, program=COMMAND, **settings):
    """What the command says in JSON, and nothing else; `code` is None where any will do."""
    finished = run(program, *words, "--json", **settings)
    if finished.err or code not in (None, finished.code):
        raise AssertionError(f"not {code}: {finished}")
    return json.loads(finished.out)


def traces(directory):
    """What changes with anything that is written there."""
    return {path: (path.stat().st_size, path.stat().st_mtime_ns)
            for path in [directory, *directory.rglob("*")]}


def lines_on_terminal(columns, *command, cwd=None, timeout=60, stream="stderr"):
    """What a program that must succeed draws on that stream, if it is a terminal so wide: line by
    line, each as it was before the next took its place."""
    other = {"stderr": "1", "stdout": "2"}[stream]
    shell = f"stty cols {columns}; {shlex.join(map(str, command))} </dev/null {other}>/dev/null"
    finished = run("script", "-qe", "-E", "never", "-c", shell, "/dev/null", cwd=cwd, timeout=timeout)
    if "pseudo-terminal" in finished.err:  # in containers /dev/pts may not be mounted
        raise unittest.SkipTest(f"no terminal can be had: {finished.err}")
    if finished.code != 0:
        raise AssertionError(f"failed: {finished}")
    return [line.replace("\x1b[K", "") for line in re.split("[\r\n]+", finished.out)]


def pairs_of_scan(printed):
    """The pairs that `ldb scan` printed: "key : value", and since RocksDB 9 "key ==> value"."""
    return [tuple(re.split(" (?::|==>) ", line, maxsplit=1)) for line in printed.split("\n") if line]


def text_of(output):
    return output.decode("utf-8", "backslashreplace")


def compile_program(source, executable, *flags, compiler="g++"):
    """Compiles a file, or the text of one, against the build tree. The program finds the build's
    libraries when it runs."""
    if isinstance(source, str):
        text, source = source, executable.with_suffix(".cc" if compiler == "g++" else ".c")
        source.write_text(text)
    standard = "-std=c++17" if compiler == "g++" else "-std=c11"
    run_ok(compiler, standard, "-Wall", "-Wextra", f"-I{ROOT / 'include'}", source,
           "-o", executable, f"-L{BUILD / 'lib'}", f"-Wl,-rpath,{BUILD / 'lib'}", *flags,
           timeout=120)
    return executable


def wait_for(condition, seconds=30, what="it"):
    """The first thing that the function returns and that is not false."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            result = condition()
        except OSError as error:  # URLError is one
            result, what = None, f"{what} ({error})"
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about in {seconds} seconds")
        time.sleep(0.05)


class Sandbox(unittest.TestCase):
    """A test case with a temporary directory for the whole class, and one for each test."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.class_directory = cls._temporary_directory(cls.addClassCleanup)

    def setUp(self):
        self.directory = self._temporary_directory(self.addCleanup)

    def spawn(self, *command, **settings):
        """A program that ends with the test, if not before."""
        process = subprocess.Popen([str(word) for word in command], **settings)

        def stop():
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                with contextlib.suppress(OSError):  # what it has not read
                    stream.close()

        self.addCleanup(stop)
        return process

    def assert_refused(self, message, *words, **settings):
        """Exit code 2, nothing on the standard output, and the message among what is said."""
        finished = run(COMMAND, *words, **settings)
        self.assertEqual((2, ""), (finished.code, finished.out), finished)
        self.assertIn(message, finished.err)
        return finished.err

    @staticmethod
    def _temporary_directory(add_cleanup):
        directory = tempfile.TemporaryDirectory(prefix="rocksieve-test-", dir=_temporary_root())
        add_cleanup(directory.cleanup)
        return pathlib.Path(directory.name)
