# SPDX-License-Identifier: Apache-2.0
"""Runs RocksDB's own db_bench on an OPTIONS file, and reads what it reports."""

import pathlib
import re

from environment import PLUGIN, SEED, SERIES, run, run_ok

KEYS = 50_000
READS = 16_000  # a multiple of the batch size of multireadrandom
BATCH = 32

# Small buffers and files, so that little data makes several files.
_OPTIONS = """\
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1

[DBOptions]
{database}
[CFOptions "default"]
{column_family}
[TableOptions/BlockBasedTable "default"]
{table}
"""

PARTITIONED = {
    "partition_filters": "true",
    "index_type": "kTwoLevelIndexSearch",
    "metadata_block_size": "1024",
    "cache_index_and_filter_blocks": "true",  # so that the block cache counts the partitions
}


# From 9.6 on, a filter that fills its partition cuts twice, the second time after a single data block,
# unless it is cut by itself.
CUTS_TWICE = tuple(map(int, (SERIES or "0").split("."))) >= (9, 6)
DECOUPLED = {**PARTITIONED, "decouple_partitioned_filters": "true"}


def options_text(filter_policy, column_family=None, table=None, database=None):
    """Of small files, unless the options say otherwise."""
    def lines(options, more):
        return "".join(f"  {name}={value}\n" for name, value in {**options, **(more or {})}.items())

    return _OPTIONS.format(
        database=lines({"create_if_missing": "true"}, database),
        column_family=lines({"write_buffer_size": 1 << 20, "target_file_size_base": 2 << 20,
                             "compression": "kNoCompression"}, column_family),
        table=lines({"filter_policy": filter_policy}, table))


class Report:
    """What one run of db_bench found and counted."""

    def __init__(self, finished):
        self.finished = finished
        # [("readrandom", 12614, 20000), ...] in the order in which they ran.
        self.found = [(name, int(found), int(asked)) for name, found, asked in re.findall(
            r"^(\w+)\s+:.*\((\d+) of (\d+) found\)", finished.out, re.MULTILINE)]
        self._tickers = {name: int(count) for name, count in re.findall(
            r"^rocksdb\.(\S+) COUNT : (\d+)$", finished.out, re.MULTILINE)}

    def ticker(self, name):
        return self._tickers[name]

    def _prefixes(self, of_keys, of_iterators):
        # Iterators count in tickers of their own from RocksDB 8.3 on.
        return sum(self._tickers.get(name, 0) for name in (
            f"bloom.filter.prefix.{of_keys}",
            *(f"{level}.level.seek.{of_iterators}" for level in ("last", "non.last"))))

    @property
    def prefix_useful(self):
        return self._prefixes("useful", "filtered")

    @property
    def prefix_passed(self):
        """Prefixes that filters did not rule out."""
        return (self._prefixes("checked", "filter.match")
                - self.ticker("bloom.filter.prefix.useful"))

    @property
    def useful(self):
        return self.ticker("bloom.filter.useful")

    @property
    def positive(self):
        """Filter checks that did not rule the key out."""
        return self.ticker("bloom.filter.full.positive")

    @property
    def true_positive(self):
        return self.ticker("bloom.filter.full.true.positive")


class Database:
    """A database below `directory` that db_bench fills and reads, always with the same seeds: runs
    of the same benchmarks write, and ask for, the same keys, whatever the filter."""

    def __init__(self, directory, *flags, keys=KEYS):
        self.path = pathlib.Path(directory) / "db"
        self._options_file = pathlib.Path(directory) / "OPTIONS"
        self._flags = flags
        self.keys = keys

    def try_bench(self, benchmarks, options, *flags, stock=False, existing=True):
        self._options_file.write_text(options)
        # With the seed of the writer, a reader would ask for just the keys that were written.
        seed = SEED + 1000 if existing else SEED
        return run("db_bench", f"--db={self.path}", f"--options_file={self._options_file}",
                   f"--benchmarks={benchmarks}", f"--use_existing_db={str(existing).lower()}",
                   f"--num={self.keys}", f"--reads={READS}", f"--seed={seed}",
                   f"--batch_size={BATCH}", "--multiread_batched", "--statistics", *self._flags,
                   *flags, preload=() if stock else (PLUGIN,))

    def bench(self, *arguments, **settings):
        finished = self.try_bench(*arguments, **settings)
        if finished.code != 0:
            raise AssertionError(f"failed: {finished}")
        # Nothing is ever wrong with these filters.
        for said in (finished.err, (self.path / "LOG").read_text(errors="replace")):
            if "rocksieve: a filter block" in said:
                raise AssertionError(f"the plugin complains: {said}")
        return Report(finished)

    def create(self, options, **settings):
        """Fills and compacts."""
        return self.bench("fillrandom,compact", options, existing=False, **settings)

    def tables(self):
        return sorted(self.path.glob("*.sst"))

    def table_properties(self):
        return [table_properties(table) for table in self.tables()]


def table_properties(table, preload=()):
    """The properties that sst_dump shows of an SST, by their names there."""
    out = run_ok("sst_dump", f"--file={table}", "--command=none", "--show_properties",
                 preload=preload).out
    return dict(re.findall(r"^  (?:# )?(.+?): (.*)$", out, re.MULTILINE))
