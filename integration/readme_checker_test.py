"""That readme_test.py finds what is wrong with a README: it is run on samples."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from db_bench import options_text
from environment import BUILD, ROOT, Sandbox, run

GOOD_CPP = """\
<!-- test: compile-cpp -->
```cpp
#include <rocksdb/table.h>
#include <rocksieve/filter.h>
#include <rocksieve/filter_policy.h>

int main() {
  rocksdb::BlockBasedTableOptions table_options;
  rocksieve::FilterBuilder builder{rocksieve::FilterSpec()};
  rocksdb::Status status =
      rocksieve::NewFilterPolicy("rocksieve.bloom:10", &table_options.filter_policy);
  return status.ok() ? 0 : 1;
}
```
"""
GOOD_C = """\
<!-- test: compile-c -->
```c
#include <rocksdb/c.h>

int main(void) {
  char* error = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(
      options, "create_if_missing=true;block_based_table_factory={filter_policy=rocksieve.x}",
      options, &error);
  /* Only the plugin refuses this. */
  if (error == NULL) rocksdb_open(options, "db", &error);
  return error == NULL;
}
```
"""
GOOD_SHELL = """\
1. Preload:

   <!-- test: shell -->
   ```sh
   LD_PRELOAD=build/lib/librocksieve.so ldb --version
   db_bench --options_file=sample.options --db=sample_db --benchmarks=fillseq --num=10
   ```
"""
UNMARKED = "```sh\nfalse\n```\n"


def options_file(spec, mark="options-file"):
    return f"<!-- test: {mark} -->\n```ini\n{options_text(spec)}```\n"


class ReadmeTest(Sandbox):
    def check(self, readme):
        file = self.directory / "README.md"
        file.write_text(readme)
        return run(sys.executable, ROOT / "integration" / "readme_test.py",
                   variables={"ROCKSIEVE_README": str(file), "ROCKSIEVE_BUILD": str(BUILD)},
                   timeout=120)

    def test_good_blocks_pass(self):
        finished = self.check(
            "# Sample\n" + UNMARKED + GOOD_CPP + GOOD_C + GOOD_SHELL +
            options_file("rocksieve.cuckoo:12.5", "options-file sample.options"))
        self.assertEqual(0, finished.code, finished)
        self.assertIn("Ran 4 tests", finished.err)
        for name in ("test_line_0005_compile_cpp", "_compile_c", "_shell", "_options_file"):
            self.assertRegex(finished.err, f"{name} .*ok\n")

    def test_bad_blocks_fail(self):
        for readme, reason in (
                (GOOD_CPP.replace("return", "retrun"), "retrun"),
                (GOOD_CPP.replace("rocksieve.bloom:10", "rocksieve.blom:10"), "exit code 1"),
                (GOOD_C.replace("rocksieve.x", "rocksieve.bloom:10"), "exit code 1"),
                ("<!-- test: shell -->\n```sh\nfalse | true\necho after\n```\n", "exit code 1"),
                (options_file("rocksieve.blom:10"), '"blom" is not one of the families'),
                (options_file("rocksive.bloom:10"), "the filters did not work")):
            with self.subTest(readme=readme):
                finished = self.check(readme)
                self.assertEqual(1, finished.code, finished)
                self.assertIn("FAILED (failures=1)", finished.err)
                self.assertIn(reason, finished.err)

    def test_marks_that_test_nothing_are_errors(self):
        for readme, reason in (
                ("", "no code block is marked"),
                (UNMARKED, "no code block is marked"),
                ("<!-- test: shel -->\n```sh\ntrue\n```\n", "line 1: <!-- test: shel --> is"),
                ("<!-- test: -->\n```sh\ntrue\n```\n", "is none of"),
                ("<!-- test: shell -->\n\n```sh\ntrue\n```\n", "has no complete code block"),
                ("<!-- test: shell -->\n```sh\ntrue\n", "has no complete code block"),
                ("<!-- test: shell -->", "has no complete code block")):
            with self.subTest(readme=readme):
                finished = self.check(readme)
                self.assertEqual(1, finished.code, finished)
                self.assertIn(reason, finished.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
