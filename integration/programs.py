# SPDX-License-Identifier: Apache-2.0
"""RocksDB's own db_bench and sst_dump, Prometheus and its promtool; and what they and endpoints of
metrics say."""

import json
import pathlib
import re
import shutil
import socket
import urllib.parse
import urllib.request

from environment import PLUGIN, ROOT, SEED, THOROUGH, run, run_ok

KEYS = 50_000
READS = 16_000  # a multiple of the batch size of multireadrandom

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
        # [("readrandom", 12614, 20000), ...] in the order in which they ran.
        self.found = [(name, int(found), int(asked)) for name, found, asked in re.findall(
            r"^(\w+)\s+:.*\((\d+) of (\d+) found\)", finished.out, re.MULTILINE)]
        tickers = {name: int(count) for name, count in re.findall(
            r"^rocksdb\.(\S+) COUNT : (\d+)$", finished.out, re.MULTILINE)}
        self.ticker = tickers.__getitem__
        # Positive: checks that did not rule the key out.
        self.useful, self.positive, self.true_positive = (
            tickers.get(f"bloom.filter.{name}", 0)
            for name in ("useful", "full.positive", "full.true.positive"))


class Database:
    """A database below `directory` that db_bench fills and reads, always with the same seeds: runs
    of the same benchmarks write, and ask for, the same keys, whatever the filter."""

    def __init__(self, directory, *flags, keys=KEYS, program="db_bench"):
        self.path = pathlib.Path(directory) / "db"
        self._program = program
        self._options_file = pathlib.Path(directory) / "OPTIONS"
        self._flags = flags
        self.keys = keys

    def command(self, benchmarks, options, *flags, existing=True):
        self._options_file.write_text(options)
        # With the seed of the writer, a reader would ask for just the keys that were written.
        seed = SEED + 1000 if existing else SEED
        return [self._program, f"--db={self.path}", f"--options_file={self._options_file}",
                f"--benchmarks={benchmarks}", f"--use_existing_db={str(existing).lower()}",
                f"--num={self.keys}", f"--reads={READS}", f"--seed={seed}", "--batch_size=32",
                "--multiread_batched", "--statistics", *self._flags, *flags]

    def try_bench(self, *arguments, stock=False, existing=True, **settings):
        return run(*self.command(*arguments, existing=existing),
                   **{"preload": () if stock else (PLUGIN,), **settings})

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


PROMTOOL, PROMETHEUS = map(shutil.which, ("promtool", "prometheus"))
RULES = ROOT / "tools" / "share" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "tools" / "share" / "grafana" / "dashboard.json"


def free_port():
    """One that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def scrape(port, timeout=10):
    return get(f"http://127.0.0.1:{port}/metrics", timeout)


def lint(text):
    """What `promtool check metrics` has to say against it. Where nothing thorough is asked for, promtool
    need not be there."""
    if PROMTOOL is None and not THOROUGH:
        return ""
    checked = run(PROMTOOL, "check", "metrics", stdin=text)
    return checked.out + checked.err + ("" if checked.code == 0 else f"exit code {checked.code}")


def types_of(text):
    """{"rocksieve_policy_info": "gauge", ...}: of ours, not those of prometheus-cpp about itself."""
    return dict(re.findall(r"(?m)^# TYPE (rocksieve_\S+) (\S+)$", text))


def samples_of(text, name):
    """[({label: value}, number), ...] of one metric."""
    lines = re.findall(rf"(?m)^{name}(?:\{{(.*)\}})? (\S+)$", text)
    return [({label: re.sub(r"\\(.)", lambda c: {"n": "\n"}.get(c[1], c[1]), value)
              for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)}, float(number))
            for labels, number in lines]


def value_of(text, name, **labels):
    """Of the one sample that has these labels, among others."""
    found = [value for its, value in samples_of(text, name) if labels.items() <= its.items()]
    assert len(found) == 1, (name, labels, found)
    return found[0]


class Prometheus:
    """Scrapes the ports and evaluates the rules every second, until the test ends."""

    def __init__(self, test, ports):
        self.port = free_port()
        config = test.directory / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "rocksieve", "static_configs": [
                {"targets": [f"127.0.0.1:{port}" for port in ports]}]}]}))
        with open(test.directory / "prometheus.log", "w", encoding="utf-8") as log:
            test.spawn(PROMETHEUS, f"--config.file={config}",
                       f"--storage.tsdb.path={test.directory / 'tsdb'}",
                       f"--web.listen-address=127.0.0.1:{self.port}", stdout=log, stderr=log)

    def _api(self, what):
        return json.loads(get(f"http://127.0.0.1:{self.port}/api/v1/{what}"))["data"]

    def query(self, expression):
        """[({label: value}, number), ...]"""
        result = self._api("query?" + urllib.parse.urlencode({"query": expression}))["result"]
        return [(one["metric"], float(one["value"][1])) for one in result]

    def alerts(self):
        """{name: labels} of those that fire."""
        return {alert["labels"]["alertname"]: alert["labels"] for alert in self._api("alerts")["alerts"]
                if alert["state"] == "firing"}
