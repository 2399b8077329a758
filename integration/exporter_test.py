# SPDX-License-Identifier: Apache-2.0
"""`rocksieve exporter`: what it says beside explain and doctor, what it does where a database, an
address or a file is not as it should be, and its alerts in a real Prometheus. And that
docs/metrics.md, the rules and the dashboard name what there is, and nothing else."""

import concurrent.futures
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest

from environment import (COMMAND, HAS_EXPORTER, ROOT, SMALL, Sandbox, document, load, random_rows,
                         run_ok, thorough, traces, wait_for)
from programs import (DASHBOARD, PROMTOOL, RULES, Database, Prometheus, lint, options_text, samples_of,
                      scrape, types_of, value_of)

AUTO = "rocksieve.auto:10"
OFTEN = "--every=0.01"  # 0.6 s
NAME = r"rocksieve_[a-z][a-z_]*"


def documented():
    """{name: type} by the tables of docs/metrics.md."""
    rows = re.findall(rf"(?m)^\| `({NAME})` \| (counter|gauge) \|",
                      (ROOT / "docs" / "metrics.md").read_text())
    assert len(rows) == len(dict(rows)), "a metric is there twice"
    return dict(rows)


def looks_of(port):
    """How often each database was looked at."""
    return [count for _, count in samples_of(scrape(port), "rocksieve_db_looks_total")]


@unittest.skipUnless(HAS_EXPORTER, "built without the exporter")
class Exporting(Sandbox):
    def load(self, name="db", spec="rocksieve.bloom:10", count=20_000, options=""):
        database = self.directory / name
        load(database, random_rows(count), f"--options={SMALL}{options}", spec=spec)
        return database

    def once(self, *databases, flags=()):
        """Its text and its log."""
        finished = run_ok(COMMAND, "exporter", *(f"--db={path}" for path in databases), "--once", *flags)
        self.assertEqual("", lint(finished.out))
        return finished.out, finished.err

    def start(self, *databases, flags=(OFTEN,), errors=None):
        """The exporter, when it listens; with its port, its process, and the file of its log."""
        log = self.directory / "exporter.log"
        with log.open("w") as file:
            process = self.spawn(COMMAND, "exporter", *(f"--db={path}" for path in databases),
                                 "--listen=127.0.0.1:0", *flags, stdout=subprocess.PIPE,
                                 stderr=errors or file, text=True)
        process.log = log
        process.port = int(process.stdout.readline().rsplit(":", 1)[1])
        return process

    def looked(self, process, looks=1):
        """What is scraped once each database was looked at so often."""
        wait_for(lambda: min(looks_of(process.port), default=0) >= looks, 60, f"look {looks}")
        return scrape(process.port)

    def look_again(self, process):
        """After what has just happened: the look that is under way may have begun before it."""
        return self.looked(process, max(looks_of(process.port)) + 2)

    def assert_up(self, expected, text, database):
        self.assertEqual(expected, value_of(text, "rocksieve_db_up", db=str(database)))

    def findings(self, text):
        return {its["finding"] for its, value in samples_of(text, "rocksieve_db_finding") if value == 1}


