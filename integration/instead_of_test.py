# SPDX-License-Identifier: Apache-2.0
"""Programs in other languages, which have our filters by RocksDB's C API with our handle or by
RocksDB's crate; and those that name no filter of ours: ROCKSIEVE_INSTEAD_OF."""

import pathlib
import random
import re
import shutil
import unittest

from environment import (BUILD, PLUGIN, ROOT, SEED, SERIES, Sandbox, compile_program, run, run_ok,
                         thorough)
from programs import Report


def policies(database):
    """Of its options, and of its tables."""
    options = max(database.glob("OPTIONS-*")).read_text()
    tables = [run_ok("sst_dump", f"--file={table}", "--show_properties").out
              for table in database.glob("*.sst")]
    return (set(re.findall(r"(?m)^ +filter_policy=(.*)$", options)),
            set(re.findall(r"filter policy name: (.*)", "".join(tables))))


class Examples(Sandbox):
    def test_in_c(self):
        source = ROOT / "examples" / "c_policy" / "c_policy.c"
        for library in ("-lrocksieve", f"-lrocksieve-{SERIES}"):
            program = compile_program(source, self.directory / "c_policy", "-pedantic", "-Werror",
                                      library, "-lrocksdb", compiler="gcc")
            for family, least in (("ribbon", 9970), ("auto", 9900)):
                with self.subTest(library=library, family=family):
                    database = self.directory / f"{family}{library}"
                    finished = run_ok(program, f"rocksieve.{family}:10", database)
                    present, of, absent, saved = map(int, re.fullmatch(
                        r"(\d+) of (\d+) keys found, (\d+) that are not there; (\d+) reads saved\n",
                        finished.out).groups())
                    self.assertEqual((10000, 10000, 0, ""), (present, of, absent, finished.err))
                    self.assertGreater(saved, least)
                    self.assertEqual({f"rocksieve.{family}:10"}, policies(database)[0])
            wrong = run(program, "rocksieve.ribbon:0", self.directory / "none")
            self.assertEqual((1, ""), (wrong.code, wrong.out))
            self.assertIn("rocksieve.ribbon:0", wrong.err)

    CRATES = pathlib.Path("/usr/share/cargo/registry")

    @thorough
    @unittest.skipUnless(shutil.which("cargo") and list(CRATES.glob("rocksdb-*")),
                         "needs cargo and librust-rocksdb-dev, which Debian has since 13")
    def test_in_rust(self):
        """Built without a network, from Debian's own crates."""
        crate = self.directory / "crate"
        shutil.copytree(ROOT / "examples" / "rust", crate)  # cargo writes a lock file
        finished = run_ok(
            "cargo", "--config", 'source.crates-io.replace-with="debian"',
            "--config", f'source.debian.directory="{self.CRATES}"', "run", "--offline", "--", "db",
            cwd=crate, timeout=540, variables={
                "ROCKSIEVE_LIB_DIR": str(BUILD / "lib"), "CARGO_HOME": str(self.directory / "cargo"),
                "CARGO_TARGET_DIR": str(self.directory / "target")})
        found, rejected = map(int, re.fullmatch(
            r"(\d+) of 100000 keys found; filters answered (\d+) of 100000 absent lookups\n",
            finished.out).groups())
        self.assertEqual(100000, found)
        # 0.1 % of them, and RocksDB's Bloom filter would let 1 % pass.
        self.assertGreater(rejected, 99700)
        self.assertEqual({"rocksieve.ribbon:10"}, policies(crate / "db")[0])


class InsteadOf(Sandbox):
    """db_bench makes filters by its flags, and knows nothing of us."""

    def run_program(self, spec, *flags, preload=(PLUGIN,), database="db"):
        """How often filters helped, what we said, and the policies of its OPTIONS and of its table."""
        path = self.directory / database
        filling = "" if path.exists() else "fillseq,flush,"
        finished = run_ok("db_bench", f"--db={path}", f"--benchmarks={filling}readrandom,readmissing",
                          "--num=10000", "--statistics", "--seed=7",
                          f"--use_existing_db={str(not filling).lower()}",
                          *(flags or ("--bloom_bits=10",)), preload=preload,
                          variables={} if spec is None else {"ROCKSIEVE_INSTEAD_OF": spec})
        report = Report(finished)
        self.assertEqual([0], [found for name, found, _ in report.found if name == "readmissing"])
        self.assertIn("(10000 of 10000 found)", finished.out)
        [of_options], [of_tables] = policies(path)
        return report.useful, "".join(re.findall("rocksieve: .*\n", finished.err)), of_options, of_tables

    def test_ours_instead_of_both(self):
        for kind, flags, of in (("bloom", ["--bloom_bits=10"], "RocksDB's Bloom filter"),
                                ("ribbon", ["--bloom_bits=10", "--use_ribbon_filter"], "RocksDB's")):
            with self.subTest(kind=kind):
                plain = self.run_program(None, *flags, preload=(), database=f"{kind}-plain")
                self.assertEqual("", plain[1])
                for spec in ("rocksieve.ribbon:16", "rocksieve.bloom:16"):
                    ours = self.run_program(spec, *flags, database=f"{kind}-{spec}")
                    self.assertEqual((spec, spec), ours[2:])
                    self.assertGreater(ours[0], 9980)  # of 10,000; RocksDB's has 100 wrong
                    self.assertRegex(ours[1], f"^rocksieve: ROCKSIEVE_INSTEAD_OF: {spec} instead of "
                                              f"{of}.* of 10 bits per key\n$")

    def test_off_unless_asked_for_and_filters_that_are_there_are_still_read(self):
        self.run_program(None, preload=())
        plain = self.run_program(None, preload=())  # which only reads
        for spec in (None, ""):
            self.assertEqual(plain, self.run_program(spec))
        ours = self.run_program("rocksieve.ribbon:10")
        self.assertEqual((plain[0], "rocksieve.ribbon:10", plain[3]), (ours[0], *ours[2:]))

    def test_what_is_wrong_is_said_once(self):
        plain = self.run_program(None, preload=(), database="plain")
        for name, spec, preload, said in (
                ("spec", "rocksieve.blom:10", PLUGIN, "ROCKSIEVE_INSTEAD_OF: RocksDB's own filters are "
                                                      "used: .*blom.*for example"),
                ("bytes", "rocksieve.auto:512MB:bloom", PLUGIN, "ROCKSIEVE_INSTEAD_OF: RocksDB's own filters "
                                                                "are used: a budget of bytes .*auto:10"),
                ("no build", "rocksieve.ribbon:10", shutil.copy(PLUGIN, self.directory),
                 "the RocksDB in this process is")):
            with self.subTest(name):
                wrong = self.run_program(spec, preload=(preload,), database=name)
                self.assertEqual((plain[0], *plain[2:]), (wrong[0], *wrong[2:]))
                self.assertRegex(wrong[1], f"^rocksieve: {said}.*\n$")

    def test_no_filter_stays_none(self):
        self.assertEqual((0, ""), self.run_program("rocksieve.ribbon:10", "--bloom_bits=0")[:2])


