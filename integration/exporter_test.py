# SPDX-License-Identifier: Apache-2.0
"""`rocksieve exporter`: what it says beside explain and doctor, what it does where a database, an
address or a file is not as it should be, and its alerts in a real Prometheus. And that
docs/metrics.md, the rules and the dashboard name what there is, and nothing else."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import prometheus
from db_bench import options_text
from doctor import COMMAND, SMALL, lines
from environment import BUILD, PLUGIN, ROOT, Sandbox, run, run_ok, thorough

AUTO = "rocksieve.auto:10"
OFTEN = "--every=0.01"  # 0.6 s
HAS_EXPORTER = (BUILD / "lib" / "librocksieve_exporter.so").exists()
PAGE = ROOT / "docs" / "metrics.md"
NAME = r"rocksieve_[a-z][a-z_]*"


def documented():
    """{name: type} by the tables of docs/metrics.md."""
    rows = re.findall(rf"(?m)^\| `({NAME})` \| (counter|gauge) \|", PAGE.read_text())
    assert len(rows) == len(dict(rows)), "a metric is there twice"
    return dict(rows)


@unittest.skipUnless(HAS_EXPORTER, "built without the exporter")
class Exporting(Sandbox):
    def load(self, name="db", spec="rocksieve.bloom:10", count=20_000, options=""):
        database = self.directory / name
        run_ok(COMMAND, "load", f"--db={database}", f"--spec={spec}", "--input=-",
               f"--options={SMALL}{options}", stdin=lines(count))
        return database

    def once(self, *databases, flags=(), **settings):
        """Its text and its log."""
        finished = run_ok(COMMAND, "exporter", *(f"--db={path}" for path in databases), "--once",
                          *flags, **settings)
        self.assertEqual("", prometheus.lint(finished.out))
        return finished.out, finished.err

    def start(self, *databases, flags=(OFTEN,), address="127.0.0.1:0"):
        """The exporter, when it listens; with its port, its process, and the file of its log."""
        log = self.directory / f"exporter-{time.monotonic_ns()}.log"
        errors = log.open("w")
        process = subprocess.Popen(
            [COMMAND, "exporter", *(f"--db={path}" for path in databases), f"--listen={address}",
             *flags], stdout=subprocess.PIPE, stderr=errors, text=True)

        def stop():
            process.kill()
            process.wait()
            process.stdout.close()
            errors.close()

        self.addCleanup(stop)
        process.log = log
        process.port = int(process.stdout.readline().rsplit(":", 1)[1])
        return process

    def looked(self, process, looks=1):
        """What is scraped once each database was looked at so often."""
        def text():
            text = prometheus.scrape(process.port)
            counts = [count for _, count in prometheus.samples_of(text, "rocksieve_db_looks_total")]
            return text if counts and min(counts) >= looks else None

        return prometheus.wait_for(text, 60, f"look {looks}")

    def look_again(self, process):
        """After what has just happened: the look that is under way may have begun before it."""
        now = prometheus.scrape(process.port)
        counts = [count for _, count in prometheus.samples_of(now, "rocksieve_db_looks_total")]
        return self.looked(process, max(counts) + 2)

    def findings(self, text, **labels):
        return {its["finding"] for its, value in prometheus.samples_of(text, "rocksieve_db_finding")
                if value == 1 and labels.items() <= its.items()}


class Once(Exporting):
    def test_it_says_what_explain_and_doctor_say(self):
        database = self.load(spec=AUTO, options=";optimize_filters_for_hits=true")
        text, log = self.once(database)
        explained = json.loads(run(COMMAND, "explain", f"--db={database}", "--json").out)
        [family] = explained["column_families"]
        labels = {"db": str(database), "column_family": "default"}
        for level in family["levels"]:
            for key, name in (("files", "files"), ("keys", "keys"), ("file_bytes", "file_bytes"),
                              ("filter_bytes", "filter_bytes"),
                              ("files_without_filter", "files_without_filter"),
                              ("predicted_false_positive_rate", "predicted_false_positive_rate"),
                              ("measured_false_positive_rate", "measured_false_positive_rate")):
                if level[key] is not None:
                    self.assertAlmostEqual(level[key], prometheus.value_of(
                        text, f"rocksieve_db_{name}", level=str(level["level"]), **labels), 6)
            self.assertAlmostEqual(level["bits_per_key"], 8 * prometheus.value_of(
                text, "rocksieve_db_filter_bytes_per_key", level=str(level["level"]), **labels), 6)
            for group in level["filters"]:
                self.assertEqual(group["files"], prometheus.value_of(
                    text, "rocksieve_db_files_by_filter", family=group["family"],
                    level=str(level["level"]), **labels))
        for key, name in (("expected_useless_reads_per_missing_lookup",
                           "false_positive_reads_per_absent_lookup"),
                          ("predicted_useless_reads_per_missing_lookup",
                           "predicted_false_positive_reads_per_absent_lookup"),
                          ("useless_reads_per_missing_lookup_without_filters",
                           "unfiltered_reads_per_absent_lookup")):
            self.assertAlmostEqual(
                family[key], prometheus.value_of(text, f"rocksieve_db_{name}", **labels), 6)
        self.assertAlmostEqual(family["keys"] * 10 / 8, family["filter_budget_bytes"], delta=1)
        self.assertEqual(family["filter_budget_bytes"], prometheus.value_of(
            text, "rocksieve_db_auto_budget_bytes", **labels))
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_policy_info", policy=AUTO,
                                                **labels))
        found = {finding["id"] for finding in json.loads(
            run(COMMAND, "doctor", f"--db={database}", "--json").out)["findings"]}
        self.assertIn("last-level-unfiltered", found)
        self.assertEqual(found, self.findings(text))
        self.assertIn("warning last-level-unfiltered (column family default): ", log)

    def test_a_look_tells_what_it_cost(self):
        database = self.load()
        before = {path: path.stat().st_mtime_ns for path in [database, *database.iterdir()]}
        began = time.time()
        text, _ = self.once(database)
        took = time.time() - began
        self.assertEqual(before, {path: path.stat().st_mtime_ns
                                  for path in [database, *database.iterdir()]})
        value = {name: prometheus.value_of(text, f"rocksieve_db_{name}", db=str(database))
                 for name in ("last_look_duration_seconds", "look_seconds_total", "looks_total",
                              "last_look_read_bytes", "look_read_bytes_total", "look_running",
                              "last_look_timestamp_seconds", "look_failures_total")}
        self.assertTrue(0 < value["last_look_duration_seconds"] <= took, (value, took))
        self.assertAlmostEqual(value["last_look_duration_seconds"], value["look_seconds_total"], 6)
        filters = sum(number for _, number in
                      prometheus.samples_of(text, "rocksieve_db_filter_bytes"))
        # Besides filters, data blocks of the keys that it samples.
        self.assertTrue(filters < value["last_look_read_bytes"] < 2**28, (filters, value))
        self.assertEqual(value["last_look_read_bytes"], value["look_read_bytes_total"])
        self.assertLess(abs(began - value["last_look_timestamp_seconds"]), took + 2)
        self.assertEqual((1, 0, 0), (value["looks_total"], value["look_running"],
                                     value["look_failures_total"]))

    def test_what_cannot_be_opened_is_down(self):
        database = self.load()
        empty = self.directory / "empty"
        empty.mkdir()
        none = self.directory / "none"
        text, log = self.once(database, empty, none)
        for path, up in ((database, 1), (empty, 0), (none, 0)):
            self.assertEqual(up, prometheus.value_of(text, "rocksieve_db_up", db=str(path)))
        self.assertRegex(log, rf"(?m)^rocksieve exporter: {empty}: down: .+")
        self.assertRegex(log, rf"(?m)^rocksieve exporter: {none}: down: .+")
        self.assertEqual(2, log.count("\n"), log)

    def test_names_that_prometheus_would_not_take(self):
        odd = 'a "quoted\\" name'
        text, _ = self.once(self.load(odd), flags=())
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_up",
                                                db=str(self.directory / odd)))
        database = os.fsencode(self.load("plain")).replace(b"plain", b"no utf-8 \xff")
        os.rename(self.directory / "plain", database)
        finished = subprocess.run([COMMAND, "exporter", b"--db=" + database, "--once"],
                                  capture_output=True, check=True, timeout=60)
        text = finished.stdout.decode()  # is UTF-8
        self.assertEqual("", prometheus.lint(text))
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_up", db="0x" + database.hex()))

    def test_a_file_for_node_exporter(self):
        file = self.directory / "rocksieve.prom"
        database = self.load()
        out, _ = self.once(database, flags=[f"--textfile={file}"])
        self.assertEqual("", out)
        self.assertEqual("", prometheus.lint(file.read_text()))
        self.assertEqual(1, prometheus.value_of(file.read_text(), "rocksieve_db_up",
                                                db=str(database)))
        run_ok(COMMAND, "exporter", f"--db={database}", "--once", "--textfile=relative.prom",
               cwd=self.directory)
        self.assertEqual({"rocksieve.prom", "relative.prom"},
                         {path.name for path in self.directory.iterdir() if path.is_file()})

    def test_bad_usage(self):
        database = self.load(count=10)
        for flags, said in (([], "name --listen=ADDRESS:PORT"),
                            (["--listen=x"], "such as 127.0.0.1:9435"),
                            (["--listen=/x.prom"], "--textfile=PATH writes a file"),
                            (["--listen=203.0.113.1:9"], "Cannot assign requested address"),
                            (["--textfile=/no/such/x.prom"], "No such file or directory"),
                            (["--textfile=/tmp/x.txt"], ".prom"),
                            (["--listen=127.0.0.1:0", "--every=0"], "--every"),
                            (["--listen=127.0.0.1:0", "--once"], "--once"),
                            ([f"--db={database}", "--once"], "named twice")):
            with self.subTest(flags=flags):
                finished = run(COMMAND, "exporter", f"--db={database}", *flags)
                self.assertEqual(2, finished.code, finished)
                self.assertIn(said, finished.err)


class Serving(Exporting):
    def test_a_port_that_is_taken(self):
        database = self.load(count=10)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            finished = run(COMMAND, "exporter", f"--db={database}", f"--listen={address}")
        self.assertEqual(2, finished.code)
        self.assertIn(f"cannot listen on {address}: Address already in use; name", finished.err)

    def test_a_database_that_goes_and_comes_back(self):
        database = self.load()
        process = self.start(database)
        label = {"db": str(database)}
        text = self.looked(process)
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_up", **label))
        database.rename(self.directory / "elsewhere")
        text = self.look_again(process)
        self.assertEqual(0, prometheus.value_of(text, "rocksieve_db_up", **label))
        self.assertEqual([], prometheus.samples_of(text, "rocksieve_db_files"), "stale figures")
        self.assertGreater(prometheus.value_of(text, "rocksieve_db_look_failures_total", **label), 0)
        (self.directory / "elsewhere").rename(database)
        text = self.look_again(process)
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_up", **label))
        self.assertIsNone(process.poll())
        log = process.log.read_text()
        self.assertRegex(log, rf"{database}: down: .+\n(.+\n)*.+{database}: up again\n")

    def test_scrapes_start_no_look_and_wait_for_none(self):
        process = self.start(self.load(), flags=["--every=60"])
        self.looked(process)
        answers = prometheus.scrape_by_many(process.port, times=25)
        self.assertEqual(8 * 25, len(answers))
        for seconds, text in answers:
            counts = prometheus.samples_of(text, "rocksieve_db_looks_total")
            self.assertEqual([1], [count for _, count in counts])
            self.assertLess(seconds, 5)

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(self.load(f"db{number}"))
            self.looked(process)
            process.send_signal(number)
            self.assertEqual(0, process.wait(timeout=20))

    @thorough
    def test_both_outlets_at_once(self):
        file = self.directory / "both.prom"
        process = self.start(self.load(), flags=[OFTEN, f"--textfile={file}"])
        self.looked(process)
        prometheus.wait_for(lambda: "rocksieve_db_up" in file.read_text(), 30, "the file")
        self.assertEqual("", prometheus.lint(file.read_text()))

    def test_the_process_that_has_the_database_open_is_looked_into(self):
        database = self.directory / "db"
        options = self.directory / "OPTIONS"
        options.write_text(options_text("rocksieve.bloom:10"))
        bench = subprocess.Popen(
            ["db_bench", f"--db={database}", f"--options_file={options}", "--num=100000000",
             "--benchmarks=fillrandom", "--benchmark_write_rate_limit=1000000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # without the plugin
        try:
            prometheus.wait_for(lambda: list(database.glob("*.sst")), 60, "a table")
            text, _ = self.once(database)
        finally:
            bench.kill()
            bench.wait()
        self.assertEqual(1, prometheus.value_of(text, "rocksieve_db_process_seen"))
        self.assertIn("no-policy", self.findings(text))


@thorough
class Alerts(Exporting):
    def test_an_alert_fires_when_a_policy_is_lost(self):
        database = self.load()
        process = self.start(database)
        self.looked(process)
        server = prometheus.Prometheus(self.directory, [process.port], prometheus.RULES)
        self.addCleanup(server.stop)
        prometheus.wait_for(lambda: server.query("rocksieve_db_up == 1"), 60, "the first scrape")
        [target] = server.targets()
        self.assertEqual(("up", ""), (target["health"], target["lastError"]))
        [(_, zero)] = server.query('rocksieve_db_finding{finding="policy-lost"}')
        self.assertEqual(0, zero)
        self.assertEqual({}, server.alerts())
        # A program that knows nothing of us writes a row.
        run_ok("ldb", f"--db={database}", "put", "key", "value")
        alerts = prometheus.wait_for(server.alerts, 60, "the alert")
        self.assertEqual({"RocksievePolicyLost"}, set(alerts))
        self.assertEqual(str(database), alerts["RocksievePolicyLost"]["db"])
        self.assertIn("error policy-lost (column family default): ", process.log.read_text())
        # And it ends when the program opens the database with its policy again.
        run_ok(COMMAND, "load", f"--db={database}", "--spec=rocksieve.bloom:10", "--add",
               "--input=-", stdin="other\tvalue\n")
        prometheus.wait_for(lambda: not server.alerts(), 60, "the end of the alert")
        self.assertIn("no longer: error policy-lost", process.log.read_text())


@thorough
class Rules(Sandbox):
    def test_promtool_accepts_them(self):
        self.assertIn("SUCCESS", run_ok(prometheus.PROMTOOL, "check", "rules",
                                        prometheus.RULES).out)

    def test_each_alert_fires_where_it_should_and_only_there(self):
        tests = self.directory / "rules_test.yml"
        text = (ROOT / "integration" / "prometheus_rules.yml").read_text()
        tests.write_text(text.replace("[RULES]", f"['{prometheus.RULES}']"))
        self.assertIn("SUCCESS", run_ok(prometheus.PROMTOOL, "test", "rules", tests).out)
        alerts = set(re.findall(r"- alert: (\w+)", prometheus.RULES.read_text()))
        self.assertEqual(alerts, set(re.findall(r"alertname: (\w+)", text)))


class Names(Exporting):
    """All metrics that there are: docs/metrics.md has the list."""

    maxDiff = None

    def test_the_list_is_what_is_served(self):
        served = {}
        text, _ = self.once(self.load(spec=AUTO))
        served.update(prometheus.types_of(text))
        file = self.directory / "program.prom"
        options = self.directory / "OPTIONS"
        options.write_text(options_text("rocksieve.bloom:10"))
        run_ok("db_bench", f"--db={self.directory / 'bench'}", f"--options_file={options}",
               "--num=1000", "--benchmarks=fillrandom", "--statistics", preload=[PLUGIN],
               variables={"ROCKSIEVE_METRICS": str(file)})
        served.update(prometheus.types_of(file.read_text()))
        self.assertEqual(documented(), served)

    def test_rules_and_dashboard_name_no_others(self):
        for path in (prometheus.RULES, prometheus.DASHBOARD,
                     ROOT / "integration" / "prometheus_rules.yml"):
            used = set(re.findall(NAME, path.read_text()))
            self.assertGreater(len(used), 8)
            self.assertEqual(set(), used - set(documented()), path)

    def test_the_dashboard_is_one(self):
        dashboard = json.loads(prometheus.DASHBOARD.read_text())
        panels = dashboard["panels"]
        self.assertEqual(len(panels), len({panel["id"] for panel in panels}))
        variables = {variable["name"] for variable in dashboard["templating"]["list"]}
        for panel in panels:
            self.assertTrue(panel["title"])
            for target in panel.get("targets", []):
                used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
                self.assertLessEqual(used, variables, panel["title"])

    @thorough
    def test_prometheus_understands_every_expression_of_the_dashboard(self):
        expressions = [target["expr"] for panel in json.loads(
            prometheus.DASHBOARD.read_text())["panels"] for target in panel.get("targets", [])]
        rules = self.directory / "expressions.yml"
        rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
            for number, expression in enumerate(expressions)]}]}))
        self.assertIn("SUCCESS", run_ok(prometheus.PROMTOOL, "check", "rules", rules).out)

    def test_findings_are_those_of_the_documentation(self):
        text, _ = self.once(self.load(count=10))
        served = {(labels["finding"], labels["severity"])
                  for labels, _ in prometheus.samples_of(text, "rocksieve_db_finding")}
        section = (ROOT / "docs" / "command.md").read_text().split("\n## doctor\n")[1]
        named = re.findall(r"(?m)^\| `([a-z-]+)` \|", section.split("\n## ")[0])
        self.assertEqual(set(named), {finding for finding, _ in served})
        self.assertEqual({"error", "warning"}, {severity for _, severity in served})


if __name__ == "__main__":
    unittest.main(verbosity=2)
