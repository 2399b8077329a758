# SPDX-License-Identifier: Apache-2.0
"""The command's help, manual pages and shell completion: of every command, whatever there is."""

import functools
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from environment import BUILD, Sandbox, run, run_ok

COMMAND = BUILD / "bin" / "rocksieve"
SHARE = BUILD / "share"
# One screen, or little more.
COLUMNS, LINES = 80, 32


@functools.cache
def help_of(*words):
    return run_ok(COMMAND, *words, "--help").out


def commands():
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help_of(), re.MULTILINE)[1]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE)


def flags_of(*words):
    """As --help lists them: {"--keys": "FILE", "--json": ""}."""
    return dict(re.findall(r"^  (--[\w-]+)(?:=(\S+))?", help_of(*words), re.MULTILINE))


def all_flags_of(*words):
    """With those that --help only names."""
    more = re.search(r"^More, in the manual page: ((?:.+\n)+)", help_of(*words), re.MULTILINE)
    rare = re.findall(r"(--[\w-]+)(?:=([\w|]+))?", more[1] if more else "")
    return {**flags_of(*words), **dict(rare)}


class Help(unittest.TestCase):
    def every_command(self):
        names = commands()
        self.assertIn("demo", names)
        for words in [(), *((name,) for name in names)]:
            with self.subTest(command=words):
                yield words

    def test_fits_a_screen_and_ends_with_an_example(self):
        for words in self.every_command():
            lines = help_of(*words).splitlines()
            self.assertLessEqual(len(lines), LINES)
            self.assertLess(max(map(len, lines)), COLUMNS, max(lines, key=len))
            self.assertRegex(lines[0], "^" + " ".join(["rocksieve", *words]) + ": [a-z].*[^.]$")
            last = max(i for i, line in enumerate(lines) if not line.strip())
            self.assertTrue(lines[last + 1].startswith("Example"), lines[last:])
            self.assertIn("rocksieve " + " ".join(words), lines[-1])
            self.assertTrue(any(line.startswith("Exit codes: 0") for line in lines), lines)

    def test_every_flag_says_what_it_does_and_takes(self):
        for words in self.every_command():
            text = help_of(*words)
            for flag, value in flags_of(*words).items():
                self.assertRegex(text, rf"(?m)^  {flag}\S*\s+\w", "no description")
                self.assertNotIn(value, ("TEXT", "INT", "UINT", "FLOAT"), f"{flag}: no type name")
                self.assertIn(flag, text[text.index("Usage:"):] if words else text)

    def test_every_flag_listed_is_one_of_the_parser(self):
        for words in self.every_command():
            for flag, value in flags_of(*words).items():
                if flag in ("--help", "--version"):
                    continue
                spelled = flag + ("=x" if value else "")
                finished = run(COMMAND, *words, spelled, "--no-such-flag")
                self.assertEqual(2, finished.code, finished)
                self.assertNotIn(flag + " ", finished.err + " ")

    def test_bad_usage(self):
        for words, said in ((("nonsense",), "no command nonsense\n"),
                            (("explian",), "no command explian; did you mean explain?"),
                            (("help", "exlain"), "did you mean explain?"),
                            (("demo", "--nonsense"), "no flag --nonsense\n"),
                            (("demo", "--kyes=x"), "no flag --kyes; did you mean --keys?"),
                            (("explain", "db", "--db=db"), "--db"),
                            (("completion", "tcsh"), "none of bash, zsh, fish")):
            finished = run(COMMAND, *words)
            self.assertEqual((2, ""), (finished.code, finished.out), finished)
            self.assertIn(said, finished.err)
            self.assertIn("--help says what there is", finished.err)

    def test_without_a_command_it_lists_them(self):
        finished = run(COMMAND)
        self.assertEqual((2, "", run_ok(COMMAND, "--help").out),
                         (finished.code, finished.out, finished.err))

    def test_other_spellings(self):
        for words, means in ((("-h",), ("--help",)), (("help",), ("--help",)),
                             (("explain", "-h"), ("explain", "--help")),
                             (("help", "explain"), ("explain", "--help")),
                             (("explain", "no-db", "--json"), ("explain", "--json", "--db=no-db")),
                             (("inspect", "no-file"), ("inspect", "./no-file"))):
            short, long = run(COMMAND, *words), run(COMMAND, *means)
            self.assertEqual((long.code, long.out, long.err.replace("./no-file", "no-file")),
                             (short.code, short.out, short.err))


class ManPages(Sandbox):
    def test_there_is_one_for_each_command(self):
        pages = {path.stem for path in (SHARE / "man" / "man1").iterdir()}
        self.assertEqual({"rocksieve", *(f"rocksieve-{name}" for name in commands())}, pages)

    def test_they_hold_every_flag_of_the_help(self):
        for words in [[], *([name] for name in commands())]:
            page = (SHARE / "man" / "man1" / ("-".join(["rocksieve", *words]) + ".1")).read_text()
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
                            "EXAMPLES"):
                self.assertIn(f".SH {section}\n", page)
            for flag in all_flags_of(*words):
                self.assertIn(r"\fB" + flag.replace("-", r"\-"), page)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "there is no man")
    def test_they_can_be_formatted(self):
        for page in (SHARE / "man" / "man1").iterdir():
            finished = run_ok("man", "--warnings", "--local-file", page,
                              variables={"MANWIDTH": "80"})
            self.assertEqual("", finished.err, page)
            self.assertIn("EXAMPLES", re.sub(".\b", "", finished.out))