class Once(Exporting):
    def test_it_says_what_explain_and_doctor_say(self):
        database = self.load(spec=AUTO, options=";optimize_filters_for_hits=true")
        text, log = self.once(database)
        [family] = document("explain", f"--db={database}", code=None)["column_families"]
        labels = {"db": str(database), "column_family": "default"}

        def assert_says(value, name, **more):
            self.assertAlmostEqual(value, value_of(text, f"rocksieve_db_{name}", **labels, **more), 6)

        for level in family["levels"]:
            at = {"level": str(level["level"])}
            for key in ("files", "keys", "file_bytes", "filter_bytes", "files_without_filter",
                        "predicted_false_positive_rate", "measured_false_positive_rate"):
                if level[key] is not None:
                    assert_says(level[key], key, **at)
            assert_says(level["bits_per_key"] / 8, "filter_bytes_per_key", **at)
            for group in level["filters"]:
                assert_says(group["files"], "files_by_filter", family=group["family"], **at)
        for key, name in (("expected_useless_reads_per_missing_lookup",
                           "false_positive_reads_per_absent_lookup"),
                          ("predicted_useless_reads_per_missing_lookup",
                           "predicted_false_positive_reads_per_absent_lookup"),
                          ("useless_reads_per_missing_lookup_without_filters",
                           "unfiltered_reads_per_absent_lookup"),
                          ("filter_budget_bytes", "auto_budget_bytes")):
            assert_says(family[key], name)
        self.assertAlmostEqual(family["keys"] * 10 / 8, family["filter_budget_bytes"], delta=1)
        assert_says(1, "policy_info", policy=AUTO)
        found = {finding["id"] for finding in
                 document("doctor", f"--db={database}", code=1)["findings"]}
        self.assertIn("last-level-unfiltered", found)
        self.assertEqual(found, self.findings(text))
        self.assertIn("warning last-level-unfiltered (column family default): ", log)

    def test_a_look_tells_what_it_cost(self):
        database = self.load()
        before = traces(database)
        began = time.time()
        text, _ = self.once(database)
        took = time.time() - began
        self.assertEqual(before, traces(database))
        seconds, all_seconds, looks, read, all_read, running, when, failures = (
            value_of(text, f"rocksieve_db_{name}", db=str(database)) for name in (
                "last_look_duration_seconds", "look_seconds_total", "looks_total",
                "last_look_read_bytes", "look_read_bytes_total", "look_running",
                "last_look_timestamp_seconds", "look_failures_total"))
        self.assertTrue(0 < seconds <= took, (seconds, took))
        self.assertAlmostEqual(seconds, all_seconds, 6)
        filters = sum(number for _, number in samples_of(text, "rocksieve_db_filter_bytes"))
        # Besides filters, data blocks of the keys that it samples.
        self.assertTrue(filters < read < 2**28, (filters, read))
        self.assertEqual((all_read, 1, 0, 0), (read, looks, running, failures))
        self.assertLess(abs(began - when), took + 2)

    def test_what_cannot_be_opened_is_down(self):
        database, empty, none = self.load(), self.directory / "empty", self.directory / "none"
        empty.mkdir()
        text, log = self.once(database, empty, none)
        for path, up in ((database, 1), (empty, 0), (none, 0)):
            self.assert_up(up, text, path)
            self.assertEqual(up == 0, f"rocksieve exporter: {path}: down: " in log, log)
        self.assertEqual(2, log.count("\n"), log)

    def test_names_that_prometheus_would_not_take(self):
        odd = self.load('a "quoted\\" name')
        self.assert_up(1, self.once(odd)[0], odd)
        database = os.fsencode(self.load("plain")).replace(b"plain", b"no utf-8 \xff")
        os.rename(self.directory / "plain", database)
        finished = subprocess.run([COMMAND, "exporter", b"--db=" + database, "--once"],
                                  capture_output=True, check=True, timeout=60)
        text = finished.stdout.decode()  # is UTF-8
        self.assertEqual("", lint(text))
        self.assert_up(1, text, "0x" + database.hex())

    def test_names_begin_no_line_of_the_log(self):
        database = self.load()
        run_ok("ldb", f"--db={database}", "create_column_family", "a\nb\x1b[31m")
        _, log = self.once(database)
        self.assertIn("warning no-policy (column family a b [31m): ", log)
        self.assertNotIn("\x1b", log)
        self.assertRegex(log, r"\A(rocksieve exporter: .+\n)+\Z")

    def test_a_file_for_node_exporter(self):
        database = self.load()
        run_ok(COMMAND, "exporter", f"--db={database}", "--once", "--textfile=relative.prom",
               cwd=self.directory)
        file = self.directory / "rocksieve.prom"
        self.assertEqual("", self.once(database, flags=[f"--textfile={file}"])[0])
        self.assertEqual("", lint(file.read_text()))
        self.assert_up(1, file.read_text(), database)
        self.assertEqual({"rocksieve.prom", "relative.prom"},
                         {path.name for path in self.directory.iterdir() if path.is_file()})

    def test_bad_usage(self):
        database = self.load(count=10)
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for flags, said in (([], "name --listen=ADDRESS:PORT"),
                            (["--listen=x"], "such as 127.0.0.1:9435"),
                            (["--listen=/x.prom"], "--textfile=PATH writes a file"),
                            (["--listen=203.0.113.1:9"], "Cannot assign requested address"),
                            ([f"--listen={address}"],
                             f"cannot listen on {address}: Address already in use; name"),
                            (["--textfile=/no/such/x.prom"], "No such file or directory"),
                            (["--textfile=/tmp/x.txt"], ".prom"),
                            (["--listen=127.0.0.1:0", "--every=0"], "--every"),
                            (["--listen=127.0.0.1:0", "--once"], "--once"),
                            ([f"--db={database}", "--once"], "named twice")):
            with self.subTest(flags=flags):
                self.assert_refused(said, "exporter", f"--db={database}", *flags)


