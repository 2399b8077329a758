# SPDX-License-Identifier: Apache-2.0
"""`rocksieve distinct` and `rocksieve filter`: commands for pipes."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import unittest

from environment import COMMAND, SEED, Sandbox, document, lines_on_terminal, run, run_ok, thorough

SPECS = ("rocksieve.bloom:10", "rocksieve.cuckoo:12.5:salted", "rocksieve.ribbon:1%",
         "rocksieve.range:14")
BLOOM = "--spec=rocksieve.bloom:10"


def piped(*words, data=b"", timeout=60):
    """Exit code, standard output and error, as bytes: text need not be UTF-8."""
    finished = subprocess.run([COMMAND, *map(str, words)], input=data, capture_output=True,
                              timeout=timeout)
    return finished.returncode, finished.stdout, finished.stderr.decode()


def lines_of(keys):
    return keys if isinstance(keys, bytes) else b"".join(key + b"\n" for key in keys)


class Filters(Sandbox):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "filter"

    def build(self, keys, *flags, spec="rocksieve.ribbon:1%"):
        code, out, err = piped("filter", "build", f"--spec={spec}", "-o", self.file, "--json",
                               *flags, data=lines_of(keys))
        self.assertEqual((0, ""), (code, err))
        return json.loads(out)

    def query(self, keys, *flags, code=None):
        found_code, out, err = piped("filter", "query", self.file, *flags, data=lines_of(keys))
        self.assertEqual("", err)
        self.assertEqual(code if code is not None else (0 if out else 1), found_code)
        return out

    def refused(self, message, *words, data=b"", command="filter"):
        code, out, err = piped(command, *words, data=data)
        self.assertEqual((2, b""), (code, out), err)
        self.assertIn(message, err)


class Queries(Filters):
    def test_every_line_that_was_in_comes_out_and_few_others(self):
        present = [b"key%d" % i for i in range(5000)]
        absent = [b"other%d" % i for i in range(5000)]
        for spec in SPECS:
            with self.subTest(spec=spec):
                built = self.build(present, spec=spec)
                self.assertEqual((5000, 5000, self.file.stat().st_size, 0), tuple(
                    built[key] for key in ("lines", "filter_keys", "filter_bytes",
                                           "saturated_fraction")))
                self.assertEqual(lines_of(present), self.query(present))
                passed = self.query(absent).count(b"\n")
                self.assertLess(passed, 5000 * 0.03)
                rest = self.query(present + absent, "--invert")
                self.assertEqual(5000 - passed, rest.count(b"\n"))
                self.assertNotIn(b"key", rest)
                self.assertEqual(b"%d\n" % (5000 + passed), self.query(present + absent, "--count"))
                # Inspect knows a filter that is a file by itself.
                found = document("inspect", self.file, "--hex")
                self.assertEqual((True, 5000, built["filter_bytes"], spec.split(":")[0]), tuple(
                    found[key] for key in ("ok", "filter_keys", "filter_bytes", "family")))
                self.assertAlmostEqual(found["predicted_false_positive_rate"],
                                       found["probed_false_positive_rate"], delta=0.004)
                self.assertEqual(self.file.read_bytes().hex(),
                                 found["blocks"][0]["bytes_hex"].removeprefix("0x").lower())
        words = run_ok(COMMAND, "inspect", self.file).out
        self.assertIn("bytes, a filter by itself\n", words)
        self.assertIn("5,000 keys", words)

    def test_any_bytes(self):
        """Lines are bytes: no encoding, no CR, NUL or empty line is special."""
        chance = random.Random(SEED)
        keys = [b"", b"\r", b"\0", b" ", b"\xff\xfe", b"x" * 1_000_000]
        keys += [chance.randbytes(chance.randrange(40)).replace(b"\n", b"") for _ in range(2000)]
        for spec in SPECS:
            self.build(keys, spec=spec)
            self.assertEqual(lines_of(keys), self.query(keys))
        self.build(b"a\nb")
        self.assertEqual(b"b\n", self.query(b"b"))

    def test_escaped_lines_are_the_bytes_that_they_mean(self):
        escaped = lines_of([b"a\\nb", b"a\\tb", b"\\\\", b"\\0", b"\\r\\n"])
        self.build(escaped, "--escaped", spec="rocksieve.bloom:20")
        self.assertEqual(escaped, self.query(escaped, "--escaped"))
        # Also for those who know the bytes themselves.
        self.assertEqual(b"\0\n\\\na\tb\n", self.query([b"\0", b"\\", b"a\tb"]))
        for words in (("build", BLOOM, f"--output={self.file}2"), ("query", self.file)):
            self.refused("line 2: with --escaped, after a backslash stands one of",
                         *words, "--escaped", data=b"b\na\\x\n")

    def test_input_files_and_no_keys(self):
        keys = self.directory / "keys"
        keys.write_bytes(b"a\nb\n")
        self.build(b"", f"--input={keys}")
        first = self.file.read_bytes()
        self.assertEqual(b"a\nb\n", self.query(b"", f"--input={keys}"))
        self.refused("No such file", "query", self.file, "--input=nowhere")
        self.build([b"a", b"b"])
        self.assertEqual(first, self.file.read_bytes())
        built = self.build(b"")
        self.assertEqual((0, None), (built["filter_keys"], built["bits_per_key"]))
        self.assertEqual(0, document("inspect", self.file)["keys"])
        self.assertEqual(b"", self.query([b"a", b""], code=1))

    def test_exit_codes_are_those_of_grep(self):
        self.build([b"a"])
        for keys, flags, code, out in (
                ([b"a"], (), 0, b"a\n"), ([b"b"], (), 1, b""), (b"", (), 1, b""),
                ([b"b"], ("--count",), 1, b"0\n"), ([b"b"], ("--count", "--invert"), 0, b"1\n")):
            self.assertEqual(out, self.query(keys, *flags, code=code))
        for keys, code, found in (([b"a", b"b"], 0, (2, 1, False)), ([b"b"], 1, (1, 0, False))):
            said = json.loads(self.query(keys, "--json", code=code))
            self.assertEqual(found, (said["lines"], said["matches"], said["inverted"]))

    def test_usage(self):
        output = f"--output={self.file}"
        for words, message in ((("build", BLOOM), "needs --spec=SPEC"),
                               (("build", output), "needs --spec=SPEC"),
                               (("build", BLOOM, output, "more"), "what is more?"),
                               (("build", BLOOM, output, "--count"), "are for filter query"),
                               (("build", BLOOM, output, "--invert"), "are for filter query"),
                               (("build", "--spec=rocksieve.blom:10", output), "blom"),
                               (("build", "--spec=rocksieve.auto:10", output), "auto"),
                               (("query",), "needs the FILE"),
                               (("query", self.file, BLOOM), "for filter build"),
                               (("query", self.file, "--count", "--json"), "without --count"),
                               (("show", self.file), "neither build nor query"),
                               ((), "build|query is required")):
            with self.subTest(words=words):
                self.refused(message, *words)
        self.assertFalse(self.file.exists())


class Files(Filters):
    def test_a_damaged_filter_is_an_error(self):
        """A program may take it for "may be there"; whoever asks on a command line is told."""
        self.build([b"%d" % i for i in range(200)])
        block = self.file.read_bytes()
        chance = random.Random(SEED)
        for place in [*range(0, len(block), 37), *(chance.randrange(len(block)) for _ in range(9))]:
            damaged = bytearray(block)
            damaged[place] ^= 1 << chance.randrange(8)
            self.file.write_bytes(damaged)
            code, out, err = piped("filter", "query", self.file, data=b"1\n")
            self.assertEqual((2, b""), (code, out), place)
            self.assertRegex(err, r"filter is a damaged filter|filter is not a filter|later version")
        for place, what in ((0, "head magic"), (40, "check word"), (-9, "tail magic"), (-1, "trailer")):
            damaged = bytearray(block)
            damaged[place] ^= 1
            self.file.write_bytes(damaged)
            finished = run(COMMAND, "inspect", self.file)
            self.assertEqual(1, finished.code, finished)
            self.assertRegex(finished.out, f"(?s)the filter is damaged.*its {what} is .*filter build")
        self.file.write_bytes(block[:-1])
        self.refused("is a damaged filter", "query", self.file)
        for content in (b"", b"\n", b"\0" * 100, os.urandom(5000)):
            self.file.write_bytes(content)
            self.refused("is not a filter of rocksieve", "query", self.file)
        os.mkfifo(self.directory / "pipe")
        for message, path in (("No such file", "none"), ("Is a directory", ""),
                              ("no regular file", "pipe")):
            self.refused(message, "query", self.directory / path)

    def test_the_old_filter_stays_until_the_new_one_is_complete(self):
        self.build([b"old"])
        before = self.file.read_bytes()
        process = self.spawn(COMMAND, "filter", "build", BLOOM, "-o", self.file, stdin=subprocess.PIPE,
                             stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"new\n" * 100_000)
        process.stdin.flush()
        self.assertEqual(before, self.file.read_bytes())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((-signal.SIGINT, b"", b""), (process.returncode, out, err))
        self.assertEqual(before, self.file.read_bytes())
        self.assertEqual([self.file], list(self.directory.iterdir()))

    def test_where_nothing_can_be_written(self):
        self.refused("nowhere", "build", BLOOM, f"--output={self.directory / 'nowhere' / 'filter'}",
                     data=b"a\n")

    def test_output_that_nobody_takes(self):
        keys = self.directory / "keys"
        keys.write_text("".join(f"{i}\n" for i in range(300_000)))
        self.build(keys.read_bytes())
        query = f"'{COMMAND}' filter query '{self.file}' --input='{keys}'"
        # As other programs of pipes: not a word, and by SIGPIPE.
        finished = run("bash", "-c", f"{query} | head -n 2; echo ${{PIPESTATUS[0]}}")
        self.assertEqual(("0\n1\n141\n", ""), (finished.out, finished.err))

    def test_words(self):
        finished = run_ok(COMMAND, "filter", "build", BLOOM, f"--output={self.file}",
                          stdin="".join(f"{i}\n" for i in range(1000)))
        self.assertRegex(finished.out, r"filter: 1,\d{3} bytes for 1,000 keys, 1\d\.\d\d bits per key; "
                                       r"[\d.]+ % of other lines pass\.\n")

    @thorough
    def test_little_memory(self):
        """8 bytes per key, up to 21 while the filter is built, as its help says."""
        for lines, code in ((1_000_000, 0), (30_000_000, 2)):
            finished = run("bash", "-c", f"ulimit -v 300000; seq {lines} | \"$@\"", "-", COMMAND, "filter",
                           "build", BLOOM, f"--output={self.file}{code}")
            self.assertEqual(code, finished.code, finished)
        self.assertIn("out of memory: give it fewer keys", finished.err)
        self.assertFalse(pathlib.Path(f"{self.file}2").exists())


class Distinct(Filters):
    def count(self, data, *flags):
        code, out, err = piped("distinct", "--json", *flags, data=data)
        self.assertEqual((0, ""), (code, err))
        return json.loads(out)

    def test_small_counts_are_exact(self):
        for data, distinct, lines in ((b"", 0, 0), (b"\n", 1, 1), (b"a\nb\na\n", 2, 3),
                                      (b"a\na\n\n\0\n\xff", 4, 5), (b"a\r\na\n", 2, 2)):
            found = self.count(data)
            self.assertEqual((distinct, distinct, distinct, lines, True, 0, len(data)), tuple(
                found[key] for key in ("distinct", "low_95", "high_95", "lines", "exact",
                                       "standard_error", "input_bytes")))
            self.assertEqual(distinct, self.count(data, "--estimator=hyper-log-log")["distinct"])
        for flags, distinct in (("--escaped",), 1), ((), 2):
            self.assertEqual(distinct, self.count(b"a\\tb\na\tb\n", *flags)["distinct"])

    def test_large_counts_are_as_far_off_as_it_says(self):
        data = b"".join(b"%d\n" % (i % 200_000) for i in range(300_000))
        for estimator in ("k-minimum-values", "hyper-log-log"):
            for error in (0.5, 3, 20):
                with self.subTest(estimator=estimator, error=error):
                    found = self.count(data, f"--estimator={estimator}", f"--error={error}%")
                    self.assertTrue(0 < found["standard_error"] <= 1.1 * error / 100 * 200_000)
                    # By the seed of the hash, which is constant: these either hold or do not.
                    self.assertLess(abs(found["distinct"] - 200_000), 4 * error / 100 * 200_000)
                    self.assertTrue(found["low_95"] < found["distinct"] < found["high_95"])
                    limit = 1e4 / error ** 2 * (17 if estimator[0] == "k" else 2.2)
                    self.assertLess(found["memory_bytes"], limit + 300)

    def test_words(self):
        self.assertEqual("2 distinct of 3 lines, exactly.\nCounted by k-minimum-values in",
                         run_ok(COMMAND, "distinct", stdin="a\nb\na\n").out[:62])
        out = run_ok(COMMAND, "distinct", "--error=10%",
                     stdin="".join(f"{i}\n" for i in range(9999))).out
        self.assertRegex(out, r"^[\d,]+ distinct of 9,999 lines, standard error [\d,]+ \([\d.]+ %\); "
                              r"95 %: [\d,]+ to [\d,]+\.\n")

    def test_what_it_cannot_do(self):
        for flags, message in ((("--error=1",), "per cent"), (("--error=x%",), "per cent"),
                               (("--error=0%",), "k-minimum-values counts within 0.1% to 99%"),
                               (("--error=nan%",), "within 0.1% to 99%"),
                               (("--error=0.1%", "--estimator=hyper-log-log"), "0.21% to 99%"),
                               (("--estimator=luck",), "luck is neither"),
                               (("--input=nowhere",), "cannot read nowhere")):
            with self.subTest(flags=flags):
                self.refused(message, *flags, data=b"a\n", command="distinct")
        self.refused("line 2: longer than 8,388,608 bytes", data=b"a\n" + b"x" * (9 << 20),
                     command="distinct")

    def test_progress_of_what_takes_long(self):
        """On a terminal, after two seconds, and not before."""
        short = lines_on_terminal(80, COMMAND, "distinct", "--input=/dev/null")
        self.assertEqual([""], short)
        slow = f"(seq 5000; sleep 2.2; seq 5000; sleep 0.3; seq 5000) | '{COMMAND}' distinct"
        lines = lines_on_terminal(80, "bash", "-c", slow)
        self.assertTrue(any(re.match("rocksieve distinct: counting", line) for line in lines), lines)
        self.assertEqual("", lines[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