class SpecsPage(Sandbox):
    """rocksieve-specs(7), made of docs/choosing.md: it has all that the parsers take."""

    def refusal(self, spec):
        finished = run(COMMAND, "load", f"--db={self.directory / 'db'}", f"--spec={spec}", "--input=-")
        self.assertEqual(2, finished.code, finished)
        return finished.err

    def test_it_has_all_families_ranges_and_options(self):
        page = (SHARE / "man" / "man7" / "rocksieve-specs.7").read_text().replace("\\-", "-")
        bold = set(re.findall(r"\\fB(.+?)(?:\\fR|$)", page, re.MULTILINE))
        options = re.search(r"one of the options ([\w, .-]+);", self.refusal("rocksieve.range:10:x"))[1]
        self.assertLessEqual({"salted", *options.split(", ")}, bold)
        costs = re.findall(r"([\w-]+-ns)-N", self.refusal("rocksieve.auto:10:x"))
        self.assertIn("read-ns", costs)
        for cost in costs:
            self.assertTrue(any(re.fullmatch(rf"{cost}-\d+", word) for word in bold), cost)
        families = re.search(r"one of the families ([\w, ]+);", self.refusal("rocksieve.x:10"))[1]
        for family in re.split(r", (?:or )?| or ", families):
            refusal = self.refusal(f"rocksieve.{family}:0")
            bits, rate = re.search(r"allowed are ([\d.]+ to [\d.]+) bits per key, .* to ([\d.]+%);",
                                   refusal).groups()
            item = re.search(rf"\.TP\n\\fB{family}\\fR\n(.*)", page)[1]
            self.assertIn(f"bits per key: {bits};", item)
            self.assertIn(f"to \\fB{rate}\\fR.", item)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "there is no man")
    def test_it_can_be_formatted(self):
        finished = run_ok("man", "--warnings", "--local-file",
                          SHARE / "man" / "man7" / "rocksieve-specs.7", variables={"MANWIDTH": "80"})
        self.assertEqual("", finished.err)


class Completion(Sandbox):
    def complete(self, line):
        """What bash would offer with the cursor at the end of the line."""
        script = """
            source "$1"; line=$2
            compopt() { :; }  # works within a real completion only
            COMP_LINE=$line COMP_POINT=${#line}
            read -ra COMP_WORDS <<<"$line"
            if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _rocksieve
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        out = run_ok("bash", "-eu", "-c", script, "-",
                     SHARE / "bash-completion" / "completions" / "rocksieve", line,
                     cwd=self.directory).out
        return set(out.split("\n")) - {""}

    def test_commands(self):
        self.assertEqual({*commands(), "--help", "--version"}, self.complete("rocksieve "))
        self.assertEqual({"demo"}, self.complete("rocksieve de"))

    def test_flags_of_every_command(self):
        for command in commands():
            expected = {flag + ("=" if value else "")
                        for flag, value in all_flags_of(command).items()}
            self.assertEqual(expected, self.complete(f"rocksieve {command} --"))
        self.assertEqual({"--json"}, self.complete("rocksieve demo --keys=x --j"))

    def test_values(self):
        (self.directory / "words of mine").write_text("")
        (self.directory / "works").mkdir()
        self.assertEqual({"words of mine", "works"}, self.complete("rocksieve demo --keys=wor"))
        self.assertEqual({"works"}, self.complete("rocksieve demo --db-dir=wor"))
        self.assertEqual(set(), self.complete("rocksieve load --spec=wor"))
        self.assertEqual({"bash", "zsh", "fish", "--help"}, self.complete("rocksieve completion "))

    def test_it_is_what_the_command_prints(self):
        for shell, file in (("bash", "bash-completion/completions/rocksieve"),
                            ("zsh", "zsh/site-functions/_rocksieve"),
                            ("fish", "fish/vendor_completions.d/rocksieve.fish")):
            printed = run_ok(COMMAND, "completion", shell).out
            self.assertEqual((SHARE / file).read_text(), printed)
            for command in commands():
                self.assertIn(command, printed)
            program = shutil.which(shell)
            if program:
                run_ok(program, "-n", SHARE / file)

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish_completes_flags_and_values(self):
        def complete(line):
            file = SHARE / "fish" / "vendor_completions.d" / "rocksieve.fish"
            script = f"source {file}; complete -C '{line}'"
            out = run_ok("fish", "-c", script, cwd=self.directory,
                         variables={"HOME": str(self.directory)}).out
            return {line.split("\t")[0] for line in out.splitlines()}

        (self.directory / "file").write_text("")
        (self.directory / "folder").mkdir()
        self.assertEqual(set(commands()), complete("rocksieve "))
        self.assertEqual({"--keys", "--json", "--db-dir", "--help"}, complete("rocksieve demo --"))
        self.assertEqual({"--keys=file", "--keys=folder/"}, complete("rocksieve demo --keys=f"))
        self.assertEqual({"--db-dir=folder/"}, complete("rocksieve demo --db-dir=f"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