class Serving(Exporting):
    def test_a_database_that_goes_and_comes_back(self):
        database = self.load()
        process = self.start(database)
        self.assert_up(1, self.looked(process), database)
        database.rename(self.directory / "elsewhere")
        text = self.look_again(process)
        self.assert_up(0, text, database)
        self.assertEqual([], samples_of(text, "rocksieve_db_files"), "stale figures")
        self.assertGreater(value_of(text, "rocksieve_db_look_failures_total", db=str(database)), 0)
        (self.directory / "elsewhere").rename(database)
        self.assert_up(1, self.look_again(process), database)
        self.assertIsNone(process.poll())
        log = process.log.read_text()
        self.assertRegex(log, rf"{database}: down: .+\n(.+\n)*.+{database}: up again\n")

    def test_scrapes_start_no_look_and_wait_for_none(self):
        process = self.start(self.load(), flags=["--every=60"])
        self.looked(process)
        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            for text in clients.map(scrape, 200 * [process.port], 200 * [5]):  # in so many seconds
                self.assertEqual(1, value_of(text, "rocksieve_db_looks_total"))

    def test_scrapes_do_not_wait_for_whoever_reads_the_log(self):
        reader, writer = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), "rw"))
        self.addCleanup(reader.close)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # 20 lines, and then it is full
        with writer:
            process = self.start(*(self.directory / f"{number:0100d}" for number in range(40)),
                                 errors=writer)

        def stuck():
            """At a database that is told of."""
            looks = looks_of(process.port)
            return 0 < sum(looks) < len(looks)

        wait_for(stuck)
        time.sleep(1)
        self.assertTrue(stuck())

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(self.load(f"db{number}"))
            self.looked(process)
            process.send_signal(number)
            self.assertEqual(0, process.wait(timeout=20))

    def test_the_process_that_has_the_database_open_is_looked_into(self):
        bench = Database(self.directory, keys=100_000_000)
        self.spawn(*bench.command("fillrandom", options_text("rocksieve.bloom:10"),
                                  "--benchmark_write_rate_limit=1000000", existing=False),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # without the plugin
        wait_for(bench.tables, 60, "a table")
        text, _ = self.once(bench.path)
        self.assertEqual(1, value_of(text, "rocksieve_db_process_seen"))
        self.assertIn("no-policy", self.findings(text))


@thorough
class Alerts(Exporting):
    def test_an_alert_fires_when_a_policy_is_lost(self):
        database = self.load()
        process = self.start(database)
        self.looked(process)
        server = Prometheus(self, [process.port])
        wait_for(lambda: server.query("rocksieve_db_up == 1"), 60, "the first scrape")
        [(_, zero)] = server.query('rocksieve_db_finding{finding="policy-lost"}')
        self.assertEqual(0, zero)
        self.assertEqual({}, server.alerts())
        # A program that knows nothing of us writes a row.
        run_ok("ldb", f"--db={database}", "put", "key", "value")
        # While it has the database open, there may be one for a process without the plugin as well.
        wait_for(lambda: set(server.alerts()) == {"RocksievePolicyLost"}, 60, "the alert")
        alerts = server.alerts()
        self.assertEqual(str(database), alerts["RocksievePolicyLost"]["db"])
        self.assertIn("error policy-lost (column family default): ", process.log.read_text())
        # And it ends when the program opens the database with its policy again.
        load(database, ["other\tvalue"], "--add")
        wait_for(lambda: not server.alerts(), 60, "the end of the alert")
        self.assertIn("no longer: error policy-lost", process.log.read_text())

    def test_rules_fire_where_they_should_and_only_there(self):
        self.assertIn("SUCCESS", run_ok(PROMTOOL, "check", "rules", RULES).out)
        tests = self.directory / "rules_test.yml"
        text = (ROOT / "integration" / "prometheus_rules.yml").read_text()
        tests.write_text(text.replace("[RULES]", f"['{RULES}']"))
        self.assertIn("SUCCESS", run_ok(PROMTOOL, "test", "rules", tests).out)
        alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
        self.assertEqual(alerts, set(re.findall(r"alertname: (\w+)", text)))

    def test_prometheus_understands_every_expression_of_the_dashboard(self):
        expressions = [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"]
                       for target in panel.get("targets", [])]
        rules = self.directory / "expressions.yml"
        rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
            for number, expression in enumerate(expressions)]}]}))
        self.assertIn("SUCCESS", run_ok(PROMTOOL, "check", "rules", rules).out)


