# SPDX-License-Identifier: Apache-2.0
"""Programs in other languages, which have our filters by RocksDB's C API with our handle or by
RocksDB's crate; and those that name no filter of ours: ROCKSIEVE_INSTEAD_OF."""

import pathlib
import random
import re
import shutil
import unittest

from environment import BUILD, PLUGIN, ROOT, SEED, SERIES, Sandbox, compile_program, run, run_ok, thorough


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


# A program that knows nothing of us: KIND BITS DIRECTORY.
UNAWARE = r"""
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  char* error = NULL;
  int found = 0;
  if (argc != 4) return 2;
  const double bits = atof(argv[2]);
  for (int i = 0; i < 2; ++i)  /* as many programs make them for several column families */
    rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_create_bloom(10));
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_enable_statistics(options);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table,
      !strcmp(argv[1], "bloom") ? rocksdb_filterpolicy_create_bloom_full(bits)
                                : rocksdb_filterpolicy_create_ribbon_hybrid(bits, 1));
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_t* db = rocksdb_open(options, argv[3], &error);
  rocksdb_readoptions_t* reading = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* writing = rocksdb_writeoptions_create();
  if (error != NULL) puts(error);
  size_t length = 0;
  char key[32];
  free(rocksdb_get(db, reading, "key0", 4, &length, &error));
  if (length == 0) {
    for (int i = 0; i < 20000; i += 2) {
      const int size = sprintf(key, "key%d", i);
      rocksdb_put(db, writing, key, size, key, size, &error);
    }
    rocksdb_flush(db, rocksdb_flushoptions_create(), &error);
  }
  for (int i = 0; i < 20000; ++i) {
    const int size = sprintf(key, "key%d", i);
    char* value = rocksdb_get(db, reading, key, size, &length, &error);
    found += value != NULL && length == (size_t)size && !memcmp(value, key, length);
    free(value);
  }
  if (error != NULL) puts(error);
  const char* useful = strstr(rocksdb_options_statistics_get_string(options),
                              "rocksdb.bloom.filter.useful COUNT : ");
  printf("%d %d\n", found, atoi(strchr(useful, ':') + 2));
  rocksdb_close(db);
  return 0;
}
"""


class InsteadOf(Sandbox):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = compile_program(UNAWARE, cls.class_directory / "unaware", "-lrocksdb",
                                      compiler="gcc")

    def run_program(self, spec, kind="bloom", bits="10", preload=(PLUGIN,), database="db"):
        """What it found, how often filters helped, what it said, and the policies of its OPTIONS and
        of its first table."""
        variables = {} if spec is None else {"ROCKSIEVE_INSTEAD_OF": spec}
        path = self.directory / database
        finished = run_ok(self.program, kind, bits, path, preload=preload, variables=variables)
        found, useful = map(int, finished.out.split())
        [of_options], [of_tables] = policies(path)
        return found, useful, finished.err, of_options, of_tables

    def test_ours_instead_of_both(self):
        for kind, of in (("bloom", "RocksDB's Bloom filter"), ("ribbon", "RocksDB's")):
            with self.subTest(kind=kind):
                plain = self.run_program(None, kind, preload=(), database=f"{kind}-plain")
                self.assertEqual((10000, ""), (plain[0], plain[2]))
                for spec in ("rocksieve.ribbon:16", "rocksieve.bloom:16"):
                    ours = self.run_program(spec, kind, database=f"{kind}-{spec}")
                    self.assertEqual((10000, spec, spec), (ours[0], *ours[3:]))
                    self.assertGreater(ours[1], 9990)  # of 10,000; RocksDB's has 100 wrong
                    self.assertRegex(ours[2], f"^rocksieve: ROCKSIEVE_INSTEAD_OF: {spec} instead of "
                                              f"{of}.* of 10 bits per key\n$")

    def test_off_unless_asked_for_and_filters_that_are_there_are_still_read(self):
        plain = self.run_program(None, preload=())
        for spec in (None, ""):
            self.assertEqual(plain, self.run_program(spec))
        ours = self.run_program("rocksieve.ribbon:10")
        self.assertEqual(plain[:2], ours[:2])  # by the same filter
        self.assertEqual(("rocksieve.ribbon:10", plain[4]), ours[3:])

    def test_what_is_wrong_is_said_once(self):
        plain = self.run_program(None, preload=(), database="plain")
        for name, spec, preload, said in (
                ("spec", "rocksieve.blom:10", PLUGIN, "ROCKSIEVE_INSTEAD_OF: RocksDB's own filters are "
                                                      "used: .*blom.*for example"),
                ("no build", "rocksieve.ribbon:10", shutil.copy(PLUGIN, self.directory),
                 "the RocksDB in this process is")):
            with self.subTest(name):
                wrong = self.run_program(spec, preload=(preload,), database=name)
                self.assertEqual((plain[:2], plain[3:]), (wrong[:2], wrong[3:]))
                self.assertRegex(wrong[2], f"^rocksieve: {said}.*\n$")

    def test_no_filter_stays_none(self):
        self.assertEqual((10000, 0), self.run_program("rocksieve.ribbon:10", bits="0")[:2])


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
