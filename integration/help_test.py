# SPDX-License-Identifier: Apache-2.0
"""The command's help, manual pages and shell completion: of every command, whatever there is. And that
docs/json.md has every key of the JSON documents, in the section of the command that prints it."""

import functools
import re
import shutil
import subprocess
import unittest

from environment import BUILD, COMMAND, HAS_JOIN, ROOT, Sandbox, document, load, run, run_ok, wait_for
from join_support import JoinSandbox

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


def everything():
    """The words of the command by itself, and of each of its commands."""
    return [(), *((name,) for name in commands())]


class Help(Sandbox):
    def test_of_every_command(self):
        self.assertIn("demo", commands())
        for words in everything():
            with self.subTest(command=words):
                text = help_of(*words)
                lines = text.splitlines()
                self.assertLessEqual(len(lines), LINES)
                self.assertLess(max(map(len, lines)), COLUMNS, max(lines, key=len))
                self.assertRegex(lines[0], "^" + " ".join(["rocksieve", *words]) + ": [a-z].*[^.]$")
                last = max(i for i, line in enumerate(lines) if not line.strip())
                self.assertTrue(lines[last + 1].startswith("Example"), lines[last:])
                self.assertIn("rocksieve " + " ".join(words), lines[-1])
                self.assertRegex(text, "(?m)^Exit codes: 0")
                for flag, value in flags_of(*words).items():
                    self.assertRegex(text, rf"(?m)^  {flag}\S*\s+\w", "no description")
                    self.assertNotIn(value, ("TEXT", "INT", "UINT", "FLOAT"), f"{flag}: no type name")
                    self.assertIn(flag, text[text.index("Usage:"):] if words else text)
                    if flag not in ("--help", "--version"):  # it is one of the parser
                        finished = run(COMMAND, *words, flag + ("=x" if value else ""), "--no-such-flag")
                        self.assertEqual(2, finished.code, finished)
                        self.assertNotIn(flag + " ", finished.err + " ")

    def test_bad_usage(self):
        for words, said in ((("nonsense",), "no command nonsense\n"),
                            (("explian",), "no command explian; did you mean explain?"),
                            (("help", "exlain"), "did you mean explain?"),
                            (("demo", "--nonsense"), "no flag --nonsense\n"),
                            (("demo", "--kyes=x"), "no flag --kyes; did you mean --keys?"),
                            (("filter", "-oseen", "-o", "seen", "--spce=x"), "no flag --spce; did"),
                            (("explain", "--probe-count", "-5"), "Value -5 not in range"),
                            (("explain", "db", "--db=db"), "--db"),
                            (("completion", "tcsh"), "none of bash, zsh, fish")):
            self.assertIn("--help says what there is", self.assert_refused(said, *words))
        self.assertEqual(help_of(), self.assert_refused(""))

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
    def test_they_hold_every_flag_of_the_help(self):
        pages = {path.stem for path in (SHARE / "man" / "man1").iterdir()}
        self.assertEqual({"-".join(["rocksieve", *words]) for words in everything()}, pages)
        for words in everything():
            page = (SHARE / "man" / "man1" / ("-".join(["rocksieve", *words]) + ".1")).read_text()
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
                            "EXAMPLES"):
                self.assertIn(f".SH {section}\n", page)
            for flag in all_flags_of(*words):
                self.assertIn(r"\fB" + flag.replace("-", r"\-"), page)

    @unittest.skipUnless(shutil.which("man") and shutil.which("groff"), "there is no man")
    def test_they_can_be_formatted(self):
        for page in (SHARE / "man").rglob("rocksieve*.*"):
            finished = run_ok("man", "--warnings", "--local-file", page, variables={"MANWIDTH": "80"})
            self.assertEqual("", finished.err, page)
            if page.suffix == ".1":
                self.assertIn("EXAMPLES", re.sub(".\b", "", finished.out))

    def refusal(self, spec):
        return self.assert_refused("", "load", f"--db={self.directory / 'db'}", f"--spec={spec}",
                                   "--input=-")

    def test_that_of_specs_has_all_families_ranges_and_options(self):
        """It is made of docs/choosing.md, and has all that the parsers take."""
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

    def test_commands_flags_and_values(self):
        (self.directory / "words of mine").write_text("")
        (self.directory / "works").mkdir()
        for line, offered in (
                ("", {*commands(), "--help", "--version"}), ("de", {"demo"}),
                *((f"{command} --", {flag + ("=" if value else "")
                                     for flag, value in all_flags_of(command).items()})
                  for command in commands()),
                ("demo --keys=x --j", {"--json"}), ("demo --keys=wor", {"words of mine", "works"}),
                ("demo --db-dir=wor", {"works"}), ("load --spec=wor", set()),
                ("completion ", {"bash", "zsh", "fish", "--help"})):
            self.assertEqual(offered, self.complete(f"rocksieve {line}"), line)

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