class Names(Exporting):
    """All metrics that there are: docs/metrics.md has the list."""

    maxDiff = None

    def test_the_list_is_what_is_served(self):
        text, _ = self.once(self.load(spec=AUTO))
        file = self.directory / "program.prom"
        (self.directory / "bench").mkdir()
        bench = Database(self.directory / "bench", keys=1000)
        bench.bench("fillrandom", options_text("rocksieve.bloom:10"), existing=False,
                    variables={"ROCKSIEVE_METRICS": str(file)})
        self.assertEqual(documented(), {**types_of(text), **types_of(file.read_text())})

    def test_rules_and_dashboard_name_no_others(self):
        for path in (RULES, DASHBOARD, ROOT / "integration" / "prometheus_rules.yml"):
            used = set(re.findall(NAME, path.read_text()))
            self.assertGreater(len(used), 8)
            self.assertEqual(set(), used - set(documented()), path)
        dashboard = json.loads(DASHBOARD.read_text())
        variables = {variable["name"] for variable in dashboard["templating"]["list"]}
        for panel in dashboard["panels"]:
            self.assertTrue(panel["title"])
            for target in panel.get("targets", []):
                used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
                self.assertLessEqual(used, variables, panel["title"])
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(sorted(set(ids)), sorted(ids))

    def test_findings_are_those_of_the_documentation(self):
        text, _ = self.once(self.load(count=10))
        served = {(labels["finding"], labels["severity"])
                  for labels, _ in samples_of(text, "rocksieve_db_finding")}
        section = (ROOT / "docs" / "command.md").read_text().split("\n## doctor\n")[1]
        named = re.findall(r"(?m)^\| `([a-z-]+)` \|", section.split("\n## ")[0])
        self.assertEqual(set(named), {finding for finding, _ in served})
        self.assertEqual({"error", "warning"}, {severity for _, severity in served})


if __name__ == "__main__":
    unittest.main(verbosity=2)
