# SPDX-License-Identifier: Apache-2.0
"""pyarrow, Polars and DuckDB read databases in a line each, and ask filters for whole columns."""

import unittest

import duckdb
import polars
import pyarrow
import rocksieve
from shards import Sides


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sides = Sides(20_000, 100, 10, shards=2)
        cls.database = cls.sides.left[0]
        cls.rows = sorted(cls.sides.rows["left"])

    def test_each_reads_all_rows(self):
        expected = {"key": [key for key, _ in self.rows], "value": [value for _, value in self.rows]}
        self.assertEqual(expected, pyarrow.table(rocksieve.scan(self.database)).to_pydict())
        self.assertEqual(expected,
                         polars.DataFrame(rocksieve.scan(self.database)).to_dict(as_series=False))
        scan = rocksieve.scan(self.database, prefix=self.rows[0][0][:1])
        [(count, least)] = duckdb.sql("SELECT count(*), min(key) FROM scan").fetchall()
        first = [key for key in expected["key"] if key[:1] == self.rows[0][0][:1]]
        self.assertEqual((len(first), first[0]), (count, least))

    def test_errors_come_from_the_reader(self):
        scan = rocksieve.scan(self.database, expect=1)
        for read in (pyarrow.table, polars.DataFrame):
            with self.assertRaisesRegex(Exception, "left0: its keys are not those of an earlier scan"):
                read(scan)

    def test_filters_of_columns_of_each(self):
        keys = [key.hex() for key, _ in self.rows] + [None, "", "short"]
        asked = keys + [key[::-1] for key in keys if key]
        columns = {
            "array": pyarrow.array, "chunks": lambda keys: pyarrow.chunked_array([keys[:7], keys[7:]]),
            "large": lambda keys: pyarrow.array(keys, pyarrow.large_string()),
            "views": lambda keys: pyarrow.array(keys, pyarrow.string_view()),
            "slice": lambda keys: pyarrow.array(["x", *keys, "y"]).slice(1, len(keys)),
            "series": polars.Series}
        built = rocksieve.Filter.build([key for key in keys if key is not None])
        expected = [key is not None and key in built for key in asked]
        for name, column in columns.items():
            with self.subTest(column=name):
                made = rocksieve.Filter.build(column(keys))
                self.assertEqual(bytes(built), bytes(made))
                self.assertEqual(expected, pyarrow.array(made.may_contain(column(asked))).to_pylist())
                self.assertEqual(expected, polars.Series(made.may_contain(column(asked))).to_list())
        table = pyarrow.table({"number": range(len(asked)), "key": asked})
        self.assertEqual(expected, list(built.may_contain(table, "key")))
        for column, says in ((pyarrow.array([1]), "cast it to binary"),
                             (pyarrow.array(["a"]).dictionary_encode(), "in a dictionary"),
                             (table, "say which column")):
            with self.assertRaisesRegex(ValueError, says):
                built.may_contain(column)

    def test_a_filter_drops_rows_before_they_are_rows(self):
        some = [key for key, _ in self.rows[::50]]
        scan = rocksieve.scan(self.database, filters=[rocksieve.Filter.build(some, "rocksieve.ribbon:32")])
        self.assertEqual(some, pyarrow.table(scan)["key"].to_pylist())
        self.assertEqual((len(self.rows), len(some)), scan.counts[:2])


if __name__ == "__main__":
    unittest.main()