def keys_of(value):
    """All keys in a document; those of `budgets` are names of families, which are data."""
    if isinstance(value, list):
        return {key for item in value for key in keys_of(item)}
    if not isinstance(value, dict):
        return set()
    return {key for key in value if "." not in key and " " not in key}.union(
        *(keys_of(item) for item in value.values()))


@unittest.skipUnless(HAS_JOIN, "built without joins")
class JsonKeys(JoinSandbox):
    KEYS = 3000

    def test_all_are_documented(self):
        keys, database, port = self.files["left"], self.class_directory / "left", self.serve().port
        made, db = self.directory / "made", f"--db={self.class_directory / 'left'}"
        join = self.join_command([port], "count")[1:]
        run_ok(*self.join_command([port], "difference", "--format=sst", f"--output={made}.sst"))
        shutil.copytree(database, f"{made}.copy")
        load(f"{made}.open", ["key"], spec="none")
        owner = self.spawn(COMMAND, "load", f"--db={made}.open", "--spec=none", "--add", "--input=-",
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        wait_for(lambda: document("doctor", f"--db={made}.open", code=1)["open_in_process"])
        introduction, *sections = re.split(r"(?m)^## ", (ROOT / "docs" / "json.md").read_text())
        for expected, *words in (
                ("low_95", "demo", f"--keys={keys}", f"--db-dir={made}.demo"),
                ("setting_max", "explain", db),
                ("bytes_hex", "inspect", next(database.glob("*.sst")), "--hex"),
                ("num_shard_bits", "whatif", db, "--spec=rocksieve.bloom:10", "--bits=10..11",
                 "--cache=1MB"),
                ("output_bytes", "report", db, f"--output={made}.html"),
                ("low_95", "distinct", f"--input={keys}"),
                ("saturated_fraction", "filter", "build", "--spec=rocksieve.bloom:10",
                 f"--output={made}", f"--input={keys}"),
                ("matches", "filter", "query", made, f"--input={keys}"),
                ("files", "ingest", f"--db={made}.copy", f"{made}.sst"),
                ("input_bytes", "load", f"--db={made}.db", "--spec=none", f"--input={keys}"),
                ("program", "doctor", f"--db={made}.open", f"--pid={owner.pid}"),
                ("round_trips", *join, "--explain=analyze"),
                ("keys_are_as_cheap", *join, "--explain"),
                ("diverged_rows", "diff", database, self.class_directory / "right", "--summary",
                 f"--resume={made}.state")):
            with self.subTest(words=words):
                code = 1 if words[0] in ("diff", "doctor") else 0
                found = keys_of(document(*words, code=code, timeout=300))
                self.assertIn(expected, found)
                [text] = [text for text in sections if text.startswith(words[0] + "\n")]
                self.assertEqual(set(), {key for key in found if f"`{key}`" not in introduction + text})


if __name__ == "__main__":
    unittest.main(verbosity=2)