class RealPrograms(Sandbox):
    """Of Debian's archive, as they are."""

    SPEC = "rocksieve.ribbon:10"
    SETTINGS = {None: {}, SPEC: {"preload": [PLUGIN], "variables": {"ROCKSIEVE_INSTEAD_OF": SPEC}}}

    def compare(self, *steps):
        """Runs programs, of which the last prints what is in the database "db", without us and with
        ours instead of RocksDB's."""
        answers = {}
        for spec, settings in self.SETTINGS.items():
            directory = self.directory / str(spec)
            directory.mkdir()
            for words, stdin in steps:
                finished = run(*words, stdin=stdin, cwd=directory, **settings)
                self.assertEqual(bool(spec), "instead of RocksDB's Bloom" in finished.err, finished)
            answers[spec] = sorted(finished.out.splitlines())
        self.assertEqual(answers[None], answers[self.SPEC])
        self.assertGreater(len(answers[None]), 1000)
        for names in policies(directory / "db"):
            self.assertIn(self.SPEC, names)

    def test_ldb(self):
        pairs = "".join(f"key{i} ==> value{i}\n" for i in range(2000))
        ldb = ("ldb", "--db=db", "--bloom_bits=10")
        self.compare(((*ldb, "--create_if_missing", "load"), pairs), ((*ldb, "compact"), ""),
                     ((*ldb, "scan"), ""))

    @unittest.skipUnless(shutil.which("oxigraph"), "Debian has it since 13")
    def test_oxigraph(self):
        """It sets its filter by OptimizeForPointLookup. Its exit code tells nothing: Debian's ends in
        an assertion of RocksDB, with us and without."""
        triples = self.directory / "triples.nt"
        triples.write_text("".join(f'<http://e.org/s{i}> <http://e.org/p{i % 7}> '
                                   f'"a value of some length, {i}" .\n' for i in range(20000)))

        def oxigraph(command, *arguments):
            return ("oxigraph", command, "--location", "db", *arguments), ""

        self.compare(oxigraph("load", "--file", triples), oxigraph("load", "--file", triples),
                     oxigraph("optimize"),
                     oxigraph("query", "--results-format", "csv", "--query",
                              "SELECT ?s ?o WHERE { ?s <http://e.org/p3> ?o }"))

    @unittest.skipUnless(shutil.which("sortmerna"), "is not installed")
    def test_sortmerna(self):
        """It wants no filter, and stays without."""
        chance = random.Random(SEED)
        genome = "".join(chance.choice("ACGT") for _ in range(3000))
        reads = [genome[50 * i:50 * i + 120] for i in range(50)]
        (self.directory / "genome").write_text(f">genome\n{genome}\n")
        (self.directory / "reads").write_text("".join(f">{i}\n{read}\n"
                                                      for i, read in enumerate(reads)))
        found = {}
        for spec, settings in self.SETTINGS.items():
            finished = run_ok("sortmerna", "--ref", self.directory / "genome", "--reads",
                              self.directory / "reads", "--workdir", self.directory / str(spec),
                              "--blast", "1", "--threads", "1", **settings)
            self.assertNotIn("rocksieve", finished.err)
            found[spec] = (self.directory / str(spec) / "out" / "aligned.blast").read_text()
            options = next((self.directory / str(spec) / "kvdb").glob("OPTIONS-*")).read_text()
            self.assertIn("filter_policy=nullptr", options)
        self.assertEqual(found[None], found[self.SPEC])
        self.assertEqual(len(reads), len(found[None].splitlines()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
